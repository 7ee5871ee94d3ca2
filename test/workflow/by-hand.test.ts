/** An operator completes a step in the engine, as one does who has done by hand what it could not. */
import { setTimeout as pause } from 'node:timers/promises';
import { workflowIdOf } from '../../src/contracts/messages';
import { activeAgent, definitionWith, run } from '../support/agents';
import { joinStack, list, waitFor, waitForExecution, type Harness, type TestOrg } from '../support/harness';
import { startHttpServer, type HttpStandIn } from '../support/stand-ins/http-server';
import { temporalCommand } from '../support/temporal-cli';

let harness: Harness;
let stub: HttpStandIn;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  stub = await startHttpServer(() => ({ status: 503 }));
});
beforeEach(async () => {
  org = await harness.newOrg();
});
afterAll(async () => {
  await stub.stop();
  await harness.close();
});

const AGAIN = { retry: { max_attempts: 3, initial: '1h', max: '1h' } };
const call = () => ({ type: 'http_request', id: 'call', method: 'POST', url: `${stub.url}/away`, ...AGAIN });
const NOTE = { type: 'set_variables', id: 'note', values: { was: '{{steps.call.output.body.ticket}}' } };
const IS_DONE = { field: 'steps.call.output.body.ticket', operator: 'eq', value: 7 };
const LATER = { type: 'set_variables', id: 'later', values: { a: 'b' }, when: IS_DONE };

/** Runs the steps until the first waits for its second attempt; answers the execution's id. */
async function stuck(...steps: object[]): Promise<string> {
  await activeAgent(org, definitionWith(steps as Record<string, unknown>[]));
  const id = await run(org);
  await waitFor(async () => {
    const { body } = await org.call('GET', `/agents/api/executions/${id}`);
    return list(body['steps'])[0]?.['error'] ? body : undefined;
  });
  return id;
}

async function complete(id: string, result: string): Promise<void> {
  const workflow = ['--workflow-id', workflowIdOf(id)];
  // The attempt is shown as failed a moment before the engine hears of it.
  await pause(500);
  await temporalCommand(harness, 'activity', 'complete', ...workflow, '--activity-id', '1', '--result', result);
}

test('what the operator gives is the output, the trace says who, and the steps behind it run', async () => {
  const id = await stuck(call(), NOTE, LATER);
  await complete(id, '{"status": 200, "body": {"ticket": 7}}');
  const { steps } = await waitForExecution(org, id, ['completed']);
  expect(steps).toMatchObject([
    { status: 'completed', attempts: 1, error: null, output: { status: 200, completed_by: 'temporal:operator' } },
    { status: 'completed', output: { was: 7 } },
    { status: 'completed', output: { a: 'b' } },
  ]);
});

test.each([
  ['null', null],
  ['"done"', 'done'],
  ['[1]', [1]],
])('a result of %s is kept as `result`', async (given, result) => {
  const id = await stuck(call(), { ...NOTE, values: { was: 'x' } });
  await complete(id, given);
  const { steps } = await waitForExecution(org, id, ['completed']);
  expect(steps).toMatchObject([
    { status: 'completed', output: { result, completed_by: 'temporal:operator' } },
    { status: 'completed', output: { was: 'x' } },
  ]);
});

test('one that cannot be kept fails the step', async () => {
  const id = await stuck(call(), NOTE);
  await complete(id, '{"a\\u0000b": 1}');
  const { steps } = await waitForExecution(org, id, ['failed']);
  expect(steps).toMatchObject([{ status: 'failed', error: { code: 'invalid_output' } }, { status: 'skipped' }]);
});
