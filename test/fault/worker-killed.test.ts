import { activeAgent, definitionWith, GATE, mailTo, openGateOf, REASON, run } from '../support/agents';
import { joinStack, text, waitFor, waitForExecution, type Harness } from '../support/harness';
import { mailbox } from '../support/mailbox';
import { creditSums } from '../support/records';
import { startModelApi } from '../support/stand-ins/model-api';
import { startStack, type Stack } from '../support/stack';

let stack: Stack;
let harness: Harness;
let model: Awaited<ReturnType<typeof startModelApi>>;

beforeAll(async () => {
  model = await startModelApi();
  stack = await startStack({
    env: { AI_PROVIDER: 'openai_compatible', AI_BASE_URL: model.url, AI_API_KEY: 'test', AI_MODEL_QUICK: 'small' },
  });
  harness = joinStack(stack);
}, 240_000);

afterAll(async () => {
  await harness.close();
  await stack.stop();
  await model.stop();
});

/** Two passes of the sweep, and the minute before which it leaves a booking to the worker. */
const BOOKED_WITHIN_MS = 180_000;

jest.setTimeout(BOOKED_WITHIN_MS + 120_000);

const DEFINITION = definitionWith([REASON, GATE, mailTo('oncall@example.com')]);

async function finishes(org: Awaited<ReturnType<Harness['newOrg']>>, id: string): Promise<void> {
  const done = await waitForExecution(org, id, ['completed', 'failed', 'cancelled'], 60_000);
  expect(done['status']).toBe('completed');
  expect(await mailbox(stack.inboxUrl, id)).toHaveLength(1);
  // A call is booked behind its record; what the killed worker had still to book is the sweep's.
  const sums = await waitFor(
    async () => {
      const seen = await creditSums(harness.store, org.id);
      return seen.held === 0 && seen;
    },
    { timeoutMs: BOOKED_WITHIN_MS, what: 'the call is booked' },
  );
  expect(sums).toMatchObject({ total: 1, byAgent: 1, byModel: 1, bySteps: 1, byExecutions: 1, held: 0 });
}

test('killed in the middle of an AI step, the step runs again elsewhere, its credits count once and the mail leaves once', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, DEFINITION);
  model.setDelay(4_000);
  const before = model.requests.length;
  const id = await run(org);
  await waitFor(async () => model.requests.length > before, { what: 'the model is being asked' });
  await stack.worker.kill();
  model.setDelay(0);
  await stack.worker.start();
  const gate = await openGateWithin(org, id);
  await org.call('POST', `/agents/api/approvals/${gate}/decision`, { decision: 'approved' });
  await finishes(org, id);
});

test('killed while it waits at the gate, the execution goes on after the decision', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, DEFINITION);
  const id = await run(org);
  const gate = text((await openGateOf(org, id))['id']);
  await stack.worker.kill();
  await stack.worker.start();
  expect((await org.call('POST', `/agents/api/approvals/${gate}/decision`, { decision: 'approved' })).status).toBe(200);
  await finishes(org, id);
});

test('killed between the decision and the resumption, the decision still takes effect', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, DEFINITION);
  const id = await run(org);
  const gate = text((await openGateOf(org, id))['id']);
  await stack.worker.kill();
  expect((await org.call('POST', `/agents/api/approvals/${gate}/decision`, { decision: 'approved' })).status).toBe(200);
  await stack.worker.start();
  await finishes(org, id);
});

async function openGateWithin(org: Awaited<ReturnType<Harness['newOrg']>>, id: string): Promise<string> {
  await waitForExecution(org, id, ['waiting_approval'], 60_000);
  return text((await openGateOf(org, id))['id']);
}
