/** While no worker is there: decisions are signalled again, ever later, and gates whose time is over are closed. */
import { readConfig } from '../../src/config';
import { APPROVAL_DECISION, workflowIdOf } from '../../src/contracts/messages';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { approvals } from '../../src/store/approvals';
import { executions } from '../../src/store/executions';
import { activeAgent, definitionWith, GATE, openGateOf, run, VARIABLES } from '../support/agents';
import { joinStack, text, waitFor, waitForExecution, type Body, type Harness } from '../support/harness';
import { startApi, startOwn } from '../support/stack';

let harness: Harness;
let engine: Engine;
let product: Awaited<ReturnType<typeof startOwn>>;
let second: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  const shared = joinStack();
  product = await startOwn(shared.address, 'no-worker', {});
  await shared.close();
  second = await startApi(product);
  harness = joinStack(product);
  engine = connectEngine(readConfig(product.env).temporal);
}, 120_000);
afterAll(async () => {
  await engine.close();
  await harness.close();
  await second.api.stop();
  await product.stop();
});

/** When the gate's workflow was signalled, oldest first. */
async function signalsOf(executionId: string): Promise<number[]> {
  const history = await engine.client.workflow.getHandle(workflowIdOf(executionId)).fetchHistory();
  return (history.events ?? [])
    .filter((event) => event.workflowExecutionSignaledEventAttributes)
    .map(({ eventTime: at }) => Number(at?.seconds ?? 0) * 1_000 + (at?.nanos ?? 0) / 1_000_000);
}

test('signals become rarer, and the decision takes effect when a worker is back', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE, VARIABLES]));
  const id = await run(org);
  const gate = text((await openGateOf(org, id))['id']);
  await product.worker.stop();
  expect((await org.call('POST', `/agents/api/approvals/${gate}/decision`, { decision: 'approved' })).status).toBe(200);
  const decidedAt = Date.now();
  const again = await waitFor(
    async () => {
      const read = await approvals.in(harness.store).findById(gate).lean();
      return read?.signals === 4 && read;
    },
    { timeoutMs: 40_000, what: 'the fourth repeat' },
  );
  const at = await signalsOf(id);
  // The one of the request, and four that were repeated: after 2, 3, 5 and 9 seconds.
  expect(at).toHaveLength(5);
  expect((at[1] ?? 0) - decidedAt).toBeLessThan(5_000);
  const pauses = at.slice(1).map((time, place) => time - (at[place] ?? 0));
  expect(pauses[2]).toBeGreaterThan(1_900);
  expect(pauses[3]).toBeGreaterThan(3_900);
  expect((again.signal_at?.getTime() ?? 0) - (at[4] ?? 0)).toBeGreaterThan(7_000);
  await product.worker.start();
  expect((await waitForExecution(org, id, ['completed'], 40_000))['status']).toBe('completed');
}, 120_000);

test('a gate whose time is over reads as expired, and fails its execution when a worker is back', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE, VARIABLES]));
  const id = await run(org);
  const gate = text((await openGateOf(org, id))['id']);
  await product.worker.stop();
  // No gate can be made to wait for less than five minutes.
  const overAt = new Date(Date.now() - 10_000);
  await approvals.in(harness.store).updateOne({ _id: gate }, { $set: { expires_at: overAt } });
  const path = `/agents/api/approvals/${gate}`;
  const read = async (): Promise<Body> => (await org.call('GET', path)).body;
  await waitFor(async () => text((await read())['status']) === 'expired', {
    timeoutMs: 30_000,
    what: 'the gate to be expired',
  });
  const pending = await org.call('GET', '/agents/api/approvals?status=pending');
  expect(pending.body['total']).toBe(0);
  const decided = await org.call('POST', `${path}/decision`, { decision: 'approved' });
  expect(decided.status).toBe(409);
  expect(decided.body).toMatchObject({ error: 'approval_expired', details: [{ approval: { status: 'expired' } }] });
  await product.worker.start();
  // Its timer still has a day to go; whatever wakes the workflow, the record decides.
  const late = { approval_id: gate, decision: 'approved' };
  await engine.client.workflow.getHandle(workflowIdOf(id)).signal(APPROVAL_DECISION, late);
  const ended = await waitForExecution(org, id, ['failed', 'completed'], 40_000);
  expect([ended['status'], ended['status_reason']]).toEqual(['failed', 'approval_expired']);
}, 120_000);

test('an execution that the engine has taken is not started again and again until a worker begins it', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([VARIABLES]));
  await product.worker.stop();
  const id = await run(org);
  const read = () => executions.in(harness.store).findById(id).lean();
  const taken = await waitFor(
    async () => {
      const record = await read();
      return record?.start_pending === false && record;
    },
    { timeoutMs: 15_000, what: 'the relay to leave it alone' },
  );
  expect(taken.status).toBe('pending');
  await product.worker.start();
  expect((await waitForExecution(org, id, ['completed'], 40_000))['status']).toBe('completed');
}, 90_000);
