/** What an AI step holds is given back as soon as it has failed for good; attempts that are followed by another keep it. */
import { AsyncCompletionClient } from '@temporalio/client';
import { join } from 'node:path';
import { choosePort } from '../../scripts/services/ports';
import { readConfig } from '../../src/config';
import { workflowIdOf } from '../../src/contracts/messages';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { openStore, type OpenStore } from '../../src/store/connect';
import { activeAgent, definitionWith, GATE, openGateOf, REASON, run, stepOf } from '../support/agents';
import {
  createOrg,
  joinStack,
  waitFor,
  waitForExecution,
  type Body,
  type Harness,
  type TestOrg,
} from '../support/harness';
import { productProcess, type ProductProcess } from '../support/processes';
import { creditSums } from '../support/records';
import { startModelApi, type ModelApi } from '../support/stand-ins/model-api';
import { temporalCommand } from '../support/temporal-cli';

const processes: ProductProcess[] = [];
let model: ModelApi;
let store: OpenStore;
let engine: Engine;
let org: TestOrg;
let newOrg: () => Promise<TestOrg>;
let address: Harness['address'];

/** An api and a worker of their own, whose model fails as the test says. */
beforeAll(async () => {
  const harness = joinStack();
  address = harness.address;
  await harness.close();
  model = await startModelApi();
  const port = String(await choosePort());
  const ai = { AI_PROVIDER: 'openai_compatible', AI_BASE_URL: model.url, AI_API_KEY: 'test', AI_MODEL_QUICK: 'small' };
  const env = { ...address.env, ...ai, PORT: port, TEMPORAL_TASK_QUEUE: 'failed-calls' };
  const start = async (name: 'api' | 'worker', script: string): Promise<void> => {
    const logFile = join(process.cwd(), `.signalbox/test-logs/${name}-failed-calls.log`);
    const product = productProcess({ script, env, readyText: `"msg":"${name} ready"`, logFile });
    processes.push(product);
    await product.start();
  };
  await Promise.all([start('api', 'src/main.ts'), start('worker', 'worker/main.ts')]);
  store = openStore(address.env['MONGODB_URI'] ?? '');
  engine = connectEngine(readConfig(env).temporal);
  newOrg = () => createOrg(store, { ...address, env, baseUrl: `http://127.0.0.1:${port}` });
});
beforeEach(async () => {
  model.setDelay(0);
  org = await newOrg();
});

afterAll(async () => {
  await Promise.all(processes.map((product) => product.stop()));
  await Promise.all([store.close(), engine.close(), model.stop()]);
});

const TWICE = { retry: { max_attempts: 2, initial: '1s', max: '1s' } };
const SCHEMA = { output_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } };
const GOES_ON = { ...TWICE, on_error: 'continue' };
const SOON = { type: 'delay', id: 'soon', for: '1s' };
const unavailable = () => ({ raw: { status: 503, body: {} } });

async function start(...steps: object[]): Promise<string> {
  await activeAgent(org, definitionWith(steps as Record<string, unknown>[]));
  return run(org);
}

const sums = () => creditSums(store, org.id);
const thinkOf = (execution: Body): Body => stepOf(execution, 'think');

/** What a step costs is booked behind its record; all figures are one number then, and nothing is held. */
async function expectBooked(total: number): Promise<void> {
  await waitFor(async () => (await sums()).held === 0, { what: 'nothing is held' });
  expect(await sums()).toEqual({ total, byAgent: total, byModel: total, bySteps: total, byExecutions: total, held: 0 });
}

test.each([
  ['as the first step', [{ ...REASON, ...GOES_ON }, GATE]],
  ['behind a delay', [SOON, { ...REASON, ...GOES_ON }, GATE]],
])('a step that failed for good holds nothing while its execution goes on: %s', async (_name, steps) => {
  model.setReply(unavailable);
  const asked = model.requests.length;
  const id = await start(...steps);
  await openGateOf(org, id);
  expect(model.requests.length - asked).toBe(2);
  expect(await sums()).toMatchObject({ total: 0, bySteps: 0, held: 0 });
  await org.call('POST', `/agents/api/executions/${id}/cancel`);
});

test.each([
  ['as the first step', [{ ...REASON, ...TWICE }]],
  ['behind a delay', [SOON, { ...REASON, ...TWICE }]],
])('a step that ends its execution holds nothing either: %s', async (_name, steps) => {
  model.setReply(unavailable);
  const ended = await waitForExecution(org, await start(...steps), ['failed']);
  expect(thinkOf(ended)).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
  await expectBooked(0);
});

test('a call that succeeds at the second attempt holds its credits in between, and is booked once', async () => {
  let calls = 0;
  const seen: number[] = [];
  model.setReply(() => ((calls += 1) === 1 ? unavailable() : 'All is well.'));
  const id = await start({ ...REASON, ...GOES_ON }, GATE);
  await waitFor(async () => calls > 0 && seen.push((await sums()).held), { what: 'the first attempt' });
  const waiting = await waitForExecution(org, id, ['waiting_approval']);
  expect(seen[0]).toBe(1);
  expect(thinkOf(waiting)).toMatchObject({ status: 'completed', attempts: 2, credits_used: 1 });
  await org.call('POST', `/agents/api/executions/${id}/cancel`);
  await expectBooked(1);
});

test('tokens of an answer that was of no use are booked once, although the execution goes on', async () => {
  model.setReply(() => 'no object at all');
  const id = await start({ ...REASON, ...GOES_ON, ...SCHEMA }, GATE);
  await openGateOf(org, id);
  const waiting = await waitForExecution(org, id, ['waiting_approval']);
  expect(thinkOf(waiting)).toMatchObject({ status: 'failed', credits_used: 1, error: { code: 'invalid_output' } });
  await expectBooked(1);
});

