/** What templates and conditions may know about an org. */
import type { Context } from '../context';
import { offsetsOf, type ZoneOffset } from '../domain/time-zones';
import { readTenant } from '../store/tenants';
import { createFencedMemory, createMemory } from './memory';

export interface OrgFacts {
  id: string;
  tier: string;
  name: string;
  timezone: string;
  /** Worked out when a rule asks for them, which few do. */
  readonly offsets: ZoneOffset[];
}

const remembered = createFencedMemory<OrgFacts>();
/** For those who have no request and so no epoch. They hand on many executions at a time, hardly ever to a changed org. */
const recent = createMemory<OrgFacts>();

/** Reads the org's facts. `epoch` is that of the guard as the request found it, null in the relay. */
export async function orgFacts(context: Context, orgId: string, epoch: number | null): Promise<OrgFacts> {
  const known = epoch === null ? recent.find(context, orgId) : remembered.find(context, orgId, epoch);
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
  if (epoch === null) recent.keep(context, orgId, facts);
  else remembered.keep(context, orgId, { epoch, value: facts });
  return facts;
}
