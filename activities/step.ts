/** The frame around every step effect: read the execution, skip what is done, run the effect, write its record. */
import {
  activityInfo,
  cancellationDetails,
  CancelledFailure,
  cancellationSignal,
  heartbeat,
} from '@temporalio/activity';
import type { StepInput, StepResult, Tried } from '../src/contracts/messages';
import type { StepOf, StepType } from '../src/contracts/step';
import { durationMs } from '../src/domain/durations';
import { writeCutOff, writeExecution, writeLateStep } from '../src/store/execution-writes';
import { hasEnded, type ExecutionRecord, type StepSlot } from '../src/store/executions';
import type { Deps } from './deps';
import { effectFailure } from './failures';
import { recorded, withLight } from './light';
import { keep, patiently, readForStep, readRunning, refuseTooLarge, stepOf } from './record';
import { scopeOf } from './scope';

/** What an effect leaves behind. */
export interface Effect {
  output: Record<string, unknown>;
  credits?: number;
  model?: Record<string, unknown>;
  usage?: Record<string, unknown>;
}

export interface StepRun<Type extends StepType> {
  step: StepOf<Type>;
  record: ExecutionRecord;
  scope: Record<string, unknown>;
  /** Names the effect for ever: `<execution>:<path>`. Providers get it as idempotency key. */
  key: string;
  input: StepInput;
  signal: AbortSignal;
  attempt: number;
  /** How long the attempt may take by the step's own word. The engine's limit is longer: what it ends, nobody counts. */
  limits: { timeoutMs?: number };
}

const HEARTBEAT_MS = 3_000;
const EFFECTS_REMEMBERED_MAX = 5_000;

/** Effects this worker has had but could not record yet: a repeat must write them down, not have them again. */
const unrecorded = new Map<string, Effect>();

function remember(key: string, effect: Effect): void {
  unrecorded.set(key, effect);
  if (unrecorded.size <= EFFECTS_REMEMBERED_MAX) return;
  const oldest = unrecorded.keys().next();
  if (!oldest.done) unrecorded.delete(oldest.value);
}

const isAttemptFirst = (): boolean => activityInfo().attempt === 1;

const resultOf = (record: ExecutionRecord, input: StepInput): StepResult => ({
  ...recorded(record, input, [input.slot]),
  credits: record.steps[input.slot]?.credits_used ?? 0,
});

const doneFields = (effect: Effect, times: { startedAt: Date; now: Date; attempt: number }): Partial<StepSlot> => ({
  status: 'completed',
  output: effect.output,
  error: null,
  attempts: times.attempt,
  credits_used: effect.credits ?? 0,
  started_at: times.startedAt,
  completed_at: times.now,
  ...(effect.model ? { model: effect.model } : {}),
  ...(effect.usage ? { usage: effect.usage } : {}),
});

interface Done {
  record: ExecutionRecord;
  effect: Effect;
  startedAt: Date;
}

/** Writes the step's record, with the pure steps before it, the light ones behind it and what comes next. */
async function writeStep(deps: Deps, input: StepInput, { record, effect, startedAt }: Done): Promise<ExecutionRecord> {
  const now = deps.clock.now();
  const slot = { index: input.slot, fields: doneFields(effect, { startedAt, now, attempt: activityInfo().attempt }) };
  const credits = effect.credits ?? 0;
  const written = await writeExecution(deps.store, {
    id: input.execution_id,
    now,
    pure: input.pure,
    credits,
    ...withLight(deps, record, input, [slot]),
  });
  if (written) return keep(deps, written);
  await writeLateStep(deps.store, input.execution_id, slot, credits);
  deps.cache.drop(input.execution_id);
  return readRunning(deps, { execution_id: input.execution_id, seq: -1 });
}

interface Options<Type extends StepType> {
  type: Type;
  attemptsMax: number;
  settled?: (record: ExecutionRecord) => void;
}

/** An attempt that a cancel broke off may have arrived: the trace must not say that the step never ran. */
async function noteCutOff(deps: Deps, { execution_id: id, slot: index }: StepInput): Promise<void> {
  const { attempt, scheduledTimestampMs: begunMs } = activityInfo();
  const why = cancellationDetails();
  // A worker that shuts down leaves the step to another one.
  if (!why?.cancelRequested && !why?.notFound) return;
  const startedAt = new Date(begunMs);
  const step = { id, index, startedAt, now: deps.clock.now(), attempts: attempt, onlyCancelled: !why.cancelRequested };
  await patiently(() => writeCutOff(deps.store, step));
  deps.cache.drop(id);
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

async function attemptStep<Type extends StepType>(
  deps: Deps,
  run: StepRun<Type>,
  options: Options<Type>,
  work: Work<Type>,
): Promise<StepResult> {
  const { input, record } = run;
  const startedAt = record.steps[input.slot]?.started_at ?? deps.clock.now();
  const done = { record, effect: await effectOf(run, work), startedAt };
  refuseTooLarge(done.effect.output, record, run.step.id);
  const written = await patiently(() => writeStep(deps, input, done));
  unrecorded.delete(run.key);
  options.settled?.(written);
  return resultOf(written, input);
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
    const record = await readForStep(deps, input, isAttemptFirst());
    const isDone = record.steps[input.slot]?.status === 'completed';
    if (isDone) options.settled?.(record);
    if (isDone || hasEnded(record.status)) return resultOf(record, input);
    const { path, step } = stepOf(record, input.slot);
    attemptsMax = step.retry?.max_attempts ?? attemptsMax;
    const { attempt } = activityInfo();
    const run: StepRun<Type> = {
      step: step as StepOf<Type>,
      record,
      scope: scopeOf(record, deps.config.publicUrl),
      key: `${input.execution_id}:${path}`,
      input,
      signal: cancellationSignal(),
      attempt,
      limits: step.timeout === undefined ? {} : { timeoutMs: durationMs(step.timeout) },
    };
    return await attemptStep(deps, run, options, work);
  } catch (error) {
    if (error instanceof CancelledFailure) await noteCutOff(deps, input);
    throw effectFailure(error, attemptsMax);
  }
}

/** Heartbeats while an outside effect runs, so that its cancellation arrives and a dead worker is noticed. */
export async function beating<Result>(work: () => Promise<Result>): Promise<Result> {
  const tried: Tried = { attempts: activityInfo().attempt };
  const timer = setInterval(() => heartbeat(tried), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
