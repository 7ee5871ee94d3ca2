/** A step that an operator completed in the engine: what they gave is its output, whatever it is. */
import type { StepInput, StepResult } from '../src/contracts/messages';
import { writeExecution } from '../src/store/execution-rounds';
import type { SlotWrite } from '../src/store/execution-writes';
import { hasEnded } from '../src/store/executions';
import { OPERATOR } from './approvals';
import type { Deps } from './deps';
import { giveBack } from './holding';
import { refuseUnkeepable } from './keepable';
import { recorded, withLight } from './light';
import { afterWrite, patiently, readSoFar, withSlots } from './record';

function outputOf(given: unknown): Record<string, unknown> {
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  return { ...(isObject ? given : { result: given ?? null }), completed_by: OPERATOR };
}

/** Records the step as completed by hand, unless an attempt that was under way has recorded its own end meanwhile. */
export async function recordByHand(deps: Deps, input: StepInput & { given?: unknown }): Promise<StepResult> {
  const { execution_id: id, slot: index } = input;
  const { stored, record } = await readSoFar(deps, { ...input, seq: -1 });
  const { status, attempts = 0, started_at: startedAt } = record.steps[index] ?? {};
  if (status === 'completed' || hasEnded(record.status)) return { ...recorded(record, input, [index]), credits: 0 };
  const now = deps.clock.now();
  const end: SlotWrite = {
    index,
    fields: {
      status: 'completed',
      output: outputOf(input.given),
      error: null,
      attempts: Math.max(attempts, 1),
      started_at: startedAt ?? now,
      completed_at: now,
    },
  };
  refuseUnkeepable(withSlots(record, [end]), index, input.asked);
  // Its call is not made again, and nobody books what it held once it counts as completed.
  await giveBack(deps, record, [index]);
  const written = await patiently(() =>
    writeExecution(deps.store, {
      known: stored,
      now,
      pure: input.pure,
      ends: index,
      ...withLight(deps, record, input, [end]),
    }),
  );
  return { ...recorded(await afterWrite(deps, id, written), input, [index]), credits: 0 };
}
