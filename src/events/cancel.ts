/** Cancelling an execution: record first, so that the answer is final; the workflow is told afterwards. */
import type { Context } from '../context';
import type { StatusReason } from '../contracts/execution';
import type { AskedBy } from '../domain/audit';
import { cancelWorkflow } from '../engine/executions';
import { faultOf } from '../engine/outages';
import { auditDenied, denyGates } from '../store/audit-trail';
import { endExecution } from '../store/execution-writes';
import type { ExecutionRecord, OpenExecution } from '../store/executions';

/**
 * Denies the open gate, then ends the record. Gate first: a person who approved before us really did, and one who comes
 * after us is told that the execution is over. Answers null when the execution had ended already.
 */
export async function cancelRecord(
  context: Context,
  record: OpenExecution,
  reason: StatusReason,
  by?: AskedBy,
): Promise<ExecutionRecord | null> {
  const now = context.clock.now();
  await denyGates(context, record._id, now);
  const ended = await endExecution(context.store, {
    id: record._id,
    orgId: record.org_id,
    status: 'cancelled',
    reason,
    error: null,
    by,
    now,
  });
  if (!ended) return null;
  context.tallies.add(ended);
  // A gate that opened between the two writes belongs to an execution that is over.
  await denyGates(context, record._id, now);
  return ended;
}

/**
 * Ends an execution whose cancel died between its writes: its gate was denied for the end, so nobody can decide it any
 * more. Answers whether there was such a cancel.
 */
export async function finishCancel(context: Context, record: ExecutionRecord): Promise<boolean> {
  if ((await auditDenied(context, record._id)) === 0) return false;
  await cancelRecord(context, record, 'cancelled_by_user');
  await cancelWorkflow(context.engine, record._id);
  return true;
}

/** Tells the workflow to stop, without holding up the answer; the sweep repeats what fails. */
export function cancelSoon(context: Context, executionId: string): void {
  cancelWorkflow(context.engine, executionId).catch((error: unknown) => {
    context.log.warn('cancel deferred', { execution_id: executionId, ...faultOf(error) });
  });
}
