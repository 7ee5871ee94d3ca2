/** What is written to an execution while it runs: every write a compare-and-set on a status that has not ended. */
import type { ErrorInfo, ExecutionStatus, StatusReason } from '../contracts/execution';
import type { PureRecord } from '../contracts/messages';
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
    fields: { status, output, started_at: new Date(startedAt), completed_at: new Date(completedAt) },
  }));

const slotFields = (...slots: SlotWrite[]): Record<string, unknown> =>
  Object.fromEntries(
    slots.flatMap(({ index, fields }) =>
      Object.entries(fields).map(([name, value]): [string, unknown] => [`steps.${index}.${name}`, value]),
    ),
  );

export interface Write {
  id: string;
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
}

const endFields = (write: Write): Record<string, unknown> =>
  write.status && hasEnded(write.status)
    ? { completed_at: write.now, status_reason: write.reason ?? null, error: write.error ?? null, unreported: true }
    : {};

/**
 * Writes the records of steps, with whatever else is due, in one update. Answers the record after the write,
 * or null when the execution has ended: a late completion can never overwrite `cancelled`.
 */
export function writeExecution(store: Store, write: Write): Promise<ExecutionRecord | null> {
  const set: Record<string, unknown> = {
    ...slotFields(...pureSlots(write.pure ?? []), ...(write.slots ?? [])),
    ...(write.next === undefined
      ? {}
      : slotFields({ index: write.next, fields: { status: 'running', started_at: write.now } })),
    ...(write.status ? { status: write.status } : {}),
    ...endFields(write),
    touched_at: write.now,
  };
  return executions
    .in(store)
    .collection.findOneAndUpdate(
      { _id: write.id, status: { $in: OPEN_STATUSES } } as never,
      { $set: set, $inc: { seq: 1, credits_used: write.credits ?? 0 } },
      { returnDocument: 'after' },
    ) as unknown as Promise<ExecutionRecord | null>;
}

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

/** Records a step whose effect finished after the execution had ended: it happened, so the trace says so. */
export async function writeLateStep(
  store: Store,
  id: string,
  { index, fields }: SlotWrite,
  credits: number,
): Promise<void> {
  await executions.in(store).collection.updateOne({ _id: id } as never, {
    $set: slotFields({ index, fields: { ...fields, output: { ...fields.output, after_end: true } } }),
    $inc: { seq: 1, credits_used: credits },
  });
}

/** A running or waiting step of an ended execution was cut off; one that never began is skipped. Pipeline form, one update. */
const closeSteps = {
  $map: {
    input: '$steps',
    as: 's',
    in: {
      $cond: [
        { $in: ['$$s.status', ['pending', 'running', 'waiting_approval']] },
        { $mergeObjects: ['$$s', { status: 'skipped' }] },
        '$$s',
      ],
    },
  },
};

export interface Ending {
  id: string;
  orgId: string;
  status: 'completed' | 'failed' | 'cancelled';
  reason: StatusReason | null;
  error: ErrorInfo | null;
  now: Date;
}

/** Ends an execution that is still open and skips what is left of it, in one update. Null when it had ended already. */
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
          seq: { $add: ['$seq', 1] },
          steps: closeSteps,
        },
      },
    ] as never,
    { returnDocument: 'after' },
  ) as unknown as Promise<ExecutionRecord | null>;

/** Notes how far a step has come, so that another attempt goes on from there. */
export const writeProgress = async (
  store: Store,
  id: string,
  slot: number,
  output: Record<string, unknown>,
): Promise<void> => {
  await executions
    .in(store)
    .collection.updateOne({ _id: id } as never, { $set: slotFields({ index: slot, fields: { output } }) });
};
