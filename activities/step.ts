/** The frame around every step effect: read the execution, skip what is done, run the effect, write its record. */
import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import type { StepInput, StepResult } from '../src/contracts/messages';
import type { StepOf, StepType } from '../src/contracts/step';
import { writeExecution, writeLateStep } from '../src/store/execution-writes';
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

/** Runs an effect at most once as far as this worker can tell, and records it. */
export async function runStep<Type extends StepType>(
  deps: Deps,
  input: StepInput,
  options: { type: Type; attemptsMax: number; settled?: (record: ExecutionRecord) => void },
  effect: (run: StepRun<Type>) => Promise<Effect>,
): Promise<StepResult> {
  const record = await readForStep(deps, input, isAttemptFirst());
  const slot = record.steps[input.slot];
  if (slot?.status === 'completed') {
    options.settled?.(record);
    return resultOf(record, input);
  }
  if (hasEnded(record.status)) return resultOf(record, input);
  const { path, step } = stepOf(record, input.slot);
  const key = `${input.execution_id}:${path}`;
  const startedAt = slot?.started_at ?? deps.clock.now();
  const run: StepRun<Type> = {
    step: step as StepOf<Type>,
    record,
    scope: scopeOf(record, deps.config.publicUrl),
    key,
    input,
    signal: cancellationSignal(),
    attempt: activityInfo().attempt,
  };
  let had = isAttemptFirst() ? undefined : unrecorded.get(key);
  if (!had) {
    had = await effect(run).catch((error: unknown) => {
      throw effectFailure(error, step.retry?.max_attempts ?? options.attemptsMax);
    });
    remember(key, had);
  }
  const done = { record, effect: had, startedAt };
  refuseTooLarge(had.output, record, step.id);
  const written = await patiently(() => writeStep(deps, input, done));
  unrecorded.delete(key);
  options.settled?.(written);
  return resultOf(written, input);
}

/** Heartbeats while an outside effect runs, so that its cancellation arrives and a dead worker is noticed. */
export async function beating<Result>(work: () => Promise<Result>): Promise<Result> {
  const timer = setInterval(() => heartbeat(), HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
