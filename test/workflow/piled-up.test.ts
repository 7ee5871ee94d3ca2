/** More that fails for good than one pass takes: what comes behind it is done all the same. */
import { readConfig } from '../../src/config';
import { TIMED_EVENTS } from '../../src/contracts/messages';
import { executionIdFor, newId } from '../../src/domain/ids';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { resourceOf } from '../../src/resources/registry';
import { events } from '../../src/store/events';
import { executions } from '../../src/store/executions';
import { documentsOf } from '../../src/store/resource-documents';
import { activeAgent, definitionWith, run, VARIABLES } from '../support/agents';
import { runOnce, sweep } from '../support/engine';
import { joinStack, text, waitFor, waitForExecution, type Harness, type TestOrg } from '../support/harness';
import { brokenAgent, storedAgent, unopenedEvent, unopenedRecord } from '../support/records';

const MINUTE = 60_000;
const ago = (milliseconds: number): Date => new Date(Date.now() - milliseconds);
const STEPS = [{ type: 'set_variables' as const, id: 'vars', values: { a: 1 } }];
/** More than the relay takes at once. */
const MANY = 130;
const each = <Made>(make: () => Made): Made[] => Array.from({ length: MANY }, make);

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

test('events that can never be opened do not keep the relay from those behind them', async () => {
  const { store } = harness;
  const [one, other] = [await harness.newOrg(), await harness.newOrg()];
  const broken = await brokenAgent(harness.store, one.id);
  const whole = await storedAgent(store, other.id, STEPS, 'custom.broken');
  const behind = unopenedEvent(other.id, whole, ago(5 * MINUTE));
  await events.in(store).insertMany(each(() => unopenedEvent(one.id, broken, ago(10 * MINUTE))));
  try {
    await events.in(store).create(behind);
    const id = executionIdFor(whole, behind.event_id, 1);
    const found = await waitFor(() => executions.in(store).findById(id).lean(), { timeoutMs: 20_000 });
    expect(found).toMatchObject({ org_id: other.id });
  } finally {
    await events.in(store).deleteMany({ org_id: one.id });
  }
}, 60_000);

test('executions that the engine can never be given do not keep the relay from those behind them', async () => {
  const { store } = harness;
  const [one, other] = [await harness.newOrg(), await harness.newOrg()];
  const agentId = await storedAgent(store, one.id, STEPS);
  const record = await unopenedRecord(store, { orgId: one.id, agentId, now: ago(10 * MINUTE), payload: {} });
  const broken = () => ({ ...record, _id: newId('exe'), definition: {} as never, touched_at: new Date() });
  await executions.in(store).insertMany(each(broken));
  try {
    const whole = await storedAgent(store, other.id, STEPS);
    const late = await unopenedRecord(store, { orgId: other.id, agentId: whole, now: ago(5 * MINUTE), payload: {} });
    await executions.in(store).create({ ...late, touched_at: new Date() });
    expect((await waitForExecution(other, late._id, ['completed'], 20_000))['status']).toBe('completed');
  } finally {
    await executions.in(store).deleteMany({ org_id: one.id });
  }
}, 60_000);

test('a record whose moment cannot be worked out does not keep other records from theirs', async () => {
  const [one, other] = [await harness.newOrg(), await harness.newOrg()];
  const device = async (org: TestOrg, fields: Record<string, unknown>): Promise<string> => {
    const company = await org.call('POST', '/crm/api/companies', { name: 'Northwind' });
    const server = { hostname: 'srv', companyId: company.body['id'], deviceType: 'server', status: 'online' };
    const made = await org.call('POST', '/rmm/api/devices', server);
    const id = text(made.body['id']);
    await documentsOf(harness.store, resourceOf('devices')).collection.updateOne({ _id: id } as never, {
      $set: fields,
    });
    return id;
  };
  const broken = await device(one, { lastSeenAt: 'long ago', due: ago(120 * MINUTE) });
  try {
    const id = await device(other, { lastSeenAt: ago(90 * MINUTE), due: ago(60 * MINUTE) });
    await runOnce(engine, TIMED_EVENTS, 'rmm');
    expect((await other.call('GET', `/rmm/api/devices/${id}`)).body).toMatchObject({ status: 'offline' });
  } finally {
    await documentsOf(harness.store, resourceOf('devices')).collection.deleteOne({ _id: broken } as never);
  }
}, 60_000);

test('an execution that cannot be repaired is not the first that the next sweep looks at', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([VARIABLES]));
  const id = await run(org);
  await waitForExecution(org, id, ['completed']);
  // As an older copy of the store has it, and as nothing writes it.
  const broken = { status: 'running', definition: {}, touched_at: ago(10 * MINUTE) };
  await executions.in(harness.store).collection.updateOne({ _id: id } as never, { $set: broken });
  try {
    await sweep(engine);
    const record = await executions.in(harness.store).findById(id).lean();
    expect(record?.touched_at.getTime()).toBeGreaterThan(ago(MINUTE).getTime());
  } finally {
    await executions.in(harness.store).deleteOne({ _id: id });
  }
}, 60_000);
