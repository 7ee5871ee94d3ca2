import { setTimeout as pause } from 'node:timers/promises';
import { readConfig } from '../../src/config';
import { workflowIdOf } from '../../src/contracts/messages';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { openExecution } from '../../src/store/executions';
import { startedAhead } from '../support/ahead-of-record';
import { joinStack, list, text, waitFor, waitForExecution, type Harness } from '../support/harness';
import { playScenario, SCENARIOS } from '../support/scenarios';

let harness: Harness;
let engine: Engine;

beforeAll(() => {
  harness = joinStack();
  engine = connectEngine(readConfig(harness.address.env).temporal);
});
afterAll(async () => {
  await engine.close();
  await harness.close();
});

/** How the workflow closes for each end of the record. */
const CLOSES: Record<string, string[]> = {
  completed: ['COMPLETED'],
  failed: ['FAILED'],
  // A denial ends the workflow as failed: only a cancel request can make the engine say cancelled.
  cancelled: ['CANCELLED', 'FAILED'],
};

describe.each(SCENARIOS)('$name', (scenario) => {
  test('ends as it should, in the record and in the engine', async () => {
    const execution = await playScenario(scenario, harness, engine);
    expect({
      status: execution['status'],
      reason: execution['status_reason'],
      steps: list(execution['steps']).map((step) => text(step['status'])),
    }).toEqual(scenario.ends);
    const workflow = engine.client.workflow.getHandle(workflowIdOf(text(execution['id'])));
    const status = await waitFor(
      async () => {
        const { name } = (await workflow.describe()).status;
        return name === 'RUNNING' ? null : name;
      },
      { what: 'the workflow closes' },
    );
    expect(CLOSES[scenario.ends.status]).toContain(status);
  });
});

test.each([
  ['a light step', [{ type: 'set_variables' as const, id: 'one', values: { one: 1 } }]],
  ['an AI step', [{ type: 'ai_reason' as const, id: 'think', tier: 'quick' as const, prompt: 'Summarise' }]],
])('a workflow that is ahead of its record waits for it: %s', async (_name, steps) => {
  const { org, record } = await startedAhead({ harness, engine }, steps);
  await pause(1_000);
  await openExecution(harness.store, record);
  expect((await waitForExecution(org, record._id, ['completed']))['status']).toBe('completed');
  const status = await waitFor(async () => {
    const { name } = (await engine.client.workflow.getHandle(workflowIdOf(record._id)).describe()).status;
    return name === 'RUNNING' ? null : name;
  });
  expect(status).toBe('COMPLETED');
});

test('an execution of three recorded steps costs few history events, so that large fleets stay affordable', async () => {
  const [linear] = SCENARIOS;
  if (!linear) throw new Error('no scenario');
  const execution = await playScenario(linear, harness, engine);
  const history = await engine.client.workflow.getHandle(workflowIdOf(text(execution['id']))).fetchHistory();
  expect(history.events?.length ?? 0).toBeLessThanOrEqual(30);
});
