/** What templates and conditions may know about an org. It hardly ever changes, so a few seconds' memory is enough. */
import type { Context } from '../context';
import { offsetsOf, type ZoneOffset } from '../domain/time-zones';
import { readTenant } from '../store/tenants';
import { createMemory } from './memory';

export interface OrgFacts {
  id: string;
  tier: string;
  name: string;
  timezone: string;
  /** Worked out when a rule asks for them, which few do. */
  readonly offsets: ZoneOffset[];
}

const remembered = createMemory<OrgFacts>();

/** Reads the org's facts, at most once in five seconds. */
export async function orgFacts(context: Context, orgId: string): Promise<OrgFacts> {
  const known = remembered.find(context, orgId);
  if (known) return known;
  const tenant = await readTenant(context.store, orgId);
  const { tier = 'standard', name = orgId, timezone = 'UTC' } = tenant ?? {};
  const facts: OrgFacts = {
    id: orgId,
    tier,
    name,
    timezone,
    get offsets() {
      return offsetsOf(timezone, context.clock.now());
    },
  };
  remembered.keep(context, orgId, facts);
  return facts;
}
