/** Webhook endpoints. Their secrets are stored sealed: they must be read again to sign, and must not lie in a dump. */
import { Enum, Json, Nullable, Type, type Static } from '../contracts/schema';
import { DISABLED_REASONS, WEBHOOK_STATUSES, WebhookSettings, type WebhookFilter } from '../contracts/webhook';
import { collection, idsBut, Instant, type Store } from './collection';
import { fenced, raiseEpoch } from './guards';
import { insertSeated, seatIndex } from './seats';

/** A secret as it is stored; the current one has no end. */
export interface StoredSecret {
  sealed: string;
  createdAt: Date;
  endsAt: Date | null;
  /** The rotation that issued it, so that a repeat of its request meets it. */
  issue: string;
}

/** When an endpoint was switched off, and why. */
export interface SwitchedOff {
  at: Date;
  reason: (typeof DISABLED_REASONS)[number];
}

const WebhookRecord = Type.Object({
  _id: Type.String(),
  orgId: Type.String(),
  ...WebhookSettings.properties,
  filters: Type.Unsafe<WebhookFilter[]>(Type.Array(Json())),
  ratePerMinute: Nullable(Type.Integer()),
  status: Enum(WEBHOOK_STATUSES),
  disabledReason: Nullable(Enum(DISABLED_REASONS)),
  disabledAt: Nullable(Instant()),
  secrets: Type.Unsafe<StoredSecret[]>(Type.Array(Json())),
  /** The first failure since the last success, and how many there were. */
  failingSince: Nullable(Instant()),
  failures: Type.Integer(),
  /** How far, in per cent, the owners know that the endpoint is on its way to being disabled. */
  noticeStage: Type.Integer(),
  /** Until the owners were told of `noticeStage`. */
  noticeDue: Type.Boolean(),
  /** Those who know of `noticeStage` while others do not. */
  noticeTold: Type.Optional(Type.Array(Type.String())),
  /** Somebody is telling them, or could not; whoever died while at it has this long. */
  noticeTakenUntil: Type.Optional(Nullable(Instant())),
  /** Until the event about its being disabled is in the log. */
  unannounced: Type.Boolean(),
  /** What that event tells, also of one that is on again; absent in records that were switched off before it was kept. */
  lastOff: Type.Optional(Type.Unsafe<SwitchedOff>(Json())),
  /** When the next delivery may leave, in milliseconds, where `ratePerMinute` is set. */
  freeAtMs: Type.Number(),
  createdAt: Instant(),
  createdBy: Type.String(),
  updatedAt: Instant(),
  version: Type.Integer(),
  /** See `seats.ts`; absent in records that were made before there were seats, or beside them. */
  seat: Type.Optional(Type.Integer()),
});
export type WebhookRecord = Static<typeof WebhookRecord>;

export const webhooks = collection('webhooks', WebhookRecord, [
  // Ids are ULIDs: the newest endpoint has the greatest id.
  { name: 'list', keys: { orgId: 1, _id: -1 } },
  { name: 'notice', keys: { noticeDue: 1 }, where: { noticeDue: true } },
  { name: 'unannounced', keys: { unannounced: 1 }, where: { unannounced: true } },
  seatIndex('orgId'),
]);

/** What an owner or the dispatcher may change in one write. */
export type WebhookChange = Partial<Omit<WebhookRecord, '_id' | 'orgId' | 'createdAt' | 'createdBy' | 'version'>>;

/** Records a new endpoint, which every event after this finds; false when the org has `max` of them. */
export async function insertWebhook(store: Store, record: WebhookRecord, max: number): Promise<boolean> {
  const { orgId } = record;
  if (!(await insertSeated(store, { name: webhooks.name, live: { orgId }, max }, record))) return false;
  await raiseEpoch(store, orgId);
  return true;
}

export const findWebhook = (store: Store, orgId: string, id: string): Promise<WebhookRecord | null> =>
  webhooks.in(store).findOne({ _id: id, orgId }).lean<WebhookRecord>().exec();

/** One page, newest first; all of them unless `limit` says less. */
export const listWebhooks = (
  store: Store,
  orgId: string,
  page: { limit: number; status?: WebhookRecord['status'] | undefined; beforeId?: string | undefined },
): Promise<WebhookRecord[]> =>
  webhooks
    .in(store)
    .find({
      orgId,
      ...(page.status ? { status: page.status } : {}),
      ...(page.beforeId ? { _id: { $lt: page.beforeId } } : {}),
    })
    .sort({ _id: -1 })
    .limit(page.limit)
    .lean<WebhookRecord[]>()
    .exec();

/** Changes an endpoint that still has the version; in force on every process when this returns. */
export async function changeWebhook(
  store: Store,
  held: Pick<WebhookRecord, '_id' | 'orgId' | 'version'>,
  change: WebhookChange,
): Promise<WebhookRecord | null> {
  return fenced(store, held.orgId, () =>
    webhooks
      .in(store)
      .findOneAndUpdate(
        { _id: held._id, orgId: held.orgId, version: held.version },
        { $set: change, $inc: { version: 1 } },
        { returnDocument: 'after' },
      )
      .lean<WebhookRecord>()
      .exec(),
  );
}

/** Removes an endpoint. Answers false when somebody changed it since it was read. */
export async function removeWebhook(
  store: Store,
  held: Pick<WebhookRecord, '_id' | 'orgId' | 'version'>,
): Promise<boolean> {
  const { deletedCount } = await fenced(store, held.orgId, () =>
    webhooks.in(store).deleteOne({ _id: held._id, orgId: held.orgId, version: held.version }).exec(),
  );
  return deletedCount > 0;
}

