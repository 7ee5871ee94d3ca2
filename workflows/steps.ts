/** The step loop: one list of steps after another, each by its type. Order is decided here and nowhere else. */
import { CancellationScope, CancelledFailure, patched, sleep } from '@temporalio/workflow';
import type { PlanStep } from '../src/contracts/messages';
import type { Condition } from '../src/contracts/condition';
import { evaluate, evaluateAsBefore } from '../src/domain/conditions';
import { awaitDecision } from './approval-gate';
import { errorOf, isStepFailure, triedOf } from './failures';
import { isOurs, isOutside, records, runOutside } from './policies';
import {
  follow,
  learn,
  notePure,
  noteRecorded,
  noteSkipped,
  scopeOf,
  showProgress,
  stepInput,
  workflowNow,
  type Following,
  type Run,
} from './run';

/** Where a list of steps stands: the last step of the outermost list also completes the execution. */
interface Place {
  final: boolean;
}

/** Since then delays are recorded when they begin; executions that began before run as they did. */
const DELAYS_SHOWN = 'delays-shown';

/** Since then texts are the same in every form of their letters; executions that began before go on as they did. */
const LETTERS_COMPOSED = 'letters-composed';

function doesHold(run: Run, condition: Condition, at: Date): boolean {
  const scope = scopeOf(run);
  const { holds } = evaluate(condition, scope, at);
  // Hardly a text has other forms, so hardly a history has the mark.
  const isSame = evaluateAsBefore(condition, scope, at).holds === holds;
  return isSame || patched(LETTERS_COMPOSED) ? holds : !holds;
}

const isLight = (step: PlanStep): boolean => step.type === 'set_variables' && step.when === undefined;
const isReady = (step: PlanStep): boolean => step.when === undefined && isOutside(step.type);

/** True when the first step is recorded when it starts, so that its activity can also begin the execution. */
export const startsRecorded = ([first]: readonly PlanStep[]): boolean =>
  first !== undefined && first.when === undefined && (isOutside(first.type) || first.type === 'approval_gate');

/** What is recorded with `light`: the start of the outside step at `at`, or the end. */
function followedBy(steps: readonly PlanStep[], at: number, light: PlanStep[], { final }: Place): Following {
  const next = steps[at];
  return { light, next: next && isReady(next) ? next : undefined, completes: final && next === undefined };
}

/**
 * What can be recorded together with the step at `index`: the light steps behind it, the start of the outside step
 * behind those, or the end. An `index` of -1 stands for the beginning of the execution.
 */
export function followingOf(steps: readonly PlanStep[], index: number, place: Place): Following {
  const rest = steps.slice(index + 1);
  const row = rest.findIndex((step) => !isLight(step));
  const light = row === -1 ? rest : rest.slice(0, row);
  return followedBy(steps, index + 1 + light.length, light, place);
}

/** A step with what follows it. */
interface Turn {
  step: PlanStep;
  following: Following;
  /** What follows when the step fails and the execution goes on. */
  alone: Following;
  place: Place;
}

/** Runs a step that an activity records. Answers how many light steps behind it are done too. */
async function runEffect(run: Run, { step, following, alone }: Turn): Promise<number> {
  const input = stepInput(run, step, following);
  try {
    if (isOutside(step.type)) run.effect = { slot: step.slot, started_at: workflowNow().toISOString() };
    const given = await (isOutside(step.type) ? runOutside(step, step.type, input) : records.setVariables(input));
    const result = isOurs(given) ? given : await records.recordByHand({ ...input, given });
    run.effect = null;
    showProgress(run, `${step.label}: done${result.credits > 0 ? ` (${result.credits} credits)` : ''}`);
    noteRecorded(run, result, following.light);
    return result.light;
  } catch (error) {
    if (step.on_error !== 'continue' || !isStepFailure(error)) throw error;
    run.effect = null;
    const failure = errorOf(error);
    const tried = triedOf(error);
    const told = { ...stepInput(run, step, alone), error: failure, ...(tried ? { tried } : {}) };
    showProgress(run, `${step.label}: failed (${failure.code}), continuing`);
    noteRecorded(run, await records.recordFailure(told), []);
    learn(run, { [`steps.${step.id}.status`]: 'failed' });
    return 0;
  }
}

