/** The end of a step is written once: by a write whose reply was lost, or by an attempt that was believed dead. */
import { createExecutionCache } from '../../activities/execution-cache';
import { openApproval, settleApproval } from '../../activities/approvals';
import type { Deps } from '../../activities/deps';
import { recordFailure } from '../../activities/executions';
import { setVariables } from '../../activities/light';
import { stepEnd, writeStepEnd, type StepEnd } from '../../activities/step-end';
import { systemClock } from '../../src/clock';
import { readConfig } from '../../src/config';
import type { StepInput } from '../../src/contracts/messages';
import { approvalIdFor } from '../../src/domain/ids';
import { createRunTallies } from '../../src/events/run-tallies';
import { createLog } from '../../src/log';
import { readStats } from '../../src/store/agent-runs';
import { openApproval as storeApproval } from '../../src/store/approvals';
import { endExecution } from '../../src/store/execution-writes';
import { executions, findExecution, openExecution, type ExecutionRecord } from '../../src/store/executions';
import { GATE, REASON, VARIABLES } from '../support/agents';
import { joinStack, type Harness } from '../support/harness';
import { storedAgent, unopenedRecord } from '../support/records';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

/** A worker of its own: what it remembers, nobody else does. */
function newWorker() {
  const { store, address } = harness;
  const tallies = createRunTallies({ store, log: createLog('silent') });
  const config = readConfig(address.env);
  return { store, config, clock: systemClock, cache: createExecutionCache(store), tallies };
}

/** A running execution of two AI steps and what comes of writing the end of one of them. */
async function running() {
  const { store } = harness;
  const orgId = (await harness.newOrg()).id;
  const agentId = await storedAgent(store, orgId, [REASON, { ...REASON, id: 'again' }, VARIABLES] as never);
  const record = await unopenedRecord(store, { orgId, agentId, now: new Date(), payload: {} });
  const begun: ExecutionRecord = { ...record, status: 'running', start_pending: false };
  await openExecution(store, begun);
  const id = record._id;
  const told: StepInput = {
    execution_id: id,
    org_id: orgId,
    slot: 0,
    seq: 0,
    begins: true,
    pure: [],
    asked: [],
    light: [],
    completes: false,
  };
  const found = async () => {
    const stored = await findExecution(store, orgId, id);
    if (!stored) throw new Error('the execution is gone');
    return stored;
  };
  return {
    orgId,
    agentId,
    id,
    found,
    write: (worker: ReturnType<typeof newWorker>, end: StepEnd, more: Partial<StepInput> = {}) =>
      writeStepEnd(worker, { ...told, slot: end.index, ...more }, { stored: begun, record: begun, end }),
  };
}

const answered = (index: number, text: string): StepEnd =>
  stepEnd(index, { output: { text }, credits: 1 }, { startedAt: new Date(), now: new Date(), attempt: 1 });

test('a write that is repeated because its reply was lost costs nothing more and does not call itself late', async () => {
  const { orgId, agentId, found, write } = await running();
  const worker = newWorker();
  const end = answered(0, 'yes');
  const first = await write(newWorker(), end, { completes: true });
  const second = await write(worker, end, { completes: true });
  expect(second).toEqual(first);
  expect(await found()).toMatchObject({ status: 'completed', credits_used: 1 });
  expect((await found()).steps[0]).toMatchObject({ output: { text: 'yes' }, credits_used: 1 });
  // Whoever got no reply counts the run.
  await worker.tallies.close();
  expect((await readStats(harness.store, orgId, [agentId])).get(agentId)?.total).toBe(1);
});

test('an attempt that was believed dead changes nothing of a step that another one has ended', async () => {
  const { found, write } = await running();
  const zombie = answered(0, 'too late');
  await write(newWorker(), answered(0, 'in time'), { next: 1 });
  await write(newWorker(), answered(1, 'further'));
  const before = await found();
  await write(newWorker(), zombie, { next: 1 });
  expect(await found()).toEqual(before);
});