test.each([
  ['ends its execution', [REASON], ['failed']],
  ['is passed over', [{ ...REASON, ...GOES_ON }, GATE], ['waiting_approval']],
])('an answer that is too large to be kept is paid for all the same, and its step %s', async (_name, steps, ends) => {
  model.setReply(() => ({ text: 'word '.repeat(200_000), usage: { input_tokens: 1_000, output_tokens: 20_000 } }));
  const asked = model.requests.length;
  const ended = await waitForExecution(org, await start(...steps), ends);
  // 81,000 weighted tokens are 11 blocks.
  expect(thinkOf(ended)).toMatchObject({
    status: 'failed',
    credits_used: 11,
    error: { code: 'output_too_large' },
    usage: { output_tokens: 20_000 },
    model: { name: 'small' },
  });
  expect(model.requests.length - asked).toBe(1);
  await expectBooked(11);
});

test('a call that an operator completes in the engine is not made again, and holds nothing', async () => {
  model.setReply(unavailable);
  const id = await start({ ...REASON, retry: { max_attempts: 2, initial: '1h', max: '1h' } }, GATE);
  await waitFor(async () => {
    const { pendingActivities } = await engine.client.workflow
      .getHandle(workflowIdOf(id))
      .describe()
      .then(({ raw }) => raw);
    return pendingActivities?.[0]?.lastFailure;
  });
  expect((await sums()).held).toBe(1);
  const activity = { workflowId: workflowIdOf(id), activityId: '1' };
  await new AsyncCompletionClient({ connection: engine.client.connection }).complete(activity, {
    text: 'All is well.',
  });
  await openGateOf(org, id);
  const { body } = await org.call('GET', `/agents/api/executions/${id}`);
  expect(thinkOf(body)).toMatchObject({ status: 'completed', credits_used: 0, output: { text: 'All is well.' } });
  await org.call('POST', `/agents/api/executions/${id}/cancel`);
  await expectBooked(0);
});

const COSTLY = { input_tokens: 80_000, output_tokens: 2_000 };

test('what attempts have spent before the model failed is charged, although none of them ended with an answer', async () => {
  // The first answer is of no use, and the question to mend it fails.
  model.setReply(({ messages }) => (messages.length > 1 ? unavailable() : { text: 'no object', usage: COSTLY }));
  const id = await start({ ...REASON, ...TWICE, ...SCHEMA });
  const ended = await waitForExecution(org, id, ['failed']);
  // Twice 88,000 weighted tokens are 22 blocks.
  expect(thinkOf(ended)).toMatchObject({ status: 'failed', credits_used: 22, usage: { input_tokens: 160_000 } });
  expect(thinkOf(ended)).not.toHaveProperty('spent');
  await expectBooked(22);
  const workflow = engine.client.workflow.getHandle(workflowIdOf(id));
  // The engine closes the workflow a little behind its record.
  await workflow.result().catch(() => undefined);
  expect((await workflow.describe()).searchAttributes).toMatchObject({ CreditsUsed: [22] });
});

test('it is part of what the answer costs that comes in the end', async () => {
  let calls = 0;
  model.setReply(() => {
    calls += 1;
    if (calls === 1) return { text: 'no object', usage: COSTLY };
    return calls === 2 ? unavailable() : { text: '{"n": 1}', usage: COSTLY };
  });
  const ended = await waitForExecution(org, await start({ ...REASON, ...TWICE, ...SCHEMA }), ['completed', 'failed']);
  expect(thinkOf(ended)).toMatchObject({ status: 'completed', attempts: 2, credits_used: 22 });
  await expectBooked(22);
});

test('so it is when an operator resets the step, which counts its attempts from one again', async () => {
  let calls = 0;
  model.setReply(({ messages }) => {
    if (messages.length > 1) return unavailable();
    calls += 1;
    return { text: calls === 3 ? '{"n": 1}' : 'no object', usage: COSTLY };
  });
  const id = await start({ ...REASON, ...SCHEMA, retry: { max_attempts: 2, initial: '1h', max: '1h' } });
  const workflow = engine.client.workflow.getHandle(workflowIdOf(id));
  for (const call of [1, 2]) {
    const waitsForReset = async (): Promise<boolean> => {
      const [pending] = (await workflow.describe()).raw.pendingActivities ?? [];
      return calls === call && pending?.attempt === 2;
    };
    await waitFor(waitsForReset, { what: `call ${call} to fail` });
    await temporalCommand({ address }, 'activity', 'reset', '--workflow-id', workflowIdOf(id), '--activity-id', '1');
  }
  const ended = await waitForExecution(org, id, ['completed', 'failed']);
  expect(thinkOf(ended)).toMatchObject({ status: 'completed', credits_used: 33, usage: { input_tokens: 240_000 } });
  await expectBooked(33);
});

test.each([
  ['answers all the same', 2_500, 1],
  ['is broken off', 30_000, 0],
])(
  'a call that a cancel finds under way is charged once, by whether it brought an answer: it %s',
  async (_name, delayMs, total) => {
    model.setReply(() => 'All is well.');
    model.setDelay(delayMs);
    const asked = model.requests.length;
    const id = await start(REASON);
    await waitFor(async () => Promise.resolve(model.requests.length > asked), { what: 'the call' });
    await org.call('POST', `/agents/api/executions/${id}/cancel`);
    await waitForExecution(org, id, ['cancelled']);
    if (total > 0) await waitFor(async () => (await sums()).bySteps === total, { what: 'the late answer' });
    await expectBooked(total);
  },
);
