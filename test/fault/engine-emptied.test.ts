/** The engine comes back without its data, under workers that go on: what it is to do over and over is there again. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readConfig } from '../../src/config';
import { connectEngine } from '../../src/engine/connect';
import { TIMED_PRODUCTS } from '../../src/events/timed';
import { executions } from '../../src/store/executions';
import { activeAgent, definitionWith, GATE, mailTo, openGateOf, run } from '../support/agents';
import { scheduleIds } from '../support/engine';
import { joinStack, text, waitFor, waitForExecution, type Harness } from '../support/harness';
import { mailbox } from '../support/mailbox';
import { startStack, type Stack } from '../support/stack';

let stack: Stack;
let harness: Harness;

beforeAll(async () => {
  stack = await startStack();
  harness = joinStack(stack);
}, 240_000);
afterAll(async () => {
  await harness.close();
  await stack.stop();
});

test('repairs and timed events go on, and with them the executions that it has forgotten', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([mailTo('a@example.com'), GATE]));
  const id = await run(org);
  const gate = text((await openGateOf(org, id))['id']);

  await stack.services.engine.kill();
  rmSync(join(stack.dataDir, 'engine'), { recursive: true });
  await stack.services.engine.start();
  const touched = { touched_at: new Date(Date.now() - 5 * 60_000) };
  await executions.in(harness.store).updateOne({ _id: id }, { $set: touched });

  const engine = connectEngine(readConfig(stack.env).temporal);
  const wanted = ['signalbox-sweep', ...TIMED_PRODUCTS.map((product) => `signalbox-timed-${product}`)].toSorted();
  const isComplete = async (): Promise<boolean> => isDeepStrictEqual(await scheduleIds(engine), wanted);
  await waitFor(isComplete, { timeoutMs: 90_000, what: 'the schedules are back' });
  // Its own time comes within a minute.
  await engine.client.schedule.getHandle('signalbox-sweep').trigger();
  await engine.close();

  expect((await org.call('POST', `/agents/api/approvals/${gate}/decision`, { decision: 'approved' })).status).toBe(200);
  await waitForExecution(org, id, ['completed'], 150_000);
  expect(await mailbox(stack.inboxUrl, id)).toHaveLength(1);
}, 300_000);
