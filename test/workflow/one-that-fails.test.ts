/** One record that fails in every pass of the relay or the sweep: everybody else's work is done all the same. */
import { readConfig } from '../../src/config';
import { monthOf } from '../../src/domain/credits';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { claimSlot, readRuntime } from '../../src/store/agents';
import { approvals } from '../../src/store/approvals';
import { credits, ensureMonth, reserve } from '../../src/store/credits';
import { events, recordEvent } from '../../src/store/events';
import { executions, openExecution } from '../../src/store/executions';
import { activeAgent, definitionWith, GATE, openGateOf, run, VARIABLES } from '../support/agents';
import { sweep } from '../support/engine';
import { joinStack, text, waitFor, waitForExecution, type Harness } from '../support/harness';
import { brokenAgent, storedAgent, unopenedEvent, unopenedRecord } from '../support/records';

const MINUTE = 60_000;
const ago = (milliseconds: number): Date => new Date(Date.now() - milliseconds);
const STEPS = [{ type: 'set_variables' as const, id: 'vars', values: { a: 1 } }];

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

test('an event that cannot be opened does not keep the relay from decisions behind it', async () => {
  const { store } = harness;
  const broken = await harness.newOrg();
  const agentId = await brokenAgent(store, broken.id);
  const { record } = await recordEvent(store, unopenedEvent(broken.id, agentId, ago(MINUTE)));
  try {
    const org = await harness.newOrg();
    await activeAgent(org, definitionWith([GATE, VARIABLES]));
    const id = await run(org);
    const gate = text((await openGateOf(org, id))['id']);
    // As the API leaves it when it dies between the decision and the signal; the sweep would come after half a minute.
    const decided = { status: 'approved' as const, decided_by: 'usr_test', decided_via: 'api' as const };
    await approvals.in(store).updateOne({ _id: gate }, { $set: { ...decided, decided_at: new Date() } });
    expect((await waitForExecution(org, id, ['completed'], 15_000))['status']).toBe('completed');
    expect((await events.in(store).findById(record._id).lean())?.opening).toBe(true);
  } finally {
    await events.in(store).deleteOne({ _id: record._id });
  }
});

test('a call that cannot be judged does not keep the sweep from what comes behind it', async () => {
  const { store } = harness;
  const org = await harness.newOrg();
  const agentId = await storedAgent(store, org.id, STEPS, 'custom.broken');
  const record = await unopenedRecord(store, { orgId: org.id, agentId, now: ago(5 * MINUTE), payload: {} });
  await openExecution(store, { ...record, status: 'completed', start_pending: false, steps: null as never });
  const month = monthOf(new Date());
  await ensureMonth(store, { orgId: org.id, month, allocation: 100 }, new Date());
  const held = { orgId: org.id, month, id: `${record._id}:0`, agentId, tier: 'quick' as const, credits: 7 };
  await reserve(store, held, { begun: ago(120 * MINUTE), now: ago(120 * MINUTE) });
  const draft = text((await org.call('POST', '/agents/api/agents', definitionWith([VARIABLES]))).body['id']);
  await claimSlot(store, { orgId: org.id, agentId: draft, now: ago(2 * MINUTE) }, 5);
  try {
    await sweep(engine);
    const freed = await waitFor(async () => !(draft in (await readRuntime(store, org.id)).active));
    expect(freed).toBe(true);
  } finally {
    await credits.in(store).deleteOne({ org_id: org.id });
    await executions.in(store).deleteOne({ _id: record._id });
  }
});