/** An endpoint by the address that was asked; null or unchanged when it has another one by now. */
type Asked = Pick<WebhookRecord, '_id' | 'url'>;

/** Counts a failure and answers the endpoint with it. */
export const noteFailure = (store: Store, { _id, url }: Asked, now: Date): Promise<WebhookRecord | null> =>
  webhooks
    .in(store)
    .collection.findOneAndUpdate(
      { _id, url } as never,
      [{ $set: { failingSince: { $ifNull: ['$failingSince', now] }, failures: { $add: ['$failures', 1] } } }] as never,
      { returnDocument: 'after' },
    ) as unknown as Promise<WebhookRecord | null>;

/** The endpoint took something again. */
export async function clearFailures(store: Store, { _id, url }: Asked): Promise<void> {
  const healthy = { failingSince: null, failures: 0, noticeStage: 0, noticeDue: false };
  await webhooks.in(store).updateOne({ _id, url, status: 'active', failures: { $gt: 0 } }, { $set: healthy });
}

/** Lets the owners be told how far it has come, once per step. */
export async function raiseNotice(store: Store, { _id, url }: Asked, stage: number): Promise<void> {
  await webhooks
    .in(store)
    .updateOne(
      { _id, url, noticeStage: { $lt: stage } },
      { $set: { noticeStage: stage, noticeDue: true, noticeTold: [] } },
    );
}

/** Switches an endpoint off, with its event and its notice in the same write. */
export async function disableWebhook(
  store: Store,
  { _id, orgId, url }: Pick<WebhookRecord, '_id' | 'orgId' | 'url'>,
  reason: NonNullable<WebhookRecord['disabledReason']>,
  now: Date,
): Promise<void> {
  const { matchedCount } = await webhooks.in(store).updateOne(
    { _id, orgId, url, status: 'active' },
    {
      $set: {
        status: 'disabled',
        disabledReason: reason,
        disabledAt: now,
        lastOff: { at: now, reason },
        updatedAt: now,
        unannounced: true,
        noticeStage: 100,
        noticeDue: true,
        noticeTold: [],
      },
      $inc: { version: 1 },
    },
  );
  if (matchedCount > 0) await raiseEpoch(store, orgId);
}

/** Gives out the next place in an endpoint's rate, in milliseconds; places are evenly spaced. */
export async function reserveSlot(store: Store, id: string, intervalMs: number, nowMs: number): Promise<number | null> {
  const freeAtMs = { $add: [{ $max: ['$freeAtMs', nowMs] }, intervalMs] };
  const record = (await webhooks
    .in(store)
    .collection.findOneAndUpdate({ _id: id } as never, [{ $set: { freeAtMs } }] as never, {
      returnDocument: 'after',
    })) as unknown as WebhookRecord | null;
  return record ? record.freeAtMs - intervalMs : null;
}

const isFree = (now: Date) => ({ $or: [{ noticeTakenUntil: null }, { noticeTakenUntil: { $lte: now } }] });

/** Endpoints whose owners are still to be told and that nobody is at; those that were tried least lately first. */
export const noticesDue = (store: Store, now: Date, limit: number): Promise<WebhookRecord[]> =>
  webhooks
    .in(store)
    .find({ noticeDue: true, ...isFree(now) })
    .sort({ noticeTakenUntil: 1 })
    .limit(limit)
    .lean<WebhookRecord[]>()
    .exec();

/** Takes a notice to send it, and answers its record. Null when somebody else has it, or it is out by now. */
export const takeNotice = (
  store: Store,
  { _id, noticeStage }: WebhookRecord,
  { now, until }: { now: Date; until: Date },
): Promise<WebhookRecord | null> =>
  webhooks
    .in(store)
    .findOneAndUpdate(
      { _id, noticeStage, noticeDue: true, ...isFree(now) },
      { $set: { noticeTakenUntil: until } },
      { returnDocument: 'after' },
    )
    .lean<WebhookRecord>()
    .exec();

/** Notes that one of them knows. */
export async function noteTold(store: Store, { _id, noticeStage }: WebhookRecord, userId: string): Promise<void> {
  await webhooks.in(store).updateOne({ _id, noticeStage }, { $addToSet: { noticeTold: userId } });
}

export async function markNoticed(store: Store, { _id, noticeStage }: WebhookRecord): Promise<void> {
  await webhooks.in(store).updateOne({ _id, noticeStage }, { $set: { noticeDue: false } });
}

/** Ends `takeNotice`; the next stage may be due already. */
export async function returnNotice(store: Store, { _id }: WebhookRecord): Promise<void> {
  await webhooks.in(store).updateOne({ _id }, { $set: { noticeTakenUntil: null } });
}

/** Endpoints whose being disabled is not in the event log yet. */
export const unannouncedWebhooks = (store: Store, limit: number, except: readonly string[]): Promise<WebhookRecord[]> =>
  webhooks
    .in(store)
    .find({ unannounced: true, ...idsBut(except) })
    .limit(limit)
    .lean<WebhookRecord[]>()
    .exec();

export async function markAnnounced(store: Store, { _id, disabledAt, lastOff }: WebhookRecord): Promise<void> {
  const announced = lastOff ? { 'lastOff.at': lastOff.at } : { disabledAt };
  await webhooks.in(store).updateOne({ _id, ...announced } as never, { $set: { unannounced: false } });
}
