/**
 * Deliveries: one per endpoint and event. Whoever wants to send one claims it first by compare-and-set, and what came of
 * it is written under that claim, so that two processes never both believe they are at it.
 */
import { Enum, Json, Nullable, Type, type Static } from '../contracts/schema';
import { DELIVERY_STATUSES, type DeliveryAttempt } from '../contracts/webhook';
import { collection, Instant, isDuplicate, type Store } from './collection';

const DeliveryRecord = Type.Object({
  _id: Type.String(),
  orgId: Type.String(),
  webhookId: Type.String(),
  eventId: Type.String(),
  eventType: Type.String(),
  resourceId: Nullable(Type.String()),
  sequence: Nullable(Type.Integer()),
  status: Enum(DELIVERY_STATUSES),
  reason: Nullable(Type.String()),
  attempts: Type.Unsafe<DeliveryAttempt[]>(Type.Array(Json())),
  /** Attempts since it was opened, retried or replayed: how far the schedule has come. */
  tries: Type.Integer(),
  /** Counts the claims; what is written about an attempt names the claim it was made under. */
  claims: Type.Integer(),
  isClaimed: Type.Boolean(),
  /** Not to be attempted before; while it is claimed, the end of the lease. */
  nextAttemptAt: Nullable(Instant()),
  /** When the relay looks after it: later than `nextAttemptAt` while a workflow is expected to. */
  dueAt: Nullable(Instant()),
  /** The place in the endpoint's rate that it was given. */
  slotAt: Nullable(Instant()),
  /** Set for ordered endpoints: deliveries of one lane go one after the other. */
  lane: Nullable(Type.String()),
  holdsLane: Type.Boolean(),
  attemptedAt: Nullable(Instant()),
  lastOk: Type.Boolean(),
  lastMs: Nullable(Type.Integer()),
  deliveredAt: Nullable(Instant()),
  replayId: Nullable(Type.String()),
  createdAt: Instant(),
  expiresAt: Instant(),
});
export type DeliveryRecord = Static<typeof DeliveryRecord>;

export const deliveries = collection('webhook_deliveries', DeliveryRecord, [
  { name: 'list', keys: { webhookId: 1, createdAt: -1, _id: -1 } },
  { name: 'due', keys: { dueAt: 1 }, where: { status: 'pending' } },
  { name: 'attempted', keys: { webhookId: 1, attemptedAt: -1 } },
  // The index is the lock: of all deliveries of a lane, one can hold it.
  { name: 'lane', keys: { lane: 1 }, unique: true, where: { holdsLane: true } },
  { name: 'waiting', keys: { lane: 1, sequence: 1 }, where: { status: 'pending' } },
  { name: 'expiry', keys: { expiresAt: 1 }, expireAfterSeconds: 0 },
]);

/** How long a claim holds; an attempt takes a quarter of it at most. */
export const LEASE_MS = 60_000;
const after = (now: Date, milliseconds: number): Date => new Date(now.getTime() + milliseconds);

/** Opens deliveries; those that exist already are left as they are. Answers the ones that are new. */
export async function openDeliveries(store: Store, records: DeliveryRecord[]): Promise<DeliveryRecord[]> {
  const opened = await Promise.all(
    records.map(async (record) => {
      try {
        await deliveries.in(store).collection.insertOne(record as never);
        return record;
      } catch (error) {
        if (isDuplicate(error)) return null;
        throw error;
      }
    }),
  );
  return opened.filter((record) => record !== null);
}

export const findDelivery = (store: Store, id: string): Promise<DeliveryRecord | null> =>
  deliveries.in(store).findById(id).lean<DeliveryRecord>().exec();

/** Deliveries the relay should look after, those that waited longest first; none to the endpoints in `except`. */
export const dueDeliveries = (
  store: Store,
  now: Date,
  { limit, except }: { limit: number; except: readonly string[] },
): Promise<DeliveryRecord[]> =>
  deliveries
    .in(store)
    .find({
      status: 'pending',
      dueAt: { $lte: now },
      ...(except.length > 0 ? { webhookId: { $nin: except } } : {}),
    } as never)
    .sort({ dueAt: 1 })
    .limit(limit)
    .lean<DeliveryRecord[]>()
    .exec();

type Claimable = Pick<DeliveryRecord, '_id' | 'claims'>;

/** Takes a delivery that is due. Null when somebody else did, or it is not due any more. */
export const claimDelivery = (store: Store, held: Claimable, now: Date): Promise<DeliveryRecord | null> => {
  const until = after(now, LEASE_MS);
  return deliveries
    .in(store)
    .findOneAndUpdate(
      { _id: held._id, status: 'pending', claims: held.claims, nextAttemptAt: { $lte: now } } as never,
      { $set: { isClaimed: true, nextAttemptAt: until, dueAt: until }, $inc: { claims: 1 } },
      { returnDocument: 'after' },
    )
    .lean<DeliveryRecord>()
    .exec();
};

/** Goes on holding a claim that has waited its turn. False when it was lost meanwhile. */
export async function renewClaim(store: Store, held: Claimable, now: Date): Promise<boolean> {
  const until = after(now, LEASE_MS);
  const { matchedCount } = await deliveries
    .in(store)
    .updateOne(
      { _id: held._id, status: 'pending', claims: held.claims },
      { $set: { nextAttemptAt: until, dueAt: until } },
    );
  return matchedCount > 0;
}

/** What is written at the end of a claim. */
export type DeliveryChange = Partial<Omit<DeliveryRecord, '_id' | 'orgId' | 'webhookId' | 'attempts' | 'claims'>>;

