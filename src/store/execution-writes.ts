/** What is written to an execution while it runs: every write a compare-and-set on a status that has not ended. */
import type { ErrorInfo, ExecutionStatus, StatusReason } from '../contracts/execution';
import type { PureRecord } from '../contracts/messages';
import type { AskedBy } from '../domain/audit';
import type { Store } from './collection';
import { executions, hasEnded, OPEN_STATUSES, type ExecutionRecord, type StepSlot } from './executions';

export interface SlotWrite {
  index: number;
  fields: Partial<StepSlot>;
}

/** Steps the workflow worked out by itself, as the record will hold them. */
export const pureSlots = (pure: readonly PureRecord[]): SlotWrite[] =>
  pure.map(({ slot, status, output, started_at: startedAt, completed_at: completedAt }) => ({
    index: slot,
    fields: {
      status,
      output,
      attempts: status === 'completed' ? 1 : 0,
      started_at: new Date(startedAt),
      completed_at: completedAt === null ? null : new Date(completedAt),
    },
  }));

/** Fields of steps as an update names them. */
export const slotFields = (...slots: SlotWrite[]): Record<string, unknown> =>
  Object.fromEntries(
    slots.flatMap(({ index, fields }) =>
      Object.entries(fields).map(([name, value]): [string, unknown] => [`steps.${index}.${name}`, value]),
    ),
  );

export interface Write {
  /** The execution as it was stored: a step that had ended stays as it is. */
  known: ExecutionRecord;
  now: Date;
  pure?: PureRecord[];
  /** Steps of which something is to be recorded. */
  slots?: SlotWrite[];
  /** Slot of the step that starts next. */
  next?: number | undefined;
  status?: ExecutionStatus;
  reason?: StatusReason | null;
  error?: ErrorInfo | null;
  credits?: number;
  /** Slot of the step that this write is about: nothing is written when the step has ended already. */
  ends?: number;
}

/** A step in one of these has ended. */
const STEP_ENDS = ['completed', 'failed', 'skipped'];

/** Without those of steps that had ended: a workflow that begins anew, as its engine has lost it, undoes nothing. */
export const unended = (known: ExecutionRecord, slots: readonly SlotWrite[]): SlotWrite[] =>
  slots.filter(({ index }) => !STEP_ENDS.includes(known.steps[index]?.status ?? 'pending'));

function stepFields({ known, pure = [], slots = [], next, now }: Write): Record<string, unknown> {
  const begun: SlotWrite[] =
    next === undefined ? [] : [{ index: next, fields: { status: 'running', started_at: now } }];
  return slotFields(...unended(known, [...pureSlots(pure), ...slots, ...begun]));
}

const endFields = (write: Write): Record<string, unknown> =>
  write.status && hasEnded(write.status)
    ? { completed_at: write.now, status_reason: write.reason ?? null, error: write.error ?? null, unreported: true }
    : {};

/**
 * Writes the records of steps, with whatever else is due, in one update. Answers the record after the write, or null
 * when the execution has ended, so that a late completion cannot overwrite `cancelled`, or the step has: its end is
 * written once, however often its reply is lost, and an attempt that was given up cannot undo what came after it.
 */
export function writeAlone(store: Store, write: Write): Promise<ExecutionRecord | null> {
  const { filter, update } = commandOf(write);
  const { collection } = executions.in(store);
  const written = collection.findOneAndUpdate(filter as never, update, { returnDocument: 'after' });
  return written as unknown as Promise<ExecutionRecord | null>;
}

/** What a write asks of the store. */
export const commandOf = (write: Write) => ({
  filter: {
    _id: write.known._id,
    status: { $in: OPEN_STATUSES },
    ...(write.ends === undefined ? {} : { [`steps.${write.ends}.status`]: { $nin: STEP_ENDS } }),
  },
  update: {
    $set: {
      ...stepFields(write),
      ...(write.status ? { status: write.status } : {}),
      ...endFields(write),
      touched_at: write.now,
    } as Record<string, unknown>,
    $inc: { seq: 1, credits_used: write.credits ?? 0 },
  },
});

/**
 * Marks a pending execution running, with its first step if that starts at once. Null when it is not pending any more:
 * another attempt has begun it, or it was cancelled before.
 */
export const beginExecution = (
  store: Store,
  { id, now, first }: { id: string; now: Date; first?: number | undefined },
): Promise<ExecutionRecord | null> =>
  executions.in(store).collection.findOneAndUpdate(
    { _id: id, status: 'pending' } as never,
    {
      $set: {
        status: 'running',
        started_at: now,
        start_pending: false,
        touched_at: now,
        ...(first === undefined ? {} : slotFields({ index: first, fields: { status: 'running', started_at: now } })),
      },
      $inc: { seq: 1 },
    },
    { returnDocument: 'after' },
  ) as unknown as Promise<ExecutionRecord | null>;

/** Steps that have no end of their own: they wait, are under way, or were never begun when their execution ended. */
const WITHOUT_END = ['pending', 'running', 'skipped'];

