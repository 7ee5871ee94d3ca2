/** One execution of an agent: begin, run the steps in order, end once. */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  defineSignal,
  log,
  setHandler,
  TemporalFailure,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, type RawValue, rawValueTypeInfo } from '@temporalio/common';
import { APPROVAL_DECISION, type ExecutionInput, type Tried } from '../src/contracts/messages';
import { parseDecision } from './approval-gate';
import { asSealed, endOf, triedOf } from './failures';
import { records } from './policies';
import { newRun, noteDecision, noteRecorded, recordInput, stepInput, type Run } from './run';
import { followingOf, runSteps, startsRecorded } from './steps';

export interface ExecutionResult {
  /** The status of the record: it is what the API shows. */
  status: string;
}

const OUTCOME = defineSearchAttributeKey('Outcome', 'KEYWORD');
const CREDITS_USED = defineSearchAttributeKey('CreditsUsed', 'INT');
/** Taken as it came: whoever sends it chooses how it is encoded, and what the library cannot read fails the whole task. */
const approvalDecision = defineSignal<[RawValue?]>(APPROVAL_DECISION, { typeInfo: { inputTypes: [rawValueTypeInfo] } });

/** Registered before the first await, so that an early decision waits in the map instead of being lost. */
function listen(run: Run): void {
  setHandler(
    approvalDecision,
    (sent?: RawValue) => {
      const decision = parseDecision(sent, run.openGate);
      if (decision) noteDecision(run, decision);
      else log.warn('ignored a signal that is not a decision');
    },
    { description: 'Decide the open gate: {"decision": "approved" | "denied", "approval_id"?, "note"?}' },
  );
}

/** Begins an execution whose first step does not do so itself. Answers how many light steps are done by that. */
async function begin(run: Run): Promise<number> {
  const leading = followingOf(run.input.steps, -1, { final: true });
  const begun = await records.beginExecution({ ...recordInput(run, leading), run_id: workflowInfo().runId });
  noteRecorded(run, begun, leading.light);
  return begun.light;
}

interface End extends Pick<Partial<ReturnType<typeof endOf>>, 'reason' | 'error'> {
  status: 'completed' | 'failed' | 'cancelled';
  tried?: Tried | undefined;
}

const finish = (run: Run, end: End) =>
  records.finishExecution({
    execution_id: run.input.execution_id,
    org_id: run.input.org_id,
    status: end.status,
    reason: end.reason ?? null,
    error: end.error ?? null,
    failed_slot: end.status === 'failed' && run.current ? run.current.slot : null,
    ...(end.tried ? { tried: end.tried } : {}),
    ...(end.status === 'cancelled' && run.effect ? { interrupted: run.effect } : {}),
    seq: run.seq,
    pure: run.pure,
  });

/** Ends the record of an execution that was cut short, whatever cancelled it. */
async function endEarly(run: Run, error: unknown): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    if (run.openGate && run.current) {
      await records.settleApproval({
        ...stepInput(run, run.current),
        approval_id: run.openGate,
        proposal: 'cancelled',
      });
    }
    const end = endOf(error);
    const finished = await finish(run, { ...end, tried: triedOf(error) });
    upsertSearchAttributes([
      { key: OUTCOME, value: end.reason },
      { key: CREDITS_USED, value: finished.credits_used },
    ]);
  });
}

/** The workflow of an execution; its id is `exec_<execution id>`. */
export async function agentExecution(input: ExecutionInput): Promise<ExecutionResult> {
  const run = newRun(input);
  listen(run);
  try {
    const from = startsRecorded(input.steps) ? 0 : await begin(run);
    if (!run.ended) await runSteps(run, input.steps, { final: true, from });
    // Every await costs an activation its share, so none is spent on what already holds.
    if (!allHandlersFinished()) await condition(allHandlersFinished);
    // The last step's record may have completed the execution already, or a cancel ended it.
    return run.ended ? { status: run.status } : await finish(run, { status: 'completed' });
  } catch (error) {
    // Anything else is a bug in this code: the task fails and is tried again until a fix is deployed.
    if (!(error instanceof TemporalFailure)) throw error;
    await endEarly(run, error);
    throw asSealed(error);
  }
}
