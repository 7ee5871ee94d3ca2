/**
 * Light steps: `set_variables`, values with their placeholders filled in. They touch nothing outside, so a row of them
 * is worked out in memory and recorded with the step before it, in one write.
 */
import { ApplicationFailure } from '@temporalio/activity';
import type { StepInput, StepResult } from '../src/contracts/messages';
import { renderValue } from '../src/domain/text';
import { writeExecution } from '../src/store/execution-rounds';
import type { SlotWrite, Write } from '../src/store/execution-writes';
import { hasEnded, type ExecutionRecord } from '../src/store/executions';
import type { Deps } from './deps';
import { permanent } from './failures';
import { refuseUnkeepable } from './keepable';
import { afterWrite, patiently, readSoFar, stepOf, withSlots } from './record';
import { factsOf, scopeOf } from './scope';

/** What light steps are worked out with. */
type Tools = Pick<Deps, 'clock' | 'config'>;

type Followed = Pick<StepInput, 'light' | 'next' | 'completes' | 'asked'>;

function workOut(deps: Tools, record: ExecutionRecord, index: number, asked: readonly string[]): SlotWrite {
  const { step } = stepOf(record, index);
  if (step.type !== 'set_variables') throw new Error(`step ${step.id} is not a light one`);
  const now = deps.clock.now();
  const output = renderValue(step.values, scopeOf(record, deps.config.publicUrl)) as Record<string, unknown>;
  const fields = { output, error: null, attempts: 1, credits_used: 0, started_at: now, completed_at: now };
  const slot: SlotWrite = { index, fields: { status: 'completed', ...fields } };
  refuseUnkeepable(withSlots(record, [slot]), index, asked);
  return slot;
}

interface WorkedOut {
  slots: SlotWrite[];
  /** One that fails is left for its own turn, where its failure is its own; so are those behind it. */
  isAll: boolean;
}

/** The light steps as far as they go, without those that are recorded already. */
function workOutAll(deps: Tools, record: ExecutionRecord, { light, asked }: Followed): WorkedOut {
  const slots: SlotWrite[] = [];
  let current = record;
  try {
    for (const index of light) {
      if (record.steps[index]?.status === 'completed') continue;
      const slot = workOut(deps, current, index, asked);
      slots.push(slot);
      current = withSlots(current, [slot]);
    }
  } catch {
    return { slots, isAll: false };
  }
  return { slots, isAll: true };
}

/** A write of steps with the light ones behind them and, when all of those went well, whatever comes next. */
export function withLight(
  deps: Tools,
  record: ExecutionRecord,
  input: Followed,
  slots: SlotWrite[],
): Pick<Write, 'slots' | 'next' | 'status'> {
  const light = workOutAll(deps, withSlots(record, slots), input);
  const all = [...slots, ...light.slots];
  if (!light.isAll) return { slots: all };
  return { slots: all, next: input.next, ...(input.completes ? { status: 'completed' } : {}) };
}

/** How many of the light steps the record holds, and what conditions ask for of them and of the steps before. */
export function recorded(
  record: ExecutionRecord,
  input: Pick<StepInput, 'light' | 'asked'>,
  slots: readonly number[],
): Omit<StepResult, 'credits'> {
  const open = input.light.findIndex((index) => record.steps[index]?.status !== 'completed');
  const light = open === -1 ? input.light.length : open;
  const facts = [...slots, ...input.light.slice(0, light)].map((index) => factsOf(record, index, input.asked));
  const { seq, status } = record;
  return { seq, status, ended: hasEnded(status), facts: Object.assign({}, ...facts) as StepResult['facts'], light };
}

/** Runs a light step, with those behind it. */
export async function setVariables(deps: Deps, input: StepInput): Promise<StepResult> {
  const { stored, record } = await readSoFar(deps, input);
  const answer = (now: ExecutionRecord): StepResult => ({ ...recorded(now, input, [input.slot]), credits: 0 });
  if (record.steps[input.slot]?.status === 'completed' || hasEnded(record.status)) return answer(record);
  let first: SlotWrite;
  try {
    first = workOut(deps, record, input.slot, input.asked);
  } catch (error) {
    // Worked out from what is stored, so another attempt would fail in the same way.
    throw error instanceof ApplicationFailure ? error : permanent('step_failed', String(error));
  }
  const written = await patiently(() =>
    writeExecution(deps.store, {
      known: stored,
      now: deps.clock.now(),
      pure: input.pure,
      ends: input.slot,
      ...withLight(deps, record, input, [first]),
    }),
  );
  return answer(await afterWrite(deps, input.execution_id, written));
}
