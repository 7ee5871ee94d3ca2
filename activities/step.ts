/** The frame around every step effect: read the execution, skip what is done, run the effect, write its record. */
import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import type { StepInput, StepResult } from '../src/contracts/messages';
import type { StepOf, StepType } from '../src/contracts/step';
import { flattenSteps } from '../src/domain/plan';
import { hasEnded, writeExecution, writeLateStep, type ExecutionRecord, type StepSlot } from '../src/store/executions';
import type { Deps } from './deps';
import { effectFailure, permanent } from './failures';
import { factsOf, scopeOf } from './scope';

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

/** A record holds the outputs of all its steps, and a document of the store at most 16 MB. */
const OUTPUT_BYTES_MAX = 512 * 1024;
const OUTPUTS_BYTES_MAX = 8 * 1024 * 1024;
/** Up to here not even a hundred steps come near the limits, so nothing is added up. */
const SMALL_OUTPUT_BYTES = 64 * 1024;
const HEARTBEAT_MS = 3_000;
const STORE_PATIENCE_MS = 20_000;
const STORE_RETRY_MS = 250;
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

/** Keeps trying a store operation for a while: an effect that was had should be written down by who had it. */
export async function patiently<Result>(operation: () => Promise<Result>): Promise<Result> {
  const until = performance.now() + STORE_PATIENCE_MS;
  for (;;) {
    try {
      return await operation();
    } catch (error) {
      if (error instanceof Error && error.name.startsWith('BSON')) throw permanent('invalid_output', error.message);
      if (performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, STORE_RETRY_MS));
    }
  }
}

const resultOf = (record: ExecutionRecord, input: StepInput): StepResult => ({
  seq: record.seq,
  status: record.status,
  ended: hasEnded(record.status),
  facts: factsOf(record, input.slot, input.asked),
  credits: record.steps[input.slot]?.credits_used ?? 0,
});

/** The definition of the step in a slot, from the snapshot the execution runs by. */
export function stepOf(record: ExecutionRecord, slot: number) {
  const found = flattenSteps(record.definition.steps)[slot];
  if (!found) throw permanent('invalid_state', `Execution ${record._id} has no step ${slot}.`);
  return found;
}

/** Reads the execution an activity works on. */
export async function readRunning(deps: Deps, input: { execution_id: string; seq: number }): Promise<ExecutionRecord> {
  const record = await deps.cache.read(input.execution_id, input.seq);
  if (!record) throw permanent('OrphanWorkflow', `Execution ${input.execution_id} has no record.`);
  return record;
}

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

/** Writes the step's record, with the pure steps before it, the start of the next and the end of the execution if due. */
async function writeStep(deps: Deps, input: StepInput, effect: Effect, startedAt: Date): Promise<ExecutionRecord> {
  const now = deps.clock.now();
  const fields = doneFields(effect, { startedAt, now, attempt: activityInfo().attempt });
  const written = await writeExecution(deps.store, {
    id: input.execution_id,
    now,
    pure: input.pure,
    slot: { index: input.slot, fields },
    next: input.next,
    credits: effect.credits ?? 0,
    ...(input.completes ? { status: 'completed' as const } : {}),
  });
  if (written) {
    deps.cache.put(written);
    if (hasEnded(written.status)) deps.tallies.add(written);
    return written;
  }
  await writeLateStep(deps.store, input.execution_id, { index: input.slot, fields }, effect.credits ?? 0);
  deps.cache.drop(input.execution_id);
  return readRunning(deps, { execution_id: input.execution_id, seq: -1 });
}

const bytesOf = (output: Record<string, unknown>): number => Buffer.byteLength(JSON.stringify(output));

/** Refuses an output that could not be stored, for good: another attempt would bring the same. */
function checkedEffect(effect: Effect, record: ExecutionRecord, stepId: string): Effect {
  const bytes = bytesOf(effect.output);
  if (bytes <= SMALL_OUTPUT_BYTES) return effect;
  const kept = record.steps.reduce((sum, slot) => sum + bytesOf(slot.output), 0);
  if (bytes <= OUTPUT_BYTES_MAX && kept + bytes <= OUTPUTS_BYTES_MAX) return effect;
  throw permanent(
    'output_too_large',
    `The output of step ${stepId} has ${bytes} bytes; a step keeps at most ${OUTPUT_BYTES_MAX}, all steps together ${OUTPUTS_BYTES_MAX}.`,
  );
}

/** Runs an effect at most once as far as this worker can tell, and records it. */
export async function runStep<Type extends StepType>(
  deps: Deps,
  input: StepInput,
  options: { type: Type; attemptsMax: number; settled?: (record: ExecutionRecord) => Promise<void> },
  effect: (run: StepRun<Type>) => Promise<Effect>,
): Promise<StepResult> {
  // Another attempt may have written in between, so only the first trusts this worker's copy.
  const record = await readRunning(deps, { execution_id: input.execution_id, seq: isAttemptFirst() ? input.seq : -1 });
  const slot = record.steps[input.slot];
  if (slot?.status === 'completed') {
    await options.settled?.(record);
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
  const done = checkedEffect(had, record, step.id);
  const written = await patiently(() => writeStep(deps, input, done, startedAt));
  unrecorded.delete(key);
  await options.settled?.(written);
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