/** Ends a claim. Null when it had been lost; whoever has it now writes what is true. */
export const settleDelivery = (
  store: Store,
  held: Claimable,
  change: DeliveryChange,
  attempt?: { entry: DeliveryAttempt; keep: number },
): Promise<DeliveryRecord | null> =>
  deliveries
    .in(store)
    .findOneAndUpdate(
      { _id: held._id, status: 'pending', claims: held.claims },
      {
        $set: { isClaimed: false, ...change },
        ...(attempt ? { $push: { attempts: { $each: [attempt.entry], $slice: -attempt.keep } } } : {}),
      },
      { returnDocument: 'after' },
    )
    .lean<DeliveryRecord>()
    .exec();

/** Lets the relay look after a delivery from this moment on. */
export async function setDue(store: Store, held: Claimable, dueAt: Date): Promise<void> {
  await deliveries
    .in(store)
    .updateOne({ _id: held._id, status: 'pending', claims: held.claims, isClaimed: false }, { $set: { dueAt } });
}

/** Takes the lane for a delivery, until it has ended. False while another one holds it. */
export async function takeLane(store: Store, held: Claimable): Promise<boolean> {
  try {
    const { matchedCount } = await deliveries
      .in(store)
      .collection.updateOne({ _id: held._id, claims: held.claims } as never, { $set: { holdsLane: true } });
    return matchedCount > 0;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}

export const isLaneTaken = async (store: Store, lane: string): Promise<boolean> =>
  (await deliveries.in(store).exists({ lane, holdsLane: true })) !== null;

/** The delivery of a lane whose turn it is: the one with the lowest sequence. */
export const firstInLane = (store: Store, lane: string): Promise<DeliveryRecord | null> =>
  deliveries
    .in(store)
    .findOne({ lane, status: 'pending' })
    .sort({ sequence: 1, createdAt: 1 })
    .lean<DeliveryRecord>()
    .exec();

/** Makes a delivery that waits due at once. */
export async function wakeDelivery(store: Store, id: string, now: Date): Promise<void> {
  await deliveries
    .in(store)
    .updateOne({ _id: id, status: 'pending', isClaimed: false }, { $set: { nextAttemptAt: now, dueAt: now } });
}

/** Takes back the places that were given out in an endpoint's rate; each delivery asks for another, the eldest first. */
export async function takeBackPlaces(store: Store, webhookId: string, now: Date): Promise<void> {
  await deliveries
    .in(store)
    .collection.updateMany({ webhookId, status: 'pending', isClaimed: false, slotAt: { $ne: null } }, [
      { $set: { slotAt: null, nextAttemptAt: now, dueAt: '$createdAt' } },
    ]);
}

const afresh = (now: Date, more: { expiresAt: Date; replayId?: string }) => ({
  $set: {
    status: 'pending',
    reason: null,
    tries: 0,
    nextAttemptAt: now,
    dueAt: now,
    slotAt: null,
    isClaimed: false,
    ...more,
  },
  $inc: { claims: 1 },
});

/** Begins the schedule anew, unless an attempt is under way. Answers the delivery as it is then. */
export async function reopenDelivery(
  store: Store,
  held: Pick<DeliveryRecord, '_id' | 'orgId'>,
  now: Date,
  expiresAt: Date,
): Promise<DeliveryRecord | null> {
  await deliveries
    .in(store)
    .updateOne(
      { _id: held._id, orgId: held.orgId, $nor: [{ isClaimed: true, nextAttemptAt: { $gt: now } }] } as never,
      afresh(now, { expiresAt }),
    );
  return findDelivery(store, held._id);
}

export interface DeliveryQuery {
  status?: DeliveryRecord['status'] | undefined;
  eventType?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

const matching = (
  orgId: string,
  webhookId: string,
  { from, to, ...fields }: DeliveryQuery,
): Record<string, unknown> => ({
  webhookId,
  orgId,
  ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)),
  ...(from || to ? { createdAt: { ...(from ? { $gte: from } : {}), ...(to ? { $lte: to } : {}) } } : {}),
});

/** One page, newest first. */
export function pageOfDeliveries(
  store: Store,
  place: { orgId: string; webhookId: string },
  query: DeliveryQuery,
  page: { limit: number; after: { at: Date; id: string } | null },
): Promise<DeliveryRecord[]> {
  const filter = matching(place.orgId, place.webhookId, query);
  if (page.after) {
    const { at, id } = page.after;
    filter['createdAt'] = { ...(filter['createdAt'] as object | undefined), $lte: at };
    filter['$nor'] = [{ createdAt: at, _id: { $gte: id } }];
  }
  return deliveries
    .in(store)
    .find(filter as never)
    .sort({ createdAt: -1, _id: -1 })
    .limit(page.limit)
    .lean<DeliveryRecord[]>()
    .exec();
}

interface Replay {
  orgId: string;
  webhookId: string;
  status: DeliveryRecord['status'][];
  /** A pattern over event types; null for all. */
  eventTypes: RegExp | null;
  from: Date;
  to: Date;
  replayId: string;
}

/** Begins every delivery of a span anew; answers how many. A repeat of the same replay finds those it has begun. */
export async function replayDeliveries(store: Store, replay: Replay, now: Date, expiresAt: Date): Promise<number> {
  const { orgId, webhookId, from, to, eventTypes, status, replayId } = replay;
  const model = deliveries.in(store);
  await model.updateMany(
    {
      webhookId,
      orgId,
      status: { $in: status },
      createdAt: { $gte: from, $lte: to },
      ...(eventTypes ? { eventType: eventTypes } : {}),
    } as never,
    afresh(now, { expiresAt, replayId }),
  );
  return model.countDocuments({ webhookId, orgId, replayId });
}
