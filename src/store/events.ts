/** The event log: each event once per org, with what it led to for every agent that listens. */
import type { EventOutcome } from '../contracts/event';
import { Json, Nullable, Type, type Static } from '../contracts/schema';
import { derivedId } from '../domain/ids';
import { collection, Instant, isDuplicate, type Store } from './collection';

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
  outcomes: Type.Unsafe<EventOutcome[]>(Type.Array(Json())),
  /** True until every matched execution is open. */
  opening: Type.Boolean(),
});
export type EventRecord = Static<typeof EventRecord>;

export const events = collection('events', EventRecord, [
  { name: 'opening', keys: { received_at: 1 }, where: { opening: true } },
  { name: 'log', keys: { org_id: 1, received_at: -1 } },
]);

/** Event ids come from outside, so the record's key is a hash that keeps orgs apart. */
const keyOf = (orgId: string, eventId: string): string => derivedId('evl', orgId, eventId);

/** Records an event; answers the stored record and whether it was there before. */
export async function recordEvent(
  store: Store,
  record: Omit<EventRecord, '_id'>,
): Promise<{ record: EventRecord; duplicate: boolean }> {
  const full: EventRecord = { _id: keyOf(record.org_id, record.event_id), ...record };
  try {
    await events.in(store).collection.insertOne(full as never);
    return { record: full, duplicate: false };
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    const stored = await findEvent(store, record.org_id, record.event_id);
    return { record: stored ?? full, duplicate: true };
  }
}

export const findEvent = (store: Store, orgId: string, eventId: string): Promise<EventRecord | null> =>
  events
    .in(store)
    .findOne({ _id: keyOf(orgId, eventId), org_id: orgId })
    .lean<EventRecord>()
    .exec();

/** All matched executions of these events are open. */
export const markOpened = async (store: Store, ids: string[]): Promise<void> => {
  await events.in(store).collection.updateMany({ _id: { $in: ids } } as never, { $set: { opening: false } });
};

/** Events whose executions were not all opened, because a process died in between. */
export const unopenedEvents = (store: Store, before: Date, limit: number): Promise<EventRecord[]> =>
  events
    .in(store)
    .find({ opening: true, received_at: { $lt: before } })
    .sort({ received_at: 1 })
    .limit(limit)
    .lean<EventRecord[]>()
    .exec();
