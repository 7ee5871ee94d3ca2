/** What an execution can keep of a step's output. What it cannot is refused for good: another attempt would bring the same. */
import { isDeeperThan } from '../src/domain/depth';
import { unstorablePlace, whyUnstorable } from '../src/domain/stored-names';
import { storedBytes } from '../src/store/document-size';
import type { ExecutionRecord, StepSlot } from '../src/store/executions';
import { permanent } from './failures';
import { factsOf } from './scope';

/** A record holds the outputs of all its steps, and a document of the store at most 16 MB. */
const OUTPUT_BYTES_MAX = 512 * 1024;
const OUTPUTS_BYTES_MAX = 8 * 1024 * 1024;
/** Up to here not even a hundred steps come near the limits, so nothing is added up. */
const SMALL_OUTPUT_BYTES = 64 * 1024;
/** Stores take documents of a hundred levels; the record has a few of its own. */
const DEPTH_MAX = 80;
/** What conditions ask for is kept in the workflow's history, where a message may have 2 MB. */
const FACTS_BYTES_MAX = 512 * 1024;

function refuseLarge(record: ExecutionRecord, slot: number): void {
  const step = record.steps[slot];
  const bytes = storedBytes(step?.output ?? {});
  if (bytes <= SMALL_OUTPUT_BYTES) return;
  const kept = record.steps.reduce((sum, { output }) => sum + storedBytes(output), 0);
  if (bytes <= OUTPUT_BYTES_MAX && kept <= OUTPUTS_BYTES_MAX) return;
  throw permanent(
    'output_too_large',
    `The output of step ${step?.step_id} takes ${bytes} bytes in the store; a step keeps at most ${OUTPUT_BYTES_MAX}, all steps together ${OUTPUTS_BYTES_MAX}.`,
  );
}

function refuseNames(step: StepSlot | undefined): void {
  const place = unstorablePlace(step?.output);
  if (place === null) return;
  throw permanent(
    'invalid_output',
    `The output of step ${step?.step_id} cannot be stored: the name of its field ${place.replaceAll('\0', '\\u0000')} ${whyUnstorable(place)}.`,
  );
}

/** Refuses what the step in a slot of the record would leave behind, if it cannot be stored or handed on. */
export function refuseUnkeepable(record: ExecutionRecord, slot: number, asked: readonly string[]): void {
  const step = record.steps[slot];
  if (isDeeperThan(step?.output, DEPTH_MAX))
    throw permanent('invalid_output', `The output of step ${step?.step_id} is nested deeper than ${DEPTH_MAX} levels.`);
  // Before sizes are taken: the driver cannot measure an object with such a name either.
  refuseNames(step);
  refuseLarge(record, slot);
  const facts = Buffer.byteLength(JSON.stringify(factsOf(record, slot, asked)));
  if (facts <= FACTS_BYTES_MAX) return;
  throw permanent(
    'output_too_large',
    `Conditions ask for ${facts} bytes after step ${step?.step_id}, and can see at most ${FACTS_BYTES_MAX}: name the values they compare instead of what these are in.`,
  );
}
