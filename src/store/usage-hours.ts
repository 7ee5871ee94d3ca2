/** Requests of each key by the hour: how many, how they ended, how long they took and where they went. */
import { Json, Type, type Static } from '../contracts/schema';
import { DAY_MS, HOUR_MS, USAGE_DAYS_KEPT, type Counts, type HourFigures } from '../domain/usage';
import { collection, Instant, type Store } from './collection';
import { updateEach } from './update-each';

/** `r` requests, `e` 4xx and 5xx, `l` 429; `h` by duration bucket, `s` by status, `p` and `f` requests and errors by path. */
const UsageHour = Type.Object({
  _id: Type.String(),
  orgId: Type.String(),
  keyId: Type.String(),
  at: Instant(),
  expiresAt: Instant(),
  r: Type.Integer(),
  e: Type.Integer(),
  l: Type.Integer(),
  h: Json(),
  s: Json(),
  p: Json(),
  f: Json(),
});
type UsageHour = Static<typeof UsageHour>;

const hours = collection('key_usage_hours', UsageHour, [
  { name: 'expiry', keys: { expiresAt: 1 }, expireAfterSeconds: 0 },
]);

/** Figures that have not been stored yet. */
export interface HourDelta extends HourFigures {
  keyId: string;
  orgId: string;
  /** Beginning of the hour. */
  startMs: number;
}

/** Hours sort by their time within a key, so that a range of time is a range of ids. */
const idOf = (keyId: string, startMs: number): string => `${keyId}:${new Date(startMs).toISOString().slice(0, 13)}`;

const under = (field: string, counts: Counts): [string, number][] =>
  Object.entries(counts).map(([name, count]) => [`${field}.${name}`, count]);

/** Adds the deltas in one bulk write. */
export async function addHours(store: Store, deltas: readonly HourDelta[]): Promise<void> {
  const operations = deltas.map((delta) => ({
    updateOne: {
      filter: { _id: idOf(delta.keyId, delta.startMs) },
      update: {
        $setOnInsert: {
          orgId: delta.orgId,
          keyId: delta.keyId,
          at: new Date(delta.startMs),
          expiresAt: new Date(delta.startMs + HOUR_MS + USAGE_DAYS_KEPT * DAY_MS),
        },
        $inc: {
          r: delta.requests,
          e: delta.errors,
          l: delta.rateLimited,
          ...Object.fromEntries([
            ...under('h', delta.durations),
            ...under('s', delta.statuses),
            ...under('p', delta.paths),
            ...under('f', delta.failedPaths),
          ]),
        },
      },
      upsert: true,
    },
  }));
  await updateEach(hours.in(store), operations);
}

/** The hours of a key from one moment up to another, both at the full hour; hours without requests are absent. */
export async function readHours(
  store: Store,
  keyId: string,
  range: { fromMs: number; toMs: number },
): Promise<(HourFigures & { startMs: number })[]> {
  const found = await hours
    .in(store)
    .find({ _id: { $gte: idOf(keyId, range.fromMs), $lt: idOf(keyId, range.toMs) } })
    .lean<UsageHour[]>();
  return found.map((hour) => ({
    startMs: hour.at.getTime(),
    requests: hour.r,
    errors: hour.e,
    rateLimited: hour.l,
    durations: (hour.h ?? {}) as Counts,
    statuses: (hour.s ?? {}) as Counts,
    paths: (hour.p ?? {}) as Counts,
    failedPaths: (hour.f ?? {}) as Counts,
  }));
}
