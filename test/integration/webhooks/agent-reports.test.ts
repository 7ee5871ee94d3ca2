/** What agents report about their own work reaches webhooks, and never an agent. */
import { executions } from '../../../src/store/executions';
import { activeAgent, definitionWith, fire, GATE, openGateOf, run, VARIABLES } from '../../support/agents';
import { text, waitFor, waitForExecution, type Harness, type TestOrg } from '../../support/harness';
import { eachInOwnOrg, receiver, register } from './support';

let harness: Harness;
let org: TestOrg;
eachInOwnOrg(
  (joined) => (harness = joined),
  (given) => (org = given),
);

type Sink = Awaited<ReturnType<typeof receiver>>;
const typesOf = (sink: Sink): string[] => sink.requests.map(({ body }) => (body as { type: string }).type).toSorted();

test('an approved run reports that it waits, the approval, and its end', async () => {
  const sink = await receiver(() => ({ status: 200 }));
  await register(org, sink.url, { eventTypes: ['agents:*'] });
  await activeAgent(org, definitionWith([GATE, VARIABLES]));
  const id = await run(org);
  const gate = text((await openGateOf(org, id))['id']);
  await waitFor(async () => sink.requests.length === 2);
  await org.call('POST', `/agents/api/approvals/${gate}/decision`, { decision: 'approved' });
  await waitForExecution(org, id, ['completed']);
  await waitFor(async () => sink.requests.length === 4);
  expect(typesOf(sink)).toEqual([
    'approval.approved',
    'approval.requested',
    'execution.completed',
    'execution.waiting_approval',
  ]);
  const end = sink.requests.find(({ body }) => (body as { type: string }).type === 'execution.completed');
  expect(end?.body).toMatchObject({
    sourceProduct: 'agents',
    data: { id, executionId: id, status: 'completed', trigger: 'psa:custom.test' },
  });
}, 60_000);

test('denied, cancelled and failed runs report how they ended', async () => {
  const sink = await receiver(() => ({ status: 200 }));
  await register(org, sink.url, {
    eventTypes: ['agents:execution.cancelled', 'agents:execution.failed', 'agents:approval.denied'],
  });
  await activeAgent(org, definitionWith([GATE]));
  const denied = await run(org);
  await org.call('POST', `/agents/api/approvals/${text((await openGateOf(org, denied))['id'])}/decision`, {
    decision: 'denied',
  });
  const cancelled = await run(org);
  await openGateOf(org, cancelled);
  await org.call('POST', `/agents/api/executions/${cancelled}/cancel`);
  await waitFor(async () => sink.requests.length === 4);
  expect(typesOf(sink)).toEqual(['approval.denied', 'approval.denied', 'execution.cancelled', 'execution.cancelled']);
}, 60_000);

test('no agent can be told to start on a report, and one that comes from outside is refused', async () => {
  const created = await org.call('POST', '/agents/api/agents', {
    ...definitionWith([VARIABLES]),
    trigger: { type: 'bus_event', event_type: 'execution.completed', source_product: 'agents', filters: [] },
  });
  expect([created.status, created.text]).toEqual([400, expect.stringContaining('unknown_event_type')]);
  const forged = await org.call('POST', '/agents/api/events/ingest', {
    event_type: 'execution.completed',
    source_product: 'agents',
    payload: {},
  });
  expect(forged.status).toBe(404);
});

test('without an endpoint that listens, an execution is not marked and reports nothing', async () => {
  const sink = await receiver(() => ({ status: 200 }));
  await register(org, sink.url, { eventTypes: ['psa:custom.*'] });
  await activeAgent(org, definitionWith([VARIABLES]));
  const [id] = await fire(org);
  await waitForExecution(org, id ?? '', ['completed']);
  const record = await executions.in(harness.store).findById(id).lean();
  expect(record?.watched).toBeUndefined();
  await waitFor(async () => sink.requests.length > 0);
  expect(typesOf(sink)).toEqual(['custom.test']);
});
