/** The frame around every step effect: read the execution, skip what is done, run the effect, write its record. */
import {
  activityInfo,
  ApplicationFailure,
  cancellationDetails,
  CancelledFailure,
  cancellationSignal,
} from '@temporalio/activity';
import type { StepInput, StepResult } from '../src/contracts/messages';
import type { StepOf, StepType } from '../src/contracts/step';
import { durationMs } from '../src/domain/durations';
import { writeAttempt, writeStart } from '../src/store/execution-progress';
import { writeCutOff } from '../src/store/execution-writes';
import { hasEnded, type ExecutionRecord } from '../src/store/executions';
import { attemptNumber, beat, beginCount, isAttemptFirst, leaveOut } from './attempts';
import type { Deps } from './deps';
import { effectFailure, permanent } from './failures';
import { refuseUnkeepable } from './keepable';
import { recorded } from './light';
import { patiently, readForStep, stepOf, withSlots, type SoFar } from './record';
import { scopeOf } from './scope';
import { stepEnd, writeStepEnd, type Effect } from './step-end';

export interface StepRun<Type extends StepType> extends SoFar {
  step: StepOf<Type>;
  scope: Record<string, unknown>;
  /** Names the effect for ever: `<execution>:<path>`. Providers get it as idempotency key. */
  key: string;
  input: StepInput;
  signal: AbortSignal;
  /** From one, as `attemptNumber` counts. */
  attempt: number;
  /** How long the attempt may take by the step's own word. The engine's limit is longer: what it ends, nobody counts. */
  limits: { timeoutMs?: number };
}

const HEARTBEAT_MS = 3_000;
/** An effect that takes longer is shown as running where it was not recorded when it began. */
const SHOWN_AFTER_MS = 1_000;
const EFFECTS_REMEMBERED_MAX = 5_000;

/** Effects this worker has had but could not record yet: a repeat must write them down, not have them again. */
const unrecorded = new Map<string, Effect>();

function remember(key: string, effect: Effect): void {
  unrecorded.set(key, effect);
  if (unrecorded.size <= EFFECTS_REMEMBERED_MAX) return;
  const oldest = unrecorded.keys().next();
  if (!oldest.done) unrecorded.delete(oldest.value);
}

const resultOf = (record: ExecutionRecord, input: StepInput): StepResult => ({
  ...recorded(record, input, [input.slot]),
  credits: record.steps[input.slot]?.credits_used ?? 0,
});

/** A step that failed for good, and was passed over, is not tried anew by an engine that has lost its data. */
function refuseFailed(record: ExecutionRecord, slot: number): void {
  const { status, error } = record.steps[slot] ?? {};
  if (status === 'failed' && error) throw permanent(error.code, error.message);
}

interface Options<Type extends StepType> {
  type: Type;
  attemptsMax: number;
  settled?: (record: ExecutionRecord) => void;
  /** Told of an effect that was had and cannot be kept. */
  lost?: (effect: Effect) => Promise<void>;
}

/** An attempt that a cancel broke off may have arrived: the trace must not say that the step never ran. */
async function noteCutOff(deps: Deps, { execution_id: id, slot: index }: StepInput): Promise<void> {
  const { scheduledTimestampMs: begunMs } = activityInfo();
  const why = cancellationDetails();
  // A worker that shuts down leaves the step to another one.
  if (!why?.cancelRequested && !why?.notFound) return;
  const startedAt = new Date(begunMs);
  const step = {
    id,
    index,
    startedAt,
    now: deps.clock.now(),
    attempts: attemptNumber(),
    onlyCancelled: !why.cancelRequested,
  };
  await patiently(() => writeCutOff(deps.store, step));
  deps.cache.drop(id);
}

/** Shows why the step is tried again. What cannot be shown now is shown by the next attempt, or by the end. */
async function noteRetry(deps: Deps, { execution_id: id, slot: index }: StepInput, failure: unknown): Promise<void> {
  if (!(failure instanceof ApplicationFailure) || failure.nonRetryable) return;
  const { scheduledTimestampMs: begunMs } = activityInfo();
  const error = { code: failure.type ?? 'step_failed', message: failure.message };
  const failed = { id, index, startedAt: new Date(begunMs), attempts: attemptNumber(), error };
  await writeAttempt(deps.store, failed).catch((cause: unknown) => {
    deps.log.warn('an attempt is not shown', { execution: id, error: cause });
  });
}

