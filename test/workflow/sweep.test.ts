/** The repairs, each against the very state it is for; a healthy system needs none of them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../src/config';
import { workflowIdOf } from '../../src/contracts/messages';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { newId } from '../../src/domain/ids';
import { monthOf, monthsBefore } from '../../src/domain/credits';
import { readStats } from '../../src/store/agent-runs';
import { agents, claimSlot, readRuntime } from '../../src/store/agents';
import { approvals, denyForEnd } from '../../src/store/approvals';
import { auditEntries } from '../../src/store/audit';
import { credits, ensureMonth, readMonth, reserve, settle } from '../../src/store/credits';
import { endExecution } from '../../src/store/execution-writes';
import { executions, openExecution } from '../../src/store/executions';
import { activeAgent, definitionWith, GATE, openGateOf, run, VARIABLES } from '../support/agents';
import { sweep } from '../support/engine';
import { joinStack, list, text, waitFor, waitForExecution, type Harness, type TestOrg } from '../support/harness';
import { unopenedRecord } from '../support/records';

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

const MINUTE = 60_000;
const ago = (milliseconds: number): Date => new Date(Date.now() - milliseconds);

const heldAt = (now: Date) => ({ begun: now, now });

/** Lines of the workers of this stack with that message. */
function logged(message: string): Record<string, unknown>[] {
  const folder = join(process.cwd(), '.signalbox/test-logs');
  const files = readdirSync(folder).filter((name) => name.startsWith('worker-'));
  const lines = files.flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
  return lines
    .filter((line) => line.includes(`"msg":"${message}"`))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const makeQuiet = (id: string) =>
  executions.in(harness.store).updateOne({ _id: id }, { $set: { touched_at: ago(5 * MINUTE) } });

async function waitingExecution(org: TestOrg): Promise<string> {
  await activeAgent(org, definitionWith([GATE, VARIABLES]));
  const id = await run(org);
  await openGateOf(org, id);
  return id;
}

test('a workflow that an operator terminated ends its record as failed and closes its gate', async () => {
  const org = await harness.newOrg();
  const id = await waitingExecution(org);
  await engine.client.workflow.getHandle(workflowIdOf(id)).terminate('test');
  await makeQuiet(id);
  await sweep(engine);
  const ended = await waitForExecution(org, id, ['failed']);
  expect(ended).toMatchObject({ status_reason: 'terminated_by_operator', error: { code: 'terminated_by_operator' } });
  expect(list(ended['steps']).map((step) => step['status'])).toEqual(['skipped', 'skipped']);
  const gate = list((await org.call('GET', `/agents/api/approvals?execution_id=${id}`)).body['approvals'])[0];
  expect(gate).toMatchObject({ status: 'denied', decided_by: 'system:execution_cancelled' });
  const agentId = text(ended['agent_id']);
  const counted = await waitFor(async () => (await readStats(harness.store, org.id, [agentId])).get(agentId));
  expect(counted).toMatchObject({ total: 1, failed: 1 });
});

test('the log says of a repair what was repaired', async () => {
  const org = await harness.newOrg();
  const id = await waitingExecution(org);
  await engine.client.workflow.getHandle(workflowIdOf(id)).terminate('test');
  await makeQuiet(id);
  await sweep(engine);
  await waitForExecution(org, id, ['failed']);
  const line = await waitFor(() => Promise.resolve(logged('repaired').find(({ execution }) => execution === id)));
  expect(line).toMatchObject({ level: 'warn', kind: 'ended' });
});

test('a record that the engine never heard of is started', async () => {
  const org = await harness.newOrg();
  const agentId = await activeAgent(org, definitionWith([VARIABLES]));
  const created = { orgId: org.id, agentId, now: ago(5 * MINUTE), payload: { name: 'Ada' } };
  const record = await unopenedRecord(harness.store, created);
  await openExecution(harness.store, { ...record, start_pending: false });
  await sweep(engine);
  expect((await waitForExecution(org, record._id, ['completed']))['status']).toBe('completed');
});

const workflowOf = (id: string) => engine.client.workflow.getHandle(workflowIdOf(id)).describe();

test.each([
  ['two minutes ago', 2 * MINUTE],
  ['before an outage of the engine that took a day', 24 * 60 * MINUTE],
])('a workflow that still runs although its record was cancelled %s is cancelled too', async (_when, since) => {
  const org = await harness.newOrg();
  const id = await waitingExecution(org);
  await endExecution(harness.store, {
    id,
    orgId: org.id,
    status: 'cancelled',
    reason: 'cancelled_by_user',
    error: null,
    now: ago(since),
  });
  await sweep(engine);
  const status = await waitFor(async () => {
    const { name } = (await workflowOf(id)).status;
    return name === 'RUNNING' ? null : name;
  });
  expect(status).toBe('CANCELLED');
});

test('a cancelled execution is looked at until its workflow has closed, and never again', async () => {
  const org = await harness.newOrg();
  const id = await waitingExecution(org);
  await org.call('POST', `/agents/api/executions/${id}/cancel`);
  await waitFor(async () => (await workflowOf(id)).status.name === 'CANCELLED');
  await executions.in(harness.store).updateOne({ _id: id }, { $set: { completed_at: ago(2 * MINUTE) } });
  await sweep(engine);
  expect((await executions.in(harness.store).findById(id).lean())?.workflow_closed).toBe(true);
});

test('a cancel that died between denying the gate and ending the record is finished', async () => {
  const org = await harness.newOrg();
  const id = await waitingExecution(org);
  await denyForEnd(harness.store, id, new Date());
  await makeQuiet(id);
  await sweep(engine);
  const ended = await waitForExecution(org, id, ['cancelled']);
  expect(ended['status_reason']).toBe('cancelled_by_user');
  const status = await waitFor(async () => {
    const { name } = (await engine.client.workflow.getHandle(workflowIdOf(id)).describe()).status;
    return name === 'RUNNING' ? null : name;
  });
  expect(status).toBe('CANCELLED');
  const entries = await auditEntries.in(harness.store).find({ orgId: org.id, action: 'approval.denied' }).lean();
  expect(entries).toMatchObject([{ details: { executionId: id }, actor: { kind: 'system' } }]);
});

/** An execution whose second step has held 7 of 100 credits since then. */
async function withHeldCall(since: Date) {
  const org = await harness.newOrg();
  const id = await waitingExecution(org);
  const now = new Date();
  const month = monthOf(now);
  await ensureMonth(harness.store, { orgId: org.id, month, allocation: 100 }, now);
  const reservation = { orgId: org.id, month, id: `${id}:1`, agentId: 'agt_x', tier: 'quick' as const, credits: 7 };
  expect(await reserve(harness.store, reservation, heldAt(since))).toBe('reserved');
  return { org, id, now, month };
}

test('credits held for a step of an execution that is over are given back', async () => {
  const org = await harness.newOrg();
  const now = new Date();
  const month = monthOf(now);
  await ensureMonth(harness.store, { orgId: org.id, month, allocation: 100 }, now);
  const reservation = {
    orgId: org.id,
    month,
    id: `${newId('exe')}:0`,
    agentId: 'agt_gone',
    tier: 'quick' as const,
    credits: 7,
  };
  expect(await reserve(harness.store, reservation, heldAt(ago(2 * 60 * MINUTE)))).toBe('reserved');
  expect((await readMonth(harness.store, org.id, month))?.available).toBe(93);
  await sweep(engine);
  await waitFor(async () => (await readMonth(harness.store, org.id, month))?.available === 100);
  expect((await credits.in(harness.store).findById(`${org.id}:${month}`).lean())?.total_used).toBe(0);
});

test('what a call had spent before its execution was over is booked, and the rest given back', async () => {
  const { org, id, now, month } = await withHeldCall(ago(2 * 60 * MINUTE));
  const spent = { 1: { input_tokens: 9_000, output_tokens: 0 }, 2: { input_tokens: 9_000, output_tokens: 0 } };
  await executions
    .in(harness.store)
    .updateOne({ _id: id }, { $set: { 'steps.1.step_type': 'ai_reason', 'steps.1.spent': spent } });
  const ending = { id, orgId: org.id, status: 'cancelled', reason: 'cancelled_by_user', error: null, now } as const;
  await endExecution(harness.store, ending);
  await sweep(engine);
  const account = await waitFor(async () => {
    const read = await readMonth(harness.store, org.id, month);
    return read && read.available !== 93 ? read : null;
  });
  expect(account).toMatchObject({ available: 97, total_used: 3, by_model: { quick: 3 } });
  expect((await executions.in(harness.store).findById(id).lean())?.credits_used).toBe(3);
});

test.each([
  ['is given back ten minutes after its execution was over', 11 * MINUTE, 100],
  ['is left to an answer that may still come', 5 * MINUTE, 93],
])('what a call holds that nobody makes any more %s', async (_what, since, available) => {
  const { org, id, month } = await withHeldCall(ago(20 * MINUTE));
  const now = ago(since);
  const ending = { id, orgId: org.id, status: 'cancelled', reason: 'cancelled_by_user', error: null, now } as const;
  await endExecution(harness.store, ending);
  await sweep(engine);
  expect((await readMonth(harness.store, org.id, month))?.available).toBe(available);
});

test('credits that a call may still use are left to it for an hour', async () => {
  const org = await harness.newOrg();
  const now = new Date();
  const month = monthOf(now);
  await ensureMonth(harness.store, { orgId: org.id, month, allocation: 100 }, now);
  const id = `${newId('exe')}:0`;
  const reservation = { orgId: org.id, month, id, agentId: 'agt_slow', tier: 'quick' as const, credits: 7 };
  expect(await reserve(harness.store, reservation, heldAt(ago(30 * MINUTE)))).toBe('reserved');
  await sweep(engine);
  expect((await readMonth(harness.store, org.id, month))?.available).toBe(93);
});

test('an account forgets calls that were settled a minute ago, and tells who comes late to one that it is late', async () => {
  const org = await harness.newOrg();
  const month = monthOf(new Date());
  await ensureMonth(harness.store, { orgId: org.id, month, allocation: 100 }, new Date());
  const callOf = (name: string) => ({
    orgId: org.id,
    month,
    id: `${name}:0`,
    agentId: 'agt_x',
    tier: 'quick' as const,
    credits: 7,
  });
  const [early, recent, waiting] = [callOf('exe_early'), callOf('exe_recent'), callOf('exe_waiting')];
  const begun = ago(5 * MINUTE);
  for (const [call, at] of [
    [early, ago(3 * MINUTE)],
    [recent, ago(10_000)],
  ] as const) {
    expect(await reserve(harness.store, call, { begun, now: begun })).toBe('reserved');
    await settle(harness.store, call, 2, at);
  }
  await sweep(engine);
  const account = await waitFor(async () => {
    const read = await readMonth(harness.store, org.id, month);
    return read && !(early.id in read.open) ? read : null;
  });
  expect(Object.keys(account.open)).toEqual([recent.id]);
  expect(account).toMatchObject({ available: 96, total_used: 4 });
  const ask = (call: typeof early, since: Date) => reserve(harness.store, call, { begun: since, now: new Date() });
  expect(await ask(early, begun)).toBe('late');
  expect(await ask(recent, begun)).toBe('already');
  // It never held any: its record says so, and it asks again as of now.
  expect(await ask(waiting, begun)).toBe('late');
  expect(await ask(waiting, ago(20_000))).toBe('reserved');
  expect((await readMonth(harness.store, org.id, month))?.available).toBe(89);
});

test('credits of an AI call whose worker died between the record and the account are booked as the record says', async () => {
  const { org, id, now, month } = await withHeldCall(ago(2 * MINUTE));
  // As the activity leaves it when it dies after its record, and the execution is cancelled before its next attempt.
  await executions.in(harness.store).updateOne(
    { _id: id },
    {
      $set: {
        'steps.1.status': 'completed',
        'steps.1.credits_used': 2,
        'steps.1.usage': { input_tokens: 5, output_tokens: 5, month, reserved: 7, tier: 'quick' },
      },
    },
  );
  await endExecution(harness.store, {
    id,
    orgId: org.id,
    status: 'cancelled',
    reason: 'cancelled_by_user',
    error: null,
    now,
  });
  await sweep(engine);
  const account = await waitFor(async () => {
    const read = await readMonth(harness.store, org.id, month);
    return read && read.available !== 93 ? read : null;
  });
  expect(account).toMatchObject({ available: 98, total_used: 2, by_model: { quick: 2 } });
});

test('credits held in a month that ended before the call was made anew are given back, once', async () => {
  const { org, id, now, month } = await withHeldCall(ago(2 * MINUTE));
  const before = monthsBefore(now, 1)[0] ?? '';
  await ensureMonth(harness.store, { orgId: org.id, month: before, allocation: 100 }, now);
  const call = { orgId: org.id, id: `${id}:1`, agentId: 'agt_x', tier: 'quick' as const, credits: 7 };
  expect(await reserve(harness.store, { ...call, month: before }, heldAt(ago(2 * MINUTE)))).toBe('reserved');
  const usage = { input_tokens: 5, output_tokens: 5, month, reserved: 7, tier: 'quick' };
  await executions
    .in(harness.store)
    .updateOne(
      { _id: id },
      { $set: { 'steps.1.status': 'completed', 'steps.1.credits_used': 2, 'steps.1.usage': usage } },
    );
  await sweep(engine);
  const accountOf = (of: string) =>
    waitFor(async () => {
      const read = await readMonth(harness.store, org.id, of);
      return read && read.available !== 93 ? read : null;
    });
  expect(await accountOf(month)).toMatchObject({ available: 98, total_used: 2 });
  expect(await accountOf(before)).toMatchObject({ available: 100, total_used: 0 });
});

test('an engine that has lost everything is told of it in one pass, however much that is', async () => {
  const org = await harness.newOrg();
  const agentId = await activeAgent(org, definitionWith([VARIABLES]));
  const created = { orgId: org.id, agentId, now: ago(5 * MINUTE), payload: { name: 'Ada' } };
  const records = await Promise.all(Array.from({ length: 230 }, () => unopenedRecord(harness.store, created)));
  await executions
    .in(harness.store)
    .collection.insertMany(records.map((record) => ({ ...record, start_pending: false })) as never);
  await sweep(engine);
  const left = { org_id: org.id, touched_at: { $lt: ago(2 * MINUTE) } };
  expect(await executions.in(harness.store).countDocuments(left)).toBe(0);
});

test('a healthy execution that waits at its gate for long is left alone', async () => {
  const org = await harness.newOrg();
  const id = await waitingExecution(org);
  await makeQuiet(id);
  await sweep(engine);
  expect((await org.call('GET', `/agents/api/executions/${id}`)).body['status']).toBe('waiting_approval');
  await org.call('POST', `/agents/api/executions/${id}/cancel`);
});

test('a decision whose signal was lost is signalled again', async () => {
  const org = await harness.newOrg();
  const id = await waitingExecution(org);
  const gate = list((await org.call('GET', `/agents/api/approvals?execution_id=${id}`)).body['approvals'])[0];
  // As the API leaves it when it dies between the decision and the signal.
  await approvals
    .in(harness.store)
    .updateOne(
      { _id: text(gate?.['id']) },
      { $set: { status: 'approved', decided_by: 'usr_test', decided_at: ago(10_000), decided_via: 'api' } },
    );
  expect((await waitForExecution(org, id, ['completed']))['status']).toBe('completed');
});

test('a run that was opened while its agent was being deleted is cancelled, and the agent goes for good', async () => {
  const org = await harness.newOrg();
  const id = await waitingExecution(org);
  const agentId = text((await org.call('GET', `/agents/api/executions/${id}`)).body['agent_id']);
  // As a deletion leaves it whose look for open runs came just before this one.
  await agents.in(harness.store).updateOne({ _id: agentId }, { $set: { deleting: true, updated_at: ago(2 * MINUTE) } });
  await sweep(engine);
  const ended = await waitForExecution(org, id, ['cancelled']);
  expect(ended['status_reason']).toBe('agent_deleted');
  expect(await waitFor(async () => !(await agents.in(harness.store).exists({ _id: agentId })))).toBe(true);
});

test('a slot that a crash left with an agent that is not active is given back, a slot just taken is not', async () => {
  const org = await harness.newOrg();
  const draft = text((await org.call('POST', '/agents/api/agents', definitionWith([VARIABLES]))).body['id']);
  const cap = 5;
  expect(await claimSlot(harness.store, { orgId: org.id, agentId: draft, now: ago(2 * MINUTE) }, cap)).toBe(true);
  expect(await claimSlot(harness.store, { orgId: org.id, agentId: 'agt_underway', now: new Date() }, cap)).toBe(true);
  await sweep(engine);
  const left = await waitFor(async () => {
    const { active, active_count: count } = await readRuntime(harness.store, org.id);
    return draft in active ? null : { active: Object.keys(active), count };
  });
  expect(left).toEqual({ active: ['agt_underway'], count: 1 });
});