/** The arms of a branch in the order in which they are tried; `else`, which is the last, always holds. */
const armsOf = ({ branches = [], else: other }: PlanStep) => [
  ...branches,
  ...(other ? [{ name: 'else', when: null, steps: other }] : []),
];

async function runBranch(run: Run, step: PlanStep, place: Place): Promise<number> {
  const startedAt = workflowNow();
  const arms = armsOf(step);
  const chosen = arms.find(({ when }) => when === null || doesHold(run, when, startedAt));
  const name = chosen?.name ?? null;
  const reason = chosen ? 'another branch was taken' : 'no branch was taken';
  notePure(run, step, { status: 'completed', output: { taken: name }, startedAt });
  showProgress(run, `${step.label}: ${name ?? 'no arm'} taken`);
  for (const arm of arms) {
    if (arm !== chosen) for (const inner of arm.steps) noteSkipped(run, inner, reason);
  }
  if (chosen) await runSteps(run, chosen.steps, { final: place.final, from: 0 });
  return 0;
}

/** Records that a delay begins. Answers since when it lasts: an engine that lost its data begins it a second time. */
async function beginDelay(run: Run, step: PlanStep): Promise<Date> {
  const startedAt = workflowNow();
  notePure(run, step, { status: 'running', output: {}, startedAt });
  const { execution_id: id } = run.input;
  const begun = await records.recordProgress({ execution_id: id, seq: run.seq, pure: run.pure });
  follow(run, begun);
  return begun.begun_at ? new Date(begun.begun_at) : startedAt;
}

async function runDelay(run: Run, step: PlanStep): Promise<number> {
  let startedAt = workflowNow();
  showProgress(run, `${step.label}: waiting`);
  // Whoever looks at the trace while it lasts sees it, and what came before.
  if (patched(DELAYS_SHOWN)) {
    startedAt = await beginDelay(run, step);
    if (run.ended) return 0;
  }
  const leftMs = startedAt.getTime() + (step.duration_ms ?? 0) - Date.now();
  await sleep(Math.max(0, leftMs), { summary: step.label });
  notePure(run, step, { status: 'completed', output: { resumed_at: workflowNow().toISOString() }, startedAt });
  return 0;
}

/** Runs one step. Answers how many light steps behind it are done too. */
function runStep(run: Run, turn: Turn): Promise<number> | number {
  const { step } = turn;
  run.current = step;
  if (step.when !== undefined && !doesHold(run, step.when, workflowNow())) {
    noteSkipped(run, step, 'its condition does not hold');
    return 0;
  }
  switch (step.type) {
    case 'branch':
      return runBranch(run, step, turn.place);
    case 'delay':
      return runDelay(run, step);
    case 'approval_gate':
      return awaitDecision(run, step, turn.following);
    case 'ai_reason':
    case 'notification':
    case 'http_request':
    case 'set_variables':
      return runEffect(run, turn);
    default:
      return step.type satisfies never;
  }
}

/** Runs steps in order, from the given one, until they are done or the execution has ended. */
export async function runSteps(run: Run, steps: readonly PlanStep[], list: Place & { from: number }): Promise<void> {
  for (let index = list.from; index < steps.length; index += 1) {
    // A cancel that arrived while an effect was waited for must not let the next one begin.
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('cancelled');
    const step = steps[index] as PlanStep;
    index += await runStep(run, {
      step,
      following: followingOf(steps, index, list),
      alone: followedBy(steps, index + 1, [], list),
      place: { final: list.final && index === steps.length - 1 },
    });
    if (run.ended) return;
  }
}
