/** A workflow that is started while its record is written, and a record that comes after an outage of minutes. */
import { readConfig } from '../../src/config';
import type { AgentDefinition } from '../../src/contracts/agent';
import { workflowIdOf } from '../../src/contracts/messages';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { findExecution, openExecution, type ExecutionRecord } from '../../src/store/executions';
import { startedAhead } from '../support/ahead-of-record';
import { joinStack, waitFor, type Harness } from '../support/harness';

let harness: Harness;
let engine: Engine;
/** Their minute begins at the same time. */
let givesUp: ExecutionRecord;
let hasGivenUp: ExecutionRecord[];
beforeAll(async () => {
  harness = joinStack();
  engine = connectEngine(readConfig(harness.address.env).temporal);
  const vars = { type: 'set_variables' as const, id: 'vars', values: { a: 1 } };
  const mail = { type: 'notification' as const, channel: 'email' as const, recipients: ['a@example.com'], body: 'Hi' };
  givesUp = await startedUnopened([vars]);
  hasGivenUp = [
    await startedUnopened([vars]),
    await startedUnopened([{ ...mail, id: 'mail', subject: 'Hello', on_error: 'continue' }]),
  ];
});
afterAll(async () => {
  await engine.close();
  await harness.close();
});

/** Longer than a workflow waits for its record, twice. */
const GIVEN_UP_WITHIN_MS = 150_000;

const startedUnopened = async (steps: AgentDefinition['steps']): Promise<ExecutionRecord> =>
  (await startedAhead({ harness, engine }, steps)).record;

const statusOf = async (id: string) =>
  (await engine.client.workflow.getHandle(workflowIdOf(id)).describe()).status.name;

async function runs({ _id: id, org_id: orgId }: ExecutionRecord): Promise<void> {
  const done = await waitFor(async () => {
    const read = await findExecution(harness.store, orgId, id);
    return read?.completed_at && read;
  });
  expect(done).toMatchObject({ status: 'completed', error: null, steps: [{ status: 'completed', attempts: 1 }] });
  expect(await waitFor(async () => (await statusOf(id)) === 'COMPLETED')).toBe(true);
}

test('when the record comes while the workflow is giving up, the agent still runs', async () => {
  const handle = engine.client.workflow.getHandle(workflowIdOf(givesUp._id));
  const hasFailed = async () =>
    (await handle.fetchHistory()).events?.some(({ markerRecordedEventAttributes: marker }) => marker?.failure);
  await waitFor(hasFailed, { timeoutMs: GIVEN_UP_WITHIN_MS, what: 'its first activity has failed' });
  await openExecution(harness.store, givesUp);
  await runs(givesUp);
}, 240_000);

test('when the record comes after the workflow has given up, the agent still runs, once and from its beginning', async () => {
  for (const { _id: id } of hasGivenUp)
    await waitFor(async () => (await statusOf(id)) === 'FAILED', { timeoutMs: GIVEN_UP_WITHIN_MS });
  // The API is back: its relay finds the event and writes the record.
  for (const record of hasGivenUp) await openExecution(harness.store, record);
  for (const record of hasGivenUp) await runs(record);
}, 240_000);
