/** The step loop: one list of steps after another, each by its type. Order is decided here and nowhere else. */
import { CancellationScope, CancelledFailure, sleep } from '@temporalio/workflow';
import type { PlanStep, StepResult } from '../src/contracts/messages';
import { evaluate } from '../src/domain/conditions';
import { awaitDecision } from './approval-gate';
import { errorOf, isStepFailure } from './failures';
import { isOutside, records, runOutside } from './policies';
import { learn, notePure, noteSkipped, scopeOf, showProgress, stepInput, workflowNow, type Run } from './run';

/** Where a list of steps stands: the last step of the outermost list also completes the execution. */
interface Place {
  final: boolean;
}

/** The step whose record can be marked running together with the one before it. */
const following = (steps: PlanStep[], index: number): PlanStep | undefined => {
  const next = steps[index + 1];
  return next && next.when === undefined && isOutside(next.type) ? next : undefined;
};

/** Steps that the very first record can mark running. */
export const firstOutside = (steps: PlanStep[]): PlanStep | undefined => following(steps, -1);

function applyResult(run: Run, step: PlanStep, result: StepResult): void {
  run.seq = result.seq;
  run.pure = [];
  run.ended = result.ended;
  run.status = result.status;
  learn(run, result.facts);
  showProgress(run, `${step.label}: done${result.credits > 0 ? ` (${result.credits} credits)` : ''}`);
}

async function runEffect(
  run: Run,
  step: PlanStep,
  more: { next: PlanStep | undefined; completes: boolean },
): Promise<void> {
  const input = stepInput(run, step, more);
  try {
    applyResult(
      run,
      step,
      isOutside(step.type) ? await runOutside(step, step.type, input) : await records.setVariables(input),
    );
  } catch (error) {
    if (step.on_error !== 'continue' || !isStepFailure(error)) throw error;
    const failure = errorOf(error);
    showProgress(run, `${step.label}: failed (${failure.code}), continuing`);
    const result = await records.recordFailure({ ...input, error: failure });
    run.seq = result.seq;
    run.pure = [];
    run.ended = result.ended;
    run.status = result.status;
    learn(run, { ...result.facts, [`steps.${step.id}.status`]: 'failed' });
  }
}

async function runBranch(run: Run, step: PlanStep, place: Place): Promise<void> {
  const startedAt = workflowNow();
  const taken = (step.branches ?? []).find((arm) => evaluate(arm.when, scopeOf(run), startedAt).holds);
  const name = taken?.name ?? (step.else ? 'else' : null);
  notePure(run, step, { status: 'completed', output: { taken: name }, startedAt });
  showProgress(run, `${step.label}: ${name ?? 'no arm'} taken`);
  const arms = [...(step.branches ?? []), ...(step.else ? [{ name: 'else', steps: step.else }] : [])];
  for (const arm of arms) {
    if (arm.name !== name) for (const inner of arm.steps) noteSkipped(run, inner, 'another branch was taken');
  }
  const chosen = arms.find((arm) => arm.name === name);
  if (chosen) await runSteps(run, chosen.steps, place);
}

async function runDelay(run: Run, step: PlanStep): Promise<void> {
  const startedAt = workflowNow();
  showProgress(run, `${step.label}: waiting`);
  await sleep(step.duration_ms ?? 0, { summary: step.label });
  notePure(run, step, { status: 'completed', output: { resumed_at: workflowNow().toISOString() }, startedAt });
}

async function runStep(run: Run, step: PlanStep, at: { next: PlanStep | undefined; place: Place }): Promise<void> {
  run.current = step;
  if (step.when !== undefined && !evaluate(step.when, scopeOf(run), workflowNow()).holds) {
    noteSkipped(run, step, 'its condition does not hold');
    return;
  }
  switch (step.type) {
    case 'branch':
      return runBranch(run, step, at.place);
    case 'delay':
      return runDelay(run, step);
    case 'approval_gate':
      return awaitDecision(run, step, at.next);
    case 'ai_reason':
    case 'notification':
    case 'http_request':
    case 'set_variables':
      return runEffect(run, step, { next: at.next, completes: at.place.final });
    default:
      return step.type satisfies never;
  }
}

/** Runs steps in order until they are done or the execution has ended. */
export async function runSteps(run: Run, steps: PlanStep[], place: Place): Promise<void> {
  for (const [index, step] of steps.entries()) {
    // A cancel that arrived while an effect was waited for must not let the next one begin.
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('cancelled');
    await runStep(run, step, {
      next: following(steps, index),
      place: { final: place.final && index === steps.length - 1 },
    });
    if (run.ended) return;
  }
}