/** The codes of steps that the end of their execution broke off. */
const CUT_OFF = ['cancelled', 'interrupted'];

/**
 * Records a step whose effect finished after its execution had ended: it happened, so the trace says so. Only where that
 * end broke the step off; one that had failed before has its credits back already.
 */
export async function writeLateStep(
  store: Store,
  id: string,
  { index, fields }: SlotWrite,
  credits: number,
): Promise<void> {
  const at = `steps.${index}`;
  await executions.in(store).collection.updateOne(
    {
      _id: id,
      status: { $nin: OPEN_STATUSES },
      $or: [{ [`${at}.status`]: { $in: WITHOUT_END } }, { [`${at}.error.code`]: { $in: CUT_OFF } }],
    } as never,
    {
      $set: slotFields({ index, fields: { ...fields, output: { ...fields.output, after_cancel: true } } }),
      $inc: { seq: 1, credits_used: credits },
    },
  );
}

/** What a step ends with that was under way when its execution was ended. */
const cutOff = (status: Ending['status']): ErrorInfo => {
  const unknown = 'whether it arrived is not known.';
  return status === 'cancelled'
    ? { code: 'cancelled', message: `Cancelled while it ran; ${unknown}` }
    : { code: 'interrupted', message: `The execution ended while it ran; ${unknown}` };
};

/**
 * A running step of an ended execution was cut off, which is no success but may have had its effect; one that never
 * began, a gate that nobody decided and a delay that went on are skipped. Pipeline form, one update.
 */
const closedSteps = ({ status, now }: Ending) => ({
  $map: {
    input: '$steps',
    as: 's',
    in: {
      $cond: [
        { $and: [{ $eq: ['$$s.status', 'running'] }, { $ne: ['$$s.step_type', 'delay'] }] },
        {
          $mergeObjects: [
            '$$s',
            {
              status: 'failed',
              error: { $literal: cutOff(status) },
              attempts: { $cond: [{ $gt: ['$$s.attempts', 0] }, '$$s.attempts', 1] },
              completed_at: now,
            },
          ],
        },
        {
          $cond: [
            { $in: ['$$s.status', ['pending', 'running', 'waiting_approval']] },
            { $mergeObjects: ['$$s', { status: 'skipped' }] },
            '$$s',
          ],
        },
      ],
    },
  },
});

export interface Ending {
  id: string;
  orgId: string;
  status: 'completed' | 'failed' | 'cancelled';
  reason: StatusReason | null;
  error: ErrorInfo | null;
  /** Who asked for it. */
  by?: AskedBy | undefined;
  now: Date;
}

/** A step whose effect was under way when its execution was cancelled. */
export interface CutOff {
  id: string;
  index: number;
  /** When it began, if that is not on record. */
  startedAt: Date;
  now: Date;
  /** How often it was tried; null where only its worker knew. */
  attempts: number | null;
  /** Only when the execution was cancelled: for whoever was told no more than that nobody waits for the step. */
  onlyCancelled?: boolean;
}

/**
 * Records a step as cut off that a cancel found under way, also where its start was not on record and the cancel took it
 * for one that never began. A step that ended by itself stays as it is.
 */
export async function writeCutOff(store: Store, step: CutOff): Promise<void> {
  const { id, index, attempts } = step;
  const error = cutOff('cancelled');
  const at = `steps.${index}`;
  const open = { [`${at}.status`]: { $in: WITHOUT_END } };
  const known = attempts === null ? [] : [{ [`${at}.error.code`]: error.code }];
  const filter = { _id: id, ...(step.onlyCancelled ? { status: 'cancelled' } : {}), $or: [open, ...known] };
  const { collection } = executions.in(store);
  const found = (await collection.findOne(filter as never)) as unknown as ExecutionRecord | null;
  if (!found) return;
  const slot = found.steps[index];
  const fields: Partial<StepSlot> = {
    status: 'failed',
    error,
    attempts: attempts ?? Math.max(slot?.attempts ?? 0, 1),
    started_at: slot?.started_at ?? step.startedAt,
    completed_at: slot?.completed_at ?? step.now,
  };
  await collection.updateOne(filter as never, { $set: slotFields({ index, fields }), $inc: { seq: 1 } });
}

/** Ends an execution that is still open and closes what is left of it, in one update. Null when it had ended already. */
export const endExecution = (store: Store, ending: Ending): Promise<ExecutionRecord | null> =>
  executions.in(store).collection.findOneAndUpdate(
    { _id: ending.id, org_id: ending.orgId, status: { $in: OPEN_STATUSES } } as never,
    [
      {
        $set: {
          status: ending.status,
          status_reason: { $literal: ending.reason },
          error: { $literal: ending.error },
          completed_at: ending.now,
          touched_at: ending.now,
          start_pending: false,
          unreported: true,
          ...(ending.by ? { cancelled_by: { $literal: ending.by } } : {}),
          seq: { $add: ['$seq', 1] },
          steps: closedSteps(ending),
        },
      },
    ] as never,
    { returnDocument: 'after' },
  ) as unknown as Promise<ExecutionRecord | null>;
