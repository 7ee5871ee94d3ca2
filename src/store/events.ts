/** The event log: each event once per org, with what it led to for every agent that listens. */
import type { EventOutcome } from '../contracts/event';
import { Json, Nullable, Type, type Static } from '../contracts/schema';
import { derivedId } from '../domain/ids';
import { literal } from '../domain/webhooks/patterns';
import { collection, idsBut, Instant, type Store } from './collection';
import { insertOnce } from './insert-once';

export const EventRecord = Type.Object({
  _id: Type.String(),
  org_id: Type.String(),
  event_id: Type.String(),
  event_type: Type.String(),
  source_product: Type.String(),
  occurred_at: Type.String(),
  received_at: Instant(),
  client_id: Nullable(Type.String()),
  payload: Json(),
  /** Version and path of the resource it is about; null for events from outside. */
  sequence: Nullable(Type.Integer()),
  subject: Nullable(Type.String()),
  resource_id: Nullable(Type.String()),
  /** Endpoints it is to be delivered to, as they were when it came. */
  webhooks: Type.Array(Type.String()),
  outcomes: Type.Unsafe<EventOutcome[]>(Type.Array(Json())),
  /** True until every matched execution and delivery is open. */
  opening: Type.Boolean(),
});
export type EventRecord = Static<typeof EventRecord>;

export const events = collection('events', EventRecord, [
  { name: 'opening', keys: { received_at: 1 }, where: { opening: true } },
  { name: 'feed', keys: { org_id: 1, received_at: 1, _id: 1 } },
  { name: 'resource', keys: { org_id: 1, resource_id: 1, received_at: 1, _id: 1 } },
]);

/** Event ids come from outside, so the record's key is a hash that keeps orgs apart. */
export const eventKeyOf = (orgId: string, eventId: string): string => derivedId('evl', orgId, eventId);

/** An insert that takes longer is given up by the store. */
const INSERT_MS_MAX = 5_000;
/** Events younger than this are not in the feed yet: the time of an insert, and as much for clocks that differ. */
export const FEED_HORIZON_MS = 2 * INSERT_MS_MAX;

/** An event that became visible late moves to the end of the log, where whoever follows it has not been. */
async function keepInOrder(store: Store, record: EventRecord): Promise<void> {
  const now = new Date();
  if (now.getTime() - record.received_at.getTime() < INSERT_MS_MAX) return;
  await events.in(store).collection.updateOne({ _id: record._id } as never, { $set: { received_at: now } });
}

/** Records an event; answers the stored record and whether it was there before. */
export async function recordEvent(
  store: Store,
  record: Omit<EventRecord, '_id'>,
): Promise<{ record: EventRecord; duplicate: boolean }> {
  const full: EventRecord = { _id: eventKeyOf(record.org_id, record.event_id), ...record };
  if (await insertOnce(events.in(store), full, { maxTimeMS: INSERT_MS_MAX })) {
    await keepInOrder(store, full);
    return { record: full, duplicate: false };
  }
  const stored = await findEvent(store, record.org_id, record.event_id);
  return { record: stored ?? full, duplicate: true };
}

export const findEvent = (store: Store, orgId: string, eventId: string): Promise<EventRecord | null> =>
  events
    .in(store)
    .findOne({ _id: eventKeyOf(orgId, eventId), org_id: orgId })
    .lean<EventRecord>()
    .exec();

/** All matched executions of these events are open. */
export const markOpened = async (store: Store, ids: string[]): Promise<void> => {
  await events.in(store).collection.updateMany({ _id: { $in: ids } } as never, { $set: { opening: false } });
};

/** Events whose executions were not all opened, because a process died in between. */
export const unopenedEvents = (
  store: Store,
  before: Date,
  limit: number,
  except: readonly string[],
): Promise<EventRecord[]> =>
  events
    .in(store)
    .find({ opening: true, received_at: { $lt: before }, ...idsBut(except) })
    .sort({ received_at: 1 })
    .limit(limit)
    .lean<EventRecord[]>()
    .exec();

/** The condition for a pattern such as `psa:ticket.*`. */
function conditionOf(pattern: string): Record<string, unknown> {
  if (pattern === '*') return {};
  const [source_product = '', type = ''] = pattern.split(':');
  if (type === '*') return { source_product };
  return { source_product, event_type: type.endsWith('*') ? new RegExp(`^${literal(type.slice(0, -1))}`) : type };
}

const FEED_TIMEOUT_MS = 2_000;

/** One page of the log from a position on, oldest first, up to but not at `until`. */
export function pageOfFeed(
  store: Store,
  orgId: string,
  filter: { patterns: string[] | null; resourceId?: string | undefined },
  page: { from: { at: Date; id: string }; until: Date; limit: number },
): Promise<EventRecord[]> {
  const { from, until } = page;
  const query = {
    org_id: orgId,
    received_at: { $gte: from.at, $lt: until },
    ...(from.id === '' ? {} : { $nor: [{ received_at: from.at, _id: { $lte: from.id } }] }),
    ...(filter.resourceId ? { resource_id: filter.resourceId } : {}),
    ...(filter.patterns ? { $or: filter.patterns.map(conditionOf) } : {}),
  };
  return events
    .in(store)
    .find(query as never)
    .sort({ received_at: 1, _id: 1 })
    .limit(page.limit)
    .maxTimeMS(FEED_TIMEOUT_MS)
    .lean<EventRecord[]>()
    .exec();
}
