/** Approvals: the one document that decides. Every move out of `pending` is a compare-and-set; the first writer wins. */
import {
  APPROVAL_STATUSES,
  Approver,
  DECIDED_VIA,
  type ApprovalStatus,
  type DecidedVia,
  type Decision,
} from '../contracts/approval';
import { Enum, Nullable, Type, type Static } from '../contracts/schema';
import type { Position } from '../domain/sealed-token';
import { collection, idsBut, Instant, isDuplicate, type Store } from './collection';

export const ApprovalRecord = Type.Object({
  _id: Type.String(),
  org_id: Type.String(),
  execution_id: Type.String(),
  agent_id: Type.String(),
  step_id: Type.String(),
  message: Type.String(),
  status: Enum(APPROVAL_STATUSES),
  expires_at: Instant(),
  created_at: Instant(),
  decided_by: Nullable(Type.String()),
  /** Absent until somebody with a name has decided, and in older records. */
  decided_by_name: Type.Optional(Type.String()),
  decided_at: Type.Unsafe<Date | null>({ 'x-instant': true }),
  decided_via: Nullable(Enum(DECIDED_VIA)),
  note: Nullable(Type.String()),
  /** Absent in records of gates that opened before approvals could be addressed. */
  approver: Type.Optional(Approver),
  /** Set when the workflow has acted on the outcome; a decided approval without it is signalled again. */
  consumed_at: Type.Unsafe<Date | null>({ 'x-instant': true }),
  /** How often it was signalled again, and when the next time is. */
  signals: Type.Optional(Type.Integer()),
  signal_at: Type.Optional(Instant()),
  /** As the execution: whether an endpoint listens for reports, and whether there is something to report. */
  watched: Type.Optional(Type.Boolean()),
  unreported: Type.Optional(Type.Boolean()),
  /** The execution's count of records once it waits. */
  execution_seq: Type.Optional(Type.Integer()),
});
export type ApprovalRecord = Static<typeof ApprovalRecord>;

const LIST = 'list';
const LIST_STATUS = 'list_status';
const LIST_CONTACT = 'list_contact';
export const approvals = collection('approvals', ApprovalRecord, [
  { name: LIST, keys: { org_id: 1, created_at: -1, _id: -1 } },
  { name: LIST_STATUS, keys: { org_id: 1, status: 1, created_at: -1, _id: -1 } },
  { name: LIST_CONTACT, keys: { org_id: 1, 'approver.contact_id': 1, created_at: -1, _id: -1 } },
  { name: 'execution', keys: { execution_id: 1 } },
  { name: 'unreported', keys: { created_at: 1 }, where: { watched: true, unreported: true } },
  { name: 'unconsumed', keys: { decided_at: 1 }, where: { consumed_at: null } },
  { name: 'pending', keys: { expires_at: 1 }, where: { status: 'pending' } },
]);

/** Opens a gate's approval once and answers what the store holds: a repeated call meets the first one's record. */
export async function openApproval(store: Store, record: ApprovalRecord): Promise<ApprovalRecord> {
  try {
    await approvals.in(store).collection.insertOne(record as never);
    return record;
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    return (await approvals.in(store).findById(record._id).lean<ApprovalRecord>().exec()) ?? record;
  }
}

export const findApproval = (store: Store, orgId: string, id: string): Promise<ApprovalRecord | null> =>
  approvals.in(store).findOne({ _id: id, org_id: orgId }).lean<ApprovalRecord>().exec();

export interface DecisionWrite {
  id: string;
  orgId: string;
  decision: Decision;
  by: string;
  name?: string;
  via: DecidedVia;
  note: string | null;
  now: Date;
}

/** Decides a pending, unexpired approval. Null when it is neither: whoever came first has decided. */
export const decide = (store: Store, write: DecisionWrite): Promise<ApprovalRecord | null> =>
  approvals.in(store).collection.findOneAndUpdate(
    { _id: write.id, org_id: write.orgId, status: 'pending', expires_at: { $gt: write.now } } as never,
    {
      $set: {
        status: write.decision,
        decided_by: write.by,
        ...(write.name === undefined ? {} : { decided_by_name: write.name }),
        decided_at: write.now,
        decided_via: write.via,
        note: write.note,
        unreported: true,
      },
    },
    { returnDocument: 'after' },
  ) as unknown as Promise<ApprovalRecord | null>;

const EXPIRED = { $set: { status: 'expired', unreported: true } } as const;

/** Moves an approval whose time is over to `expired`. Null when it was decided first, or is not due yet. */
export const expire = (store: Store, id: string, now: Date): Promise<ApprovalRecord | null> =>
  approvals
    .in(store)
    .collection.findOneAndUpdate({ _id: id, status: 'pending', expires_at: { $lte: now } } as never, EXPIRED, {
      returnDocument: 'after',
    }) as unknown as Promise<ApprovalRecord | null>;

/** Moves all approvals to `expired` that nobody decided in time and no workflow closed by then. */
export const expireOverdue = async (store: Store, before: Date): Promise<void> => {
  await approvals.in(store).updateMany({ status: 'pending', expires_at: { $lt: before } }, EXPIRED);
};

export const SYSTEM_CANCEL = 'system:execution_cancelled';

