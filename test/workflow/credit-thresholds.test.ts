/** An org is told when most of its credits of the month are used, and when all of them are: once each. */
import { readConfig } from '../../src/config';
import { monthOf } from '../../src/domain/credits';
import { newId } from '../../src/domain/ids';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { ensureMonth, reserve, settle } from '../../src/store/credits';
import { activeAgent, definitionWith } from '../support/agents';
import { sweep } from '../support/engine';
import { joinStack, list, text, waitForExecution, type Body, type Harness, type TestOrg } from '../support/harness';

const LEFT = { type: 'set_variables', id: 'left', values: { left: '{{event_payload.remaining}}' } };

let harness: Harness;
let engine: Engine;
let org: TestOrg;

beforeAll(() => {
  harness = joinStack();
  engine = connectEngine(readConfig(harness.address.env).temporal);
});
beforeEach(async () => {
  org = await harness.newOrg();
  const trigger = { type: 'bus_event', event_type: 'credits.threshold', source_product: 'agents', filters: [] };
  await activeAgent(org, definitionWith([LEFT], { trigger }));
});
afterAll(async () => {
  await engine.close();
  await harness.close();
});

/** A call of the org, which has ten credits, that costs so many. */
async function use(used: number): Promise<void> {
  const now = new Date();
  const month = monthOf(now);
  await ensureMonth(harness.store, { orgId: org.id, month, allocation: 10 }, now);
  const call = { orgId: org.id, month, id: newId('exe'), agentId: 'agt_x', tier: 'quick', credits: 1 } as const;
  await reserve(harness.store, call, { begun: now, now });
  await settle(harness.store, call, used, now);
}

/** What the agent that listens was started with, oldest first. */
async function heard(): Promise<Body[]> {
  const { body } = await org.call('GET', '/agents/api/executions');
  const ids = list(body['executions']).map(({ id }) => text(id));
  const ended = await Promise.all(ids.map((id) => waitForExecution(org, id, ['completed'])));
  const payloads = ended.map(({ trigger_event: event }) => event?.['payload'] as Body);
  return payloads.sort((one, other) => Number(one['percent']) - Number(other['percent']));
}

test('agents hear of 80 percent and of all, once each, and of nothing before', async () => {
  const month = monthOf(new Date());
  await use(7);
  await sweep(engine);
  expect(await heard()).toEqual([]);
  await use(1);
  await sweep(engine);
  await sweep(engine);
  const most = { percent: 80, remaining: 2, total_used: 8, allocation: 10, month };
  expect(await heard()).toEqual([most]);
  await use(1);
  await sweep(engine);
  expect(await heard()).toEqual([most]);
  await use(2);
  await sweep(engine);
  await sweep(engine);
  expect(await heard()).toEqual([most, { percent: 100, remaining: -1, total_used: 11, allocation: 10, month }]);
});

test('of both where one call uses all', async () => {
  await use(10);
  await sweep(engine);
  expect((await heard()).map(({ percent }) => percent)).toEqual([80, 100]);
});