/** What the engine is told of an attempt that threw, and what its step's record is. */
async function failureOf(deps: Deps, input: StepInput, error: unknown, attemptsMax: number): Promise<unknown> {
  const failure = effectFailure(error, { attempts: attemptNumber() }, attemptsMax);
  // One that was broken off may have reached the outside, so it counts.
  if (error instanceof CancelledFailure) await noteCutOff(deps, input);
  else if (failure !== error) await noteRetry(deps, input, failure);
  // What we wait for ourselves is no failure of the step.
  else leaveOut();
  return failure;
}

type Work<Type extends StepType> = (run: StepRun<Type>) => Promise<Effect>;

/** The effect of this attempt, or the one that an attempt before it could not record. */
async function effectOf<Type extends StepType>(run: StepRun<Type>, work: Work<Type>): Promise<Effect> {
  const remembered = isAttemptFirst() ? undefined : unrecorded.get(run.key);
  if (remembered) return remembered;
  const had = await work(run);
  remember(run.key, had);
  return had;
}

/** Shows a step that takes long, with what came before it. What cannot be shown now is shown by its end. */
async function shown<Result>(
  deps: Deps,
  { record, input }: Pick<StepRun<StepType>, 'record' | 'input'>,
  startedAt: Date,
  work: () => Promise<Result>,
): Promise<Result> {
  const { execution_id: id, slot: index, pure } = input;
  if (record.steps[index]?.status !== 'pending') return work();
  const timer = setTimeout(() => {
    deps.background.run('showing a step', () => writeStart(deps.store, { id, index, startedAt, pure }));
  }, SHOWN_AFTER_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}

/** True when what an effect left behind will not be kept, however often it is written. */
const isRefused = (error: unknown): boolean => error instanceof ApplicationFailure && error.nonRetryable === true;

async function attemptStep<Type extends StepType>(
  deps: Deps,
  run: StepRun<Type>,
  options: Options<Type>,
  work: Work<Type>,
): Promise<StepResult> {
  const { input, stored, record } = run;
  const startedAt = record.steps[input.slot]?.started_at ?? deps.clock.now();
  const effect = await shown(deps, run, startedAt, () => effectOf(run, work));
  const end = stepEnd(input.slot, effect, { startedAt, now: deps.clock.now(), attempt: run.attempt });
  try {
    refuseUnkeepable(withSlots(record, [end]), input.slot, input.asked);
    const written = await patiently(() => writeStepEnd(deps, input, { stored, record, end }));
    unrecorded.delete(run.key);
    options.settled?.(written);
    return resultOf(written, input);
  } catch (error) {
    if (!isRefused(error)) throw error;
    unrecorded.delete(run.key);
    await patiently(async () => options.lost?.(effect));
    throw error;
  }
}

/** Runs an effect at most once as far as this worker can tell, and records it. */
export async function runStep<Type extends StepType>(
  deps: Deps,
  input: StepInput,
  options: Options<Type>,
  work: Work<Type>,
): Promise<StepResult> {
  let { attemptsMax } = options;
  try {
    const soFar = await readForStep(deps, input, isAttemptFirst());
    const { record } = soFar;
    const isDone = record.steps[input.slot]?.status === 'completed';
    if (isDone) options.settled?.(record);
    if (isDone || hasEnded(record.status)) return resultOf(record, input);
    refuseFailed(record, input.slot);
    const { path, step } = stepOf(record, input.slot);
    attemptsMax = step.retry?.max_attempts ?? attemptsMax;
    const run: StepRun<Type> = {
      ...soFar,
      step: step as StepOf<Type>,
      scope: scopeOf(record, deps.config.publicUrl),
      key: `${input.execution_id}:${path}`,
      input,
      signal: cancellationSignal(),
      attempt: attemptNumber(),
      limits: step.timeout === undefined ? {} : { timeoutMs: durationMs(step.timeout) },
    };
    return await attemptStep(deps, run, options, work);
  } catch (error) {
    throw await failureOf(deps, input, error, attemptsMax);
  }
}

/** Heartbeats while an outside effect runs, so that its cancellation arrives and a dead worker is noticed. */
export async function beating<Result>(work: () => Promise<Result>): Promise<Result> {
  beginCount();
  const timer = setInterval(beat, HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
