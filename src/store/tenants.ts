/** Orgs: tier and limits. Org and tenant are one thing; `_id` is what the wire calls `org_id` or `tenantId`. */
import { TIERS } from '../contracts/principal';
import { Enum, Nullable, Type, type Static } from '../contracts/schema';
import { collection, Instant, type Store } from './collection';
import { ensureGuard, fenced } from './guards';

/** `null` in a limit means: what the tier gives. */
const TenantRecord = Type.Object({
  _id: Type.String(),
  name: Type.String(),
  tier: Enum(TIERS),
  rateLimitPerMinute: Nullable(Type.Integer()),
  agentLimit: Nullable(Type.Integer()),
  creditAllocation: Nullable(Type.Integer()),
  timezone: Type.String(),
  createdAt: Instant(),
});
export type TenantRecord = Static<typeof TenantRecord>;

const tenants = collection('tenants', TenantRecord, []);

/** What may change about a tenant. */
export type TenantChange = Partial<Omit<TenantRecord, '_id' | 'createdAt'>>;

/** The tenant, or null. */
export async function readTenant(store: Store, orgId: string): Promise<TenantRecord | null> {
  return tenants.in(store).findById(orgId).lean<TenantRecord>();
}

/** Ids of tenants, as many as a person reads. */
export async function listTenantIds(store: Store, limit: number): Promise<string[]> {
  const found = await tenants.in(store).find({}, { _id: 1 }).sort({ _id: 1 }).limit(limit).lean<{ _id: string }[]>();
  return found.map(({ _id }) => _id);
}

/** Adds a tenant with its guard document unless it exists. */
export async function ensureTenant(store: Store, tenant: TenantRecord): Promise<void> {
  const { _id, ...fields } = tenant;
  await tenants.in(store).updateOne({ _id }, { $setOnInsert: fields }, { upsert: true });
  await ensureGuard(store, _id);
}

/** Changes a tenant; limits and tier are in force on every process when this returns. */
export async function changeTenant(store: Store, orgId: string, change: TenantChange): Promise<boolean> {
  const { matchedCount } = await fenced(store, orgId, () =>
    tenants.in(store).updateOne({ _id: orgId }, { $set: change }).exec(),
  );
  return matchedCount > 0;
}
