/** What templates and conditions may know about an org. It hardly ever changes, so a few seconds' memory is enough. */
import type { Context } from '../context';
import { readTenant } from '../store/tenants';

export interface OrgFacts {
  id: string;
  tier: string;
  name: string;
}

const REMEMBERED_MS = 5_000;
const ORGS_MAX = 1_000;

const remembered = new WeakMap<Context['store'], Map<string, { facts: OrgFacts; until: number }>>();

/** Reads the org's facts, at most once in five seconds. */
export async function orgFacts(context: Context, orgId: string): Promise<OrgFacts> {
  const now = context.clock.now().getTime();
  const orgs = remembered.get(context.store) ?? new Map<string, { facts: OrgFacts; until: number }>();
  remembered.set(context.store, orgs);
  const known = orgs.get(orgId);
  if (known && known.until > now) return known.facts;
  const tenant = await readTenant(context.store, orgId);
  const facts: OrgFacts = { id: orgId, tier: tenant?.tier ?? 'standard', name: tenant?.name ?? orgId };
  if (orgs.size >= ORGS_MAX) orgs.clear();
  orgs.set(orgId, { facts, until: now + REMEMBERED_MS });
  return facts;
}
