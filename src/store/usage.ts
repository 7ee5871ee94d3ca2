/** How much each key is used: totals, day buckets and the last call. Statistics only; a crash loses at most one flush. */
import { Json, Nullable, Type, type Static } from '../contracts/schema';
import { collection, Instant, type Store } from './collection';
import { updateEach } from './update-each';

const DAY_MS = 24 * 60 * 60 * 1_000;
const DAYS_KEPT = 30;
/** Buckets up to this much older than the window are removed; a key at rest keeps its last ones. */
const DAYS_SWEPT = 60;

/** `days` maps `2026-11-20` to requests `r` and errors `e`; `deprecated` maps operation ids to requests `n` and the last `at`. */
const UsageRecord = Type.Object({
  _id: Type.String(),
  orgId: Type.String(),
  totalRequests: Type.Integer(),
  lastUsedAt: Nullable(Instant()),
  days: Json(),
  deprecated: Type.Optional(Json()),
});
type UsageRecord = Static<typeof UsageRecord>;

const usage = collection('key_usage', UsageRecord, []);

/** Requests of one key on one day that have not been stored yet. */
export interface UsageDelta {
  keyId: string;
  orgId: string;
  requests: number;
  errors: number;
  lastUsedAt: Date;
  /** Requests by deprecated operation. */
  deprecated: Record<string, number>;
}

/** The figures of a key record. */
export interface UsageFigures {
  totalRequests: number;
  requests30d: number;
  /** Percentage with two decimals; null when there were no requests. */
  errorRate: number | null;
  lastUsedAt: Date | null;
}

const dayOf = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

const daysBefore = (at: Date, from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_unused, index) => dayOf(at.getTime() - (from + index) * DAY_MS));

/** Adds the deltas in one bulk write. Old days are swept from the keys that `sweeps` names: each costs sixty fields. */
export async function addUsage(
  store: Store,
  deltas: readonly UsageDelta[],
  sweeps: (keyId: string) => boolean,
): Promise<void> {
  const operations = deltas.map((delta) => {
    const outdated = Object.entries(delta.deprecated);
    const day = `days.${dayOf(delta.lastUsedAt.getTime())}`;
    const swept = sweeps(delta.keyId) ? daysBefore(delta.lastUsedAt, DAYS_KEPT, DAYS_KEPT + DAYS_SWEPT) : [];
    return {
      updateOne: {
        filter: { _id: delta.keyId },
        update: {
          $inc: {
            totalRequests: delta.requests,
            [`${day}.r`]: delta.requests,
            [`${day}.e`]: delta.errors,
            ...Object.fromEntries(outdated.map(([id, count]) => [`deprecated.${id}.n`, count])),
          },
          $max: {
            lastUsedAt: delta.lastUsedAt,
            ...Object.fromEntries(outdated.map(([id]) => [`deprecated.${id}.at`, delta.lastUsedAt])),
          },
          $setOnInsert: { orgId: delta.orgId },
          ...(swept.length > 0 ? { $unset: Object.fromEntries(swept.map((old) => [`days.${old}`, ''])) } : {}),
        },
        upsert: true,
      },
    };
  });
  await updateEach(usage.in(store), operations);
}

function figuresOf(record: UsageRecord, now: Date): UsageFigures {
  const days = record.days as Record<string, { r: number; e: number }>;
  const counted = daysBefore(now, 0, DAYS_KEPT).flatMap((day) => days[day] ?? []);
  const requests = counted.reduce((sum, day) => sum + day.r, 0);
  const errors = counted.reduce((sum, day) => sum + day.e, 0);
  return {
    totalRequests: record.totalRequests,
    requests30d: requests,
    errorRate: requests === 0 ? null : Math.round((errors / requests) * 10_000) / 100,
    lastUsedAt: record.lastUsedAt,
  };
}

/** The figures of these keys; a key without an entry was never used. */
export async function readUsage(
  store: Store,
  keyIds: readonly string[],
  now: Date,
): Promise<Map<string, UsageFigures>> {
  const records = await usage
    .in(store)
    .find({ _id: { $in: [...keyIds] } })
    .lean<UsageRecord[]>();
  return new Map(records.map((record) => [record._id, figuresOf(record, now)]));
}

/** How often and when last these keys called deprecated operations, by key and operation id. */
export async function readDeprecatedUse(
  store: Store,
  keyIds: readonly string[],
): Promise<Map<string, Record<string, { n: number; at: Date }>>> {
  if (keyIds.length === 0) return new Map();
  const found = await usage
    .in(store)
    .find({ _id: { $in: [...keyIds] }, deprecated: { $exists: true } }, { deprecated: 1 })
    .lean<UsageRecord[]>();
  return new Map(found.map(({ _id, deprecated }) => [_id, deprecated as Record<string, { n: number; at: Date }>]));
}