/** Denies whatever gate of an execution is still pending, because the execution ends. */
export const denyForEnd = async (store: Store, executionId: string, now: Date): Promise<number> => {
  const denied = await approvals.in(store).updateMany(
    { execution_id: executionId, status: 'pending' },
    {
      $set: {
        status: 'denied',
        decided_by: SYSTEM_CANCEL,
        decided_at: now,
        decided_via: 'system',
        consumed_at: now,
        unreported: true,
      },
    },
  );
  return denied.modifiedCount;
};

export const markConsumed = async (store: Store, id: string, now: Date): Promise<void> => {
  await approvals
    .in(store)
    .collection.updateOne({ _id: id, consumed_at: null } as never, { $set: { consumed_at: now } });
};

/** Has an approval signalled once more: the workflow waits at its gate, which was passed. False when nobody approved. */
export async function forgetConsumed(store: Store, id: string): Promise<boolean> {
  const { matchedCount } = await approvals.in(store).collection.updateOne({ _id: id, status: 'approved' } as never, {
    $set: { consumed_at: null },
    $unset: { signals: 1, signal_at: 1 },
  });
  return matchedCount > 0;
}

/** Decisions older than `before` that the workflow has not acted on and that are to be signalled again by now. */
export const unconsumedDecisions = (
  store: Store,
  { before, now }: { before: Date; now: Date },
  limit: number,
): Promise<ApprovalRecord[]> =>
  approvals
    .in(store)
    .find({ consumed_at: null, decided_at: { $lt: before }, signal_at: { $not: { $gt: now } } } as never)
    .sort({ decided_at: 1 })
    .limit(limit)
    .lean<ApprovalRecord[]>()
    .exec();

/** A lost signal is made up for at once; one that arrived, while no worker is there, is not repeated by the thousand. */
const SIGNAL_PAUSE_MS = { first: 1_000, most: 300_000 };

/** Takes the next signal of a decision. Of all processes one sends it, and each comes twice as late as the one before. */
export async function claimSignal(store: Store, { _id, signals = 0 }: ApprovalRecord, now: Date): Promise<boolean> {
  const pauseMs = Math.min(SIGNAL_PAUSE_MS.first * 2 ** signals, SIGNAL_PAUSE_MS.most);
  const { matchedCount } = await approvals
    .in(store)
    .collection.updateOne({ _id, consumed_at: null, signals: signals === 0 ? null : signals } as never, {
      $set: { signals: signals + 1, signal_at: new Date(now.getTime() + pauseMs) },
    });
  return matchedCount > 0;
}

export interface ApprovalQuery {
  status?: ApprovalStatus;
  execution_id?: string;
  agent_id?: string;
  /** Only what is addressed to this contact of this client. */
  addressee?: Addressee;
}

/** A contact, and the client whose contact it was when a gate opened. */
export interface Addressee {
  contactId: string;
  clientId: string;
}

/** True when the contact was asked; one who has moved to another client since is somebody else. */
export const isAddressedTo = ({ approver }: ApprovalRecord, { contactId, clientId }: Addressee): boolean =>
  approver?.contact_id === contactId && approver.client_id === clientId;

const filterOf = (orgId: string, { addressee, ...query }: ApprovalQuery): Record<string, unknown> => ({
  org_id: orgId,
  ...query,
  ...(addressee ? { 'approver.contact_id': addressee.contactId, 'approver.client_id': addressee.clientId } : {}),
});

function hintFor({ addressee, status }: ApprovalQuery): string {
  if (addressee) return LIST_CONTACT;
  return status ? LIST_STATUS : LIST;
}

/** One page, newest first. */
export function pageOfApprovals(
  store: Store,
  orgId: string,
  query: ApprovalQuery,
  page: { limit: number; after: Position | null },
): Promise<ApprovalRecord[]> {
  const filter = filterOf(orgId, query);
  if (page.after) {
    const at = new Date(Number(page.after.value));
    filter['created_at'] = { $lte: at };
    filter['$nor'] = [{ created_at: at, _id: { $gte: page.after.id } }];
  }
  return approvals
    .in(store)
    .find(filter as never)
    .sort({ created_at: -1, _id: -1 })
    .limit(page.limit)
    .hint(hintFor(query))
    .lean<ApprovalRecord[]>()
    .exec();
}

const COUNT_MAX = 10_001;
export const countApprovals = (store: Store, orgId: string, query: ApprovalQuery): Promise<number> =>
  approvals
    .in(store)
    .countDocuments(filterOf(orgId, query) as never, { limit: COUNT_MAX })
    .exec();

/** Approvals that somebody watches and that have something to tell. */
export const unreportedApprovals = (
  store: Store,
  limit: number,
  except: readonly string[],
): Promise<ApprovalRecord[]> =>
  approvals
    .in(store)
    .find({ watched: true, unreported: true, ...idsBut(except) })
    .sort({ created_at: 1 })
    .limit(limit)
    .lean<ApprovalRecord[]>()
    .exec();

/** Told as it was read; an approval that was decided meanwhile stays to be told. */
export const markApprovalReported = async (store: Store, { _id, status }: ApprovalRecord): Promise<void> => {
  await approvals.in(store).updateOne({ _id, status }, { $set: { unreported: false } });
};
