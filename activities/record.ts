/** The record an activity works on: reading it, finding steps in it, and writing with patience. */
import { activityInfo, ApplicationFailure } from '@temporalio/activity';
import { ORPHAN_WORKFLOW, type StepInput } from '../src/contracts/messages';
import { flattenSteps } from '../src/domain/plan';
import { beginExecution, pureSlots, unended, type SlotWrite } from '../src/store/execution-writes';
import { hasEnded, type ExecutionRecord } from '../src/store/executions';
import type { Deps } from './deps';
import { isStoreRefusal } from '../src/store/outages';
import { permanent, unkeepable } from './failures';

/** A workflow is started while its record is written; the relay writes one that a killed process did not. */
const RECORD_AWAITED_MS = 60_000;
const RECORD_RETRY = '100ms';
const STORE_PATIENCE_MS = 20_000;
const STORE_RETRY_MS = 250;

/** The definition of the step in a slot, from the snapshot the execution runs by. */
export function stepOf(record: ExecutionRecord, slot: number) {
  const found = flattenSteps(record.definition.steps)[slot];
  if (!found) throw permanent('invalid_state', `Execution ${record._id} has no step ${slot}.`);
  return found;
}

function noRecord(id: string): ApplicationFailure {
  const message = `Execution ${id} has no record.`;
  if (Date.now() - activityInfo().scheduledTimestampMs > RECORD_AWAITED_MS) return permanent(ORPHAN_WORKFLOW, message);
  return ApplicationFailure.create({ message, type: 'RecordAwaited', nextRetryDelay: RECORD_RETRY });
}

/** Reads the execution an activity works on. */
export async function readRunning(
  deps: Pick<Deps, 'cache'>,
  input: { execution_id: string; seq: number },
): Promise<ExecutionRecord> {
  const record = await deps.cache.read(input.execution_id, input.seq);
  if (!record) throw noRecord(input.execution_id);
  return record;
}

/** Marks an execution running that is still pending; answers it as it is, whoever began it. */
export async function begin(deps: Deps, id: string, first: number | undefined): Promise<ExecutionRecord> {
  const begun = await beginExecution(deps.store, { id, now: deps.clock.now(), first });
  return afterWrite(deps, id, begun);
}

/** The record as it is once the given steps are written. */
export function withSlots(record: ExecutionRecord, slots: readonly SlotWrite[]): ExecutionRecord {
  const steps = [...record.steps];
  for (const { index, fields } of slots) {
    const slot = steps[index];
    if (slot) steps[index] = { ...slot, ...fields };
  }
  return { ...record, steps };
}

/** An execution that a step works on. */
export interface SoFar {
  stored: ExecutionRecord;
  /**
   * What is stored, with the steps that the workflow worked out by itself since. Those are written with the step that
   * reads this, so its texts would not see them in the store.
   */
  record: ExecutionRecord;
}

/** The execution as it went so far. */
export async function readSoFar(
  deps: Pick<Deps, 'cache'>,
  input: Pick<StepInput, 'execution_id' | 'seq' | 'pure'>,
): Promise<SoFar> {
  const stored = await readRunning(deps, input);
  return { stored, record: withSlots(stored, unended(stored, pureSlots(input.pure))) };
}

/** The execution a step works on. The first step begins it, unless an attempt before this one did. */
export async function readForStep(deps: Deps, input: StepInput, isAttemptFirst: boolean): Promise<SoFar> {
  if (input.begins) {
    const begun = await begin(deps, input.execution_id, input.slot);
    return { stored: begun, record: begun };
  }
  // Another attempt may have written in between, so only the first trusts this worker's copy.
  return readSoFar(deps, { ...input, seq: isAttemptFirst ? input.seq : -1 });
}

/** Keeps what was just written at hand, and counts the run when this write ended it. */
export function keep(deps: Pick<Deps, 'cache' | 'tallies'>, written: ExecutionRecord): ExecutionRecord {
  deps.cache.put(written);
  if (hasEnded(written.status)) deps.tallies.add(written);
  return written;
}

/** The execution after a write: as it was written, or as it is when another write came first. */
export const afterWrite = async (deps: Deps, id: string, written: ExecutionRecord | null): Promise<ExecutionRecord> =>
  written ? keep(deps, written) : readRunning(deps, { execution_id: id, seq: -1 });

/** Keeps trying a store operation for a while: an effect that was had should be written down by who had it. */
export async function patiently<Result>(operation: () => Promise<Result>): Promise<Result> {
  const until = performance.now() + STORE_PATIENCE_MS;
  for (;;) {
    try {
      return await operation();
    } catch (error) {
      if (isStoreRefusal(error)) throw unkeepable(error);
      if (performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, STORE_RETRY_MS));
    }
  }
}