test('nor of one that has failed for good, whose credits were given back', async () => {
  const { orgId, id, found, write } = await running();
  const ending = { id, orgId, status: 'failed', reason: 'step_failed', error: null, now: new Date() } as const;
  await harness.store.connection
    .collection('executions')
    .updateOne({ _id: id as never }, { $set: { 'steps.0.status': 'failed', 'steps.0.error': { code: 'timeout' } } });
  await endExecution(harness.store, ending);
  const before = await found();
  await write(newWorker(), answered(0, 'too late'));
  expect(await found()).toEqual(before);
});

test('what a cancel found under way and finishes all the same is written, once', async () => {
  const { orgId, id, found, write } = await running();
  await endExecution(harness.store, {
    id,
    orgId,
    status: 'cancelled',
    reason: 'cancelled_by_user',
    error: null,
    now: new Date(),
  });
  const end = answered(0, 'all the same');
  await write(newWorker(), end);
  await write(newWorker(), end);
  expect(await found()).toMatchObject({ status: 'cancelled', credits_used: 1 });
  expect((await found()).steps[0]).toMatchObject({
    status: 'completed',
    output: { text: 'all the same', after_cancel: true },
  });
});

const ERROR = { code: 'network', message: 'It was not there.' };

/** The approval of the first step, which somebody has given. */
async function approveFirst({ _id: id, org_id: orgId, agent_id: agentId }: ExecutionRecord): Promise<void> {
  const now = new Date();
  const approval = {
    _id: approvalIdFor(id, '0'),
    org_id: orgId,
    execution_id: id,
    agent_id: agentId,
    step_id: 'gate',
    message: 'Go on?',
    status: 'approved' as const,
    expires_at: new Date(now.getTime() + 3_600_000),
    created_at: now,
    decided_by: 'key_1',
    decided_at: now,
    decided_via: 'api' as const,
    note: null,
    consumed_at: now,
  };
  await storeApproval(harness.store, approval);
}

describe('a worker that stood still between its read and its write', () => {
  const SECOND = { ...GATE, id: 'second' };
  test.each<[string, object[], string, (deps: Deps, input: StepInput) => Promise<unknown>]>([
    ['of variables', [VARIABLES, SECOND], 'completed', setVariables],
    ['of a failure', [REASON, SECOND], 'failed', (deps, input) => recordFailure(deps, { ...input, error: ERROR })],
    ['that opens a gate', [GATE, SECOND], 'completed', openApproval],
    [
      'that settles a gate',
      [GATE, SECOND],
      'completed',
      (deps, input) =>
        settleApproval(deps, { ...input, approval_id: approvalIdFor(input.execution_id, '0'), proposal: null }),
    ],
  ])('changes nothing behind the end of its step: a write %s', async (_what, steps, status, write) => {
    const { store } = harness;
    const orgId = (await harness.newOrg()).id;
    const agentId = await storedAgent(store, orgId, steps as never);
    const record = await unopenedRecord(store, { orgId, agentId, now: new Date(), payload: { name: 'Ada' } });
    const begun: ExecutionRecord = { ...record, status: 'running', start_pending: false };
    await openExecution(store, begun);
    const { _id: id } = begun;
    await approveFirst(begun);
    const ahead = {
      status: 'waiting_approval',
      seq: 4,
      'steps.0.status': status,
      'steps.1.status': 'waiting_approval',
      'steps.1.started_at': new Date(),
    };
    await executions.in(store).updateOne({ _id: id }, { $set: ahead });
    const before = await findExecution(store, orgId, id);
    const worker = newWorker();
    worker.cache.put(begun);
    const told = { execution_id: id, org_id: orgId, slot: 0, seq: 0, begins: false, pure: [], asked: [], light: [] };
    await write({ ...worker, log: createLog('silent') } as unknown as Deps, { ...told, next: 1, completes: false });
    expect(await findExecution(store, orgId, id)).toEqual(before);
  });
});
