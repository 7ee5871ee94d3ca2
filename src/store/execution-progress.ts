/** What is written to an execution while a step of it is under way, for those who look: its end says it all again. */
import type { ErrorInfo } from '../contracts/execution';
import type { PureRecord } from '../contracts/messages';
import type { Store } from './collection';
import { pureSlots, slotFields, type SlotWrite } from './execution-writes';
import { executions, OPEN_STATUSES } from './executions';

/** Counted like a record: whoever polls with the tag of what he has would not see it otherwise. */
const SEEN = { seq: 1 };

/** Shows a step as running whose start was not recorded, with what the workflow worked out before it. */
export async function writeStart(
  store: Store,
  { id, index, startedAt, pure }: { id: string; index: number; startedAt: Date; pure: readonly PureRecord[] },
): Promise<void> {
  const started: SlotWrite = { index, fields: { status: 'running', started_at: startedAt } };
  await executions
    .in(store)
    .collection.updateOne({ _id: id, status: { $in: OPEN_STATUSES }, [`steps.${index}.status`]: 'pending' } as never, {
      $set: slotFields(...pureSlots(pure), started),
      $inc: SEEN,
    });
}

/** An attempt that failed and is followed by another. */
interface FailedAttempt {
  id: string;
  index: number;
  /** When the first attempt began, if that is not on record. */
  startedAt: Date;
  attempts: number;
  error: ErrorInfo;
}

/** Shows of a step that is under way how often it was tried and what went wrong last. */
export async function writeAttempt(store: Store, failed: FailedAttempt): Promise<void> {
  const { id, index, attempts, error, startedAt } = failed;
  const at = `steps.${index}`;
  const open = { _id: id, status: { $in: OPEN_STATUSES }, [`${at}.attempts`]: { $lt: attempts } };
  const { collection } = executions.in(store);
  const running = { ...open, [`${at}.status`]: 'running' };
  const shown = { attempts, error };
  const { matchedCount } = await collection.updateOne(running as never, {
    $set: slotFields({ index, fields: shown }),
    $inc: SEEN,
  });
  if (matchedCount > 0) return;
  // Not every step is recorded when it begins.
  const fields = { ...shown, status: 'running', started_at: startedAt } as const;
  await collection.updateOne({ ...open, [`${at}.status`]: 'pending' } as never, {
    $set: slotFields({ index, fields }),
    $inc: SEEN,
  });
}

/** Notes how far a step has come, so that another attempt goes on from there. */
export const writeProgress = async (
  store: Store,
  id: string,
  slot: number,
  output: Record<string, unknown>,
): Promise<void> => {
  await executions.in(store).collection.updateOne({ _id: id } as never, {
    $set: slotFields({ index: slot, fields: { output } }),
    $inc: SEEN,
  });
};
