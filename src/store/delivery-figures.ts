/** How an endpoint's deliveries went: what its health is judged by and its owner is shown. */
import type { Store } from './collection';
import { deliveries, type DeliveryRecord } from './deliveries';

/** True when the endpoint took something since then. */
export async function hasSucceededSince(store: Store, webhookId: string, since: Date): Promise<boolean> {
  const found = await deliveries
    .in(store)
    .findOne({ webhookId, attemptedAt: { $gte: since }, lastOk: true } as never, { _id: 1 })
    .lean()
    .exec();
  return found !== null;
}

export interface DeliveryStats {
  ok: number;
  failed: number;
  p95Ms: number | null;
}

const STATS_ROWS_MAX = 10_000;
const STATS_TIMEOUT_MS = 2_000;

/** How the latest attempts at an endpoint's deliveries went since then. */
export async function deliveryStats(store: Store, webhookId: string, since: Date): Promise<DeliveryStats> {
  const rows = await deliveries
    .in(store)
    .find({ webhookId, attemptedAt: { $gte: since } } as never, { lastOk: 1, lastMs: 1, _id: 0 })
    .sort({ attemptedAt: -1 })
    .limit(STATS_ROWS_MAX)
    .maxTimeMS(STATS_TIMEOUT_MS)
    .lean<Pick<DeliveryRecord, 'lastOk' | 'lastMs'>[]>();
  const times = rows.flatMap(({ lastMs }) => (lastMs === null ? [] : [lastMs])).toSorted((one, other) => one - other);
  const ok = rows.filter(({ lastOk }) => lastOk).length;
  return { ok, failed: rows.length - ok, p95Ms: times[Math.ceil(times.length * 0.95) - 1] ?? null };
}
