/** Decisions the workflow has not acted on: its signal is sent again, by the relay and by the sweep. */
import type { Context } from '../context';
import { signalDecision } from '../engine/executions';
import { claimSignal, markConsumed, type ApprovalRecord } from '../store/approvals';
import { findExecution, hasEnded } from '../store/executions';

/** Wakes the gate once more when that is due. Answers whether it was: what an execution that is over was told is moot. */
export async function wakeAgain(context: Context, approval: ApprovalRecord): Promise<boolean> {
  const { store, clock, engine } = context;
  const execution = await findExecution(store, approval.org_id, approval.execution_id);
  if (!execution || hasEnded(execution.status)) {
    await markConsumed(store, approval._id, clock.now());
    return false;
  }
  if (!(await claimSignal(store, approval, clock.now()))) return false;
  const decision = approval.status === 'approved' ? 'approved' : 'denied';
  await signalDecision(engine, approval.execution_id, { approval_id: approval._id, decision });
  return true;
}
