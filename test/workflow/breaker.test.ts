/** An agent whose runs keep failing is stopped: seen, told once, and startable again. */
import { readConfig } from '../../src/config';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { agents, readRuntime } from '../../src/store/agents';
import { auditEntries } from '../../src/store/audit';
import { events } from '../../src/store/events';
import { subjectsTo } from '../support/mailbox';
import { newUser } from '../integration/auth/support';
import { receiver, register } from '../integration/webhooks/support';
import { activeAgent, definitionWith, fire, run, VARIABLES } from '../support/agents';
import { sweep } from '../support/engine';
import {
  joinStack,
  list,
  text,
  waitFor,
  waitForExecution,
  type Body,
  type Harness,
  type TestOrg,
} from '../support/harness';

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

jest.setTimeout(60_000);

const IN_A_ROW = 5;
/** Fails at once and for good: an address inside the network is not asked. */
const FORBIDDEN = { type: 'http_request', id: 'ask', method: 'GET', url: 'http://169.254.169.254/' };

async function failTimes(org: TestOrg, times: number): Promise<string[]> {
  const ids: string[] = [];
  for (let turn = 0; turn < times; turn += 1) {
    const id = await run(org);
    await waitForExecution(org, id, ['failed']);
    ids.push(id);
  }
  return ids;
}

const readAgent = async (org: TestOrg, id: string): Promise<Body> =>
  (await org.call('GET', `/agents/api/agents/${id}`)).body;

const untilStopped = (org: TestOrg, id: string): Promise<Body> =>
  waitFor(async () => {
    const agent = await readAgent(org, id);
    return text(agent['status']) === 'error' && agent;
  });

test('five failed runs in a row stop it, its slot is free, and the trail says so', async () => {
  const org = await harness.newOrg();
  const id = await activeAgent(org, definitionWith([FORBIDDEN]));
  const failed = await failTimes(org, IN_A_ROW);
  const agent = await untilStopped(org, id);
  expect(agent['error_info']).toEqual({
    code: 'runs_failed_in_a_row',
    message: 'The last 5 runs failed; the newest with blocked_address.',
    since: expect.any(String) as unknown,
    execution_ids: failed.toReversed(),
  });
  await waitFor(async () => (await readRuntime(harness.store, org.id)).active_count === 0);
  const trail = await waitFor(async () => {
    const [entry] = await auditEntries.in(harness.store).find({ orgId: org.id, action: 'agent.stopped' }).lean().exec();
    return entry;
  });
  expect(trail).toMatchObject({
    actor: { kind: 'system', id: 'system:breaker' },
    target: { kind: 'agent', id },
    details: { code: 'runs_failed_in_a_row' },
  });

  // No event starts it, and whoever asks is told why.
  expect(await fire(org)).toEqual([]);
  const found = await org.call('GET', '/agents/api/agents?status=error');
  expect(list(found.body['agents']).map((one) => one['id'])).toEqual([id]);
});

test('owners are told once, however many repairs meet', async () => {
  const org = await harness.newOrg();
  const address = (await newUser(harness.store, org.id)).email;
  const id = await activeAgent(org, definitionWith([FORBIDDEN], { name: 'Asks too much' }));
  await failTimes(org, IN_A_ROW);
  await untilStopped(org, id);
  await Promise.all([sweep(engine), sweep(engine), sweep(engine)]);
  await waitFor(async () => (await subjectsTo(harness.address.inboxUrl, address)).length > 0);
  await sweep(engine);
  expect(await subjectsTo(harness.address.inboxUrl, address)).toEqual(['Agent "Asks too much" was stopped']);
});

test('webhooks are told once each time it is stopped', async () => {
  const org = await harness.newOrg();
  const sink = await receiver(() => ({ status: 200 }));
  await register(org, sink.url, { eventTypes: ['agents:agent.*'] });
  const id = await activeAgent(org, definitionWith([FORBIDDEN], { name: 'Asks too much' }));
  const told = async (times: number): Promise<void> => {
    const failed = await failTimes(org, IN_A_ROW);
    const { version } = await untilStopped(org, id);
    await sweep(engine);
    await waitFor(async () => sink.requests.length >= times);
    expect(sink.requests).toHaveLength(times);
    const code = 'runs_failed_in_a_row';
    expect(sink.requests.at(-1)?.body).toMatchObject({
      type: 'agent.stopped',
      sourceProduct: 'agents',
      data: { id, version, agentName: 'Asks too much', status: 'error', code, executionIds: failed.toReversed() },
    });
  };
  await told(1);
  await org.call('PUT', `/agents/api/agents/${id}`, { status: 'active' });
  await told(2);
  await sink.stop();
});

test('activated again it has a new chance, and shows no error', async () => {
  const org = await harness.newOrg();
  const id = await activeAgent(org, definitionWith([FORBIDDEN]));
  await failTimes(org, IN_A_ROW);
  await untilStopped(org, id);
  const resumed = await org.call('PUT', `/agents/api/agents/${id}`, { status: 'active' });
  expect(resumed.body).toMatchObject({ status: 'active', error_info: null });
  await failTimes(org, IN_A_ROW - 1);
  expect(await readAgent(org, id)).toMatchObject({ status: 'active' });
  await failTimes(org, 1);
  await untilStopped(org, id);
});

test('mended while it is stopped it stays stopped, is told of once, and runs when it is activated', async () => {
  const org = await harness.newOrg();
  const sink = await receiver(() => ({ status: 200 }));
  await register(org, sink.url, { eventTypes: ['agents:agent.*'] });
  const id = await activeAgent(org, definitionWith([FORBIDDEN]));
  await failTimes(org, IN_A_ROW);
  await untilStopped(org, id);
  const mended = await org.call('PUT', `/agents/api/agents/${id}`, { steps: [VARIABLES] });
  expect(mended.body).toMatchObject({ status: 'error', error_info: { code: 'runs_failed_in_a_row' } });
  const asItIs = await org.call('PUT', `/agents/api/agents/${id}`, { status: 'error' });
  expect(asItIs.body).toMatchObject({ status: 'error', error_info: { code: 'runs_failed_in_a_row' } });
  await waitFor(async () => sink.requests.length > 0);
  await sweep(engine);
  const trail = await auditEntries.in(harness.store).countDocuments({ orgId: org.id, action: 'agent.stopped' });
  const told = await events.in(harness.store).countDocuments({ org_id: org.id, event_type: 'agent.stopped' });
  expect({ trail, told }).toEqual({ trail: 1, told: 1 });
  await sink.stop();
  await org.call('PUT', `/agents/api/agents/${id}`, { status: 'active' });
  await waitForExecution(org, await run(org), ['completed']);
});

test('a run that succeeds in between starts the count anew', async () => {
  const org = await harness.newOrg();
  const branch = {
    type: 'branch',
    id: 'which',
    branches: [
      { name: 'bad', when: { field: 'event_payload.name', operator: 'eq', value: 'bad' }, steps: [FORBIDDEN] },
    ],
    else: [VARIABLES],
  };
  const id = await activeAgent(org, definitionWith([branch]));
  const bad = async () => waitForExecution(org, await run(org, { name: 'bad' }), ['failed']);
  for (let turn = 0; turn < IN_A_ROW - 1; turn += 1) await bad();
  await waitForExecution(org, await run(org, { name: 'good' }), ['completed']);
  await bad();
  // Judged behind the answer: the next run's end shows that this one was.
  await bad();
  expect(await readAgent(org, id)).toMatchObject({ status: 'active', error_info: null });
  expect((await agents.in(harness.store).findById(id).lean())?.notice_at).toBeUndefined();
});
