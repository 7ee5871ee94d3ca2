/** How many idempotency keys a tenant has used on a day. Processes draw shares, so that most requests ask nobody. */
import { Type, type Static } from '../contracts/schema';
import { collection, Instant, isDuplicate, type Store } from './collection';

const DAY_MS = 86_400_000;
const KEPT_DAYS = 2;
const SHARE_MAX = 100;
/** A share is this part of what is left at most: near the end they are single, and no process hoards the rest. */
const SHARE_PART = 20;
const DRAW_ATTEMPTS = 3;

const IdempotencyQuota = Type.Object({
  _id: Type.String(),
  used: Type.Integer(),
  /** What the last draw got. */
  drawn: Type.Integer(),
  expires_at: Instant(),
});
type IdempotencyQuota = Static<typeof IdempotencyQuota>;

const quotas = collection('idempotency_quotas', IdempotencyQuota, [
  { name: 'expiry', keys: { expires_at: 1 }, expireAfterSeconds: 0 },
]);

async function ensureQuota(store: Store, id: string, at: Date): Promise<void> {
  const empty = { used: 0, drawn: 0, expires_at: new Date(at.getTime() + KEPT_DAYS * DAY_MS) };
  try {
    await quotas.in(store).updateOne({ _id: id }, { $setOnInsert: empty }, { upsert: true });
  } catch (error) {
    if (!isDuplicate(error)) throw error;
  }
}

/** Draws a share of the tenant's day; 0 when nothing is left of `limit`. */
export async function drawShare(store: Store, asked: { orgId: string; at: Date; limit: number }): Promise<number> {
  const { orgId, at, limit } = asked;
  const id = `${orgId}:${at.toISOString().slice(0, 10)}`;
  const left = { $subtract: [limit, '$used'] };
  const share = { $max: [1, { $min: [SHARE_MAX, { $floor: { $divide: [left, SHARE_PART] } }] }] };
  const stages = [
    { $set: { drawn: { $toInt: { $max: [0, { $min: [left, share] }] } } } },
    { $set: { used: { $add: ['$used', '$drawn'] } } },
  ];
  for (let attempt = 0; attempt < DRAW_ATTEMPTS; attempt += 1) {
    const drawn = await quotas
      .in(store)
      .findOneAndUpdate({ _id: id }, stages, { returnDocument: 'after', updatePipeline: true })
      .lean<IdempotencyQuota>();
    if (drawn) return drawn.drawn;
    await ensureQuota(store, id, at);
  }
  throw new Error(`The quota document ${id} cannot be created`);
}
