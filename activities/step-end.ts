/** The end of a step: what its effect left behind, written once, whoever writes it and however often. */
import type { StepInput } from '../src/contracts/messages';
import { writeExecution } from '../src/store/execution-rounds';
import { writeLateStep } from '../src/store/execution-writes';
import type { ExecutionRecord, StepSlot } from '../src/store/executions';
import type { Deps } from './deps';
import { withLight } from './light';
import { keep, readRunning, type SoFar } from './record';

/** What an effect leaves behind. */
export interface Effect {
  output: Record<string, unknown>;
  credits?: number;
  model?: Record<string, unknown>;
  usage?: Record<string, unknown>;
}

/** The end of a step as one attempt knows it. The moment tells its own write from one of another attempt. */
export interface StepEnd {
  index: number;
  fields: Partial<StepSlot> & { completed_at: Date };
}

export const stepEnd = (
  index: number,
  effect: Effect,
  times: { startedAt: Date; now: Date; attempt: number },
): StepEnd => ({
  index,
  fields: {
    status: 'completed',
    output: effect.output,
    error: null,
    attempts: times.attempt,
    credits_used: effect.credits ?? 0,
    started_at: times.startedAt,
    completed_at: times.now,
    ...(effect.model ? { model: effect.model } : {}),
    ...(effect.usage ? { usage: effect.usage } : {}),
  },
});

/** Writes the step's record, with the pure steps before it, the light ones behind it and what comes next. */
export async function writeStepEnd(
  deps: Pick<Deps, 'cache' | 'clock' | 'config' | 'store' | 'tallies'>,
  input: StepInput,
  { stored, record, end }: SoFar & { end: StepEnd },
): Promise<ExecutionRecord> {
  const { _id: id } = record;
  const now = end.fields.completed_at;
  const credits = end.fields.credits_used ?? 0;
  const written = await writeExecution(deps.store, {
    known: stored,
    now,
    pure: input.pure,
    credits,
    ends: end.index,
    ...withLight(deps, record, input, [end]),
  });
  if (written) return keep(deps, written);
  await writeLateStep(deps.store, id, end, credits);
  deps.cache.drop(id);
  const found = await readRunning(deps, { execution_id: id, seq: -1 });
  // This write was made, and its reply lost: the run that it ended has not been counted.
  return found.status === 'completed' && found.completed_at?.getTime() === now.getTime() ? keep(deps, found) : found;
}
