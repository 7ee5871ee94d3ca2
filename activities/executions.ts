/** Begin and end of an execution, and the record of a step that failed without ending it. */
import {
  ORPHAN_WORKFLOW,
  type BeginInput,
  type FinishInput,
  type Progress,
  type ProgressInput,
  type StepInput,
  type StepResult,
  type Tried,
} from '../src/contracts/messages';
import type { ErrorInfo } from '../src/contracts/execution';
import { isAtFault } from '../src/domain/agent-breaker';
import { denyGates } from '../src/store/audit-trail';
import { writeExecution } from '../src/store/execution-rounds';
import { endExecution, writeCutOff } from '../src/store/execution-writes';
import { hasEnded, type ExecutionRecord, type StepSlot } from '../src/store/executions';
import { judgeAgent } from './breaker';
import type { Deps } from './deps';
import { permanent } from './failures';
import { giveBack } from './holding';
import { recorded, withLight } from './light';
import { afterWrite, begin, patiently, readRunning } from './record';

/** Marks the execution running and records its leading light steps, if it has any. */
export async function beginExecution(deps: Deps, input: BeginInput): Promise<StepResult> {
  const { execution_id: id, light } = input;
  const answer = (record: ExecutionRecord): StepResult => ({ ...recorded(record, input, []), credits: 0 });
  const begun = await begin(deps, id, light.length === 0 ? input.next : undefined);
  if (light.length === 0 || hasEnded(begun.status)) return answer(begun);
  const also = withLight(deps, begun, input, []);
  if (also.slots?.length === 0) return answer(begun);
  const done = await patiently(() => writeExecution(deps.store, { known: begun, now: deps.clock.now(), ...also }));
  return answer(await afterWrite(deps, id, done));
}

/**
 * A workflow that gave up waiting for its record writes nothing, also when the record has come by now: whoever brings it
 * starts the execution anew, and nothing of it must look as if it had begun.
 */
function refuseOrphan({ error }: { error: ErrorInfo | null }): void {
  if (error?.code === ORPHAN_WORKFLOW) throw permanent(ORPHAN_WORKFLOW, error.message);
}

/** The record of a step that failed for good. */
const failedFields = (error: ErrorInfo | null, tried: Tried | undefined, now: Date): Partial<StepSlot> => ({
  status: 'failed',
  error,
  completed_at: now,
  ...tried,
});

/** Records a failed step of an execution that goes on. */
export async function recordFailure(
  deps: Deps,
  input: StepInput & { error: ErrorInfo; tried?: Tried },
): Promise<StepResult> {
  refuseOrphan(input);
  const now = deps.clock.now();
  const written = await writeExecution(deps.store, {
    known: await readRunning(deps, input),
    now,
    pure: input.pure,
    ends: input.slot,
    next: input.next,
    slots: [{ index: input.slot, fields: failedFields(input.error, input.tried, now) }],
    ...(input.completes ? { status: 'completed' as const } : {}),
  });
  const record = await afterWrite(deps, input.execution_id, written);
  await giveBack(deps, record, [input.slot]);
  return { ...recorded(record, input, [input.slot]), credits: 0 };
}

/** Records steps that the workflow has worked out by itself, the last of which begins. */
export async function recordProgress(deps: Deps, { execution_id: id, seq, pure }: ProgressInput): Promise<Progress> {
  const known = await readRunning(deps, { execution_id: id, seq: seq ?? -1 });
  const begun = known.steps[pure.at(-1)?.slot ?? -1]?.started_at;
  const news = begun ? pure.slice(0, -1) : pure;
  const written = await writeExecution(deps.store, { known, now: deps.clock.now(), pure: news });
  const now = await afterWrite(deps, id, written);
  const recorded = { seq: now.seq, status: now.status, ended: hasEnded(now.status) };
  return begun ? { ...recorded, begun_at: begun.toISOString() } : recorded;
}

/** Ends the execution by compare-and-set: whoever ended it first stays right. */
export async function finishExecution(
  deps: Deps,
  input: FinishInput,
): Promise<{ status: string; credits_used: number }> {
  refuseOrphan(input);
  const now = deps.clock.now();
  const known = await readRunning(deps, { execution_id: input.execution_id, seq: input.seq ?? -1 });
  const failed =
    input.failed_slot === null
      ? {}
      : { slots: [{ index: input.failed_slot, fields: failedFields(input.error, input.tried, now) }] };
  if (input.status === 'completed') {
    const written = await writeExecution(deps.store, { known, now, pure: input.pure, status: 'completed' });
    return ended(deps, input, written);
  }
  const noted =
    input.pure.length > 0 || input.failed_slot !== null
      ? await writeExecution(deps.store, { known, now, pure: input.pure, ...failed })
      : null;
  await denyGates(deps, input.execution_id, now);
  // Nothing runs any more when a failure ends it: what its calls have cost is part of the record that ends.
  if (input.status === 'failed') await giveBackAll(deps, input, noted);
  const written = await endExecution(deps.store, {
    id: input.execution_id,
    orgId: input.org_id,
    status: input.status,
    reason: input.reason,
    error: input.error,
    now,
  });
  if (input.interrupted) {
    const { slot: index, started_at: startedAt } = input.interrupted;
    const step = { id: input.execution_id, index, startedAt: new Date(startedAt), now, attempts: null };
    await writeCutOff(deps.store, step);
  }
  if (input.status !== 'failed') await giveBackAll(deps, input, input.interrupted ? null : written);
  return ended(deps, input, written);
}

/**
 * Settles the calls of an execution that is over, by its record as `known` or read anew. Whoever has the call that was
 * cut off settles it: the model may still answer, and that is paid for.
 */
async function giveBackAll(
  deps: Deps,
  { execution_id: id, interrupted }: FinishInput,
  known: ExecutionRecord | null,
): Promise<void> {
  const record = known ?? (await readRunning(deps, { execution_id: id, seq: -1 }));
  await giveBack(
    deps,
    record,
    [...record.steps.keys()].filter((slot) => slot !== interrupted?.slot),
  );
}

async function ended(
  deps: Deps,
  input: FinishInput,
  written: ExecutionRecord | null,
): Promise<{ status: string; credits_used: number }> {
  deps.cache.drop(input.execution_id);
  if (written) {
    deps.tallies.add(written);
    if (isAtFault(written)) deps.background.run('judging an agent', () => judgeAgent(deps, written));
    return { status: written.status, credits_used: written.credits_used };
  }
  const record = await readRunning(deps, { execution_id: input.execution_id, seq: -1 });
  return { status: record.status, credits_used: record.credits_used };
}
