/** The figures of an agent: each run that has ended counts once, whoever ended it and however many tried to. */
import { readConfig } from '../../../src/config';
import { workflowIdOf } from '../../../src/contracts/messages';
import { connectEngine, type Engine } from '../../../src/engine/connect';
import { createRunTallies } from '../../../src/events/run-tallies';
import { createLog } from '../../../src/log';
import { addRuns, readStats } from '../../../src/store/agent-runs';
import { openStore } from '../../../src/store/connect';
import { activeAgent, definitionWith, GATE, openGateOf, run, VARIABLES } from '../../support/agents';
import {
  joinStack,
  list,
  text,
  waitFor,
  waitForExecution,
  type Body,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { storedAgent, unopenedRecord } from '../../support/records';
import { startLossyLine } from '../../support/stand-ins/lossy-line';
import { get, post, remove } from './support';

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

const IS_ADA = { field: 'event_payload.name', operator: 'eq', value: 'Ada' };

/** Runs that wait at a gate when the event names Ada, and complete at once otherwise. */
const gatedAgent = (org: TestOrg): Promise<string> =>
  activeAgent(org, definitionWith([{ ...GATE, when: IS_ADA }, VARIABLES]));

async function waitingRun(org: TestOrg): Promise<{ id: string; gate: string }> {
  const id = await run(org);
  return { id, gate: text((await openGateOf(org, id))['id']) };
}

/** The figures once they tell of so many runs. */
const figuresOf = (org: TestOrg, agent: string, runs: number): Promise<Body> =>
  waitFor(
    async () => {
      const { stats } = (await get(org, `/agents/${agent}`)).body;
      return Number(stats?.['total_runs']) >= runs && stats;
    },
    { what: `${runs} runs are counted` },
  );

const cancel = (org: TestOrg, id: string) => post(org, `/executions/${id}/cancel`);
const cancelInEngine = (id: string) => engine.client.workflow.getHandle(workflowIdOf(id)).cancel();

test('a run that was cancelled through the API counts, and is the last one that ran', async () => {
  const org = await harness.newOrg();
  const agent = await gatedAgent(org);
  const { id } = await waitingRun(org);
  await cancel(org, id);
  const cancelled = await waitForExecution(org, id, ['cancelled']);
  expect(await figuresOf(org, agent, 1)).toMatchObject({
    total_runs: 1,
    success_rate: 0,
    last_run_at: cancelled['completed_at'],
  });
});

test('each run counts once, however many ended it, and people’s decisions leave the rate as it is', async () => {
  const org = await harness.newOrg();
  const agent = await gatedAgent(org);
  const [byOne, byMany, inEngine, byBoth, denied] = await Promise.all([1, 2, 3, 4, 5].map(() => waitingRun(org)));
  if (!byOne || !byMany || !inEngine || !byBoth || !denied) throw new Error('five runs wait');
  await Promise.all([
    cancel(org, byOne.id),
    ...[1, 2, 3, 4].map(() => cancel(org, byMany.id)),
    cancelInEngine(inEngine.id),
    cancel(org, byBoth.id),
    cancelInEngine(byBoth.id),
    post(org, `/approvals/${denied.gate}/decision`, { decision: 'denied' }),
  ]);
  for (const { id } of [byOne, byMany, inEngine, byBoth, denied]) await waitForExecution(org, id, ['cancelled']);
  await waitForExecution(org, await run(org, { name: 'Bob' }), ['completed']);
  await figuresOf(org, agent, 6);
  // Whoever counted one of them a second time has done so by the time that another run is counted.
  await waitForExecution(org, await run(org, { name: 'Bob' }), ['completed']);
  expect(await figuresOf(org, agent, 7)).toMatchObject({ total_runs: 7, success_rate: 1 });
});

test('runs that end because their agent is deleted count', async () => {
  const org = await harness.newOrg();
  const agent = await gatedAgent(org);
  const { id } = await waitingRun(org);
  await remove(org, `/agents/${agent}`);
  const ended = await waitForExecution(org, id, ['cancelled']);
  const counted = await waitFor(async () => (await readStats(harness.store, org.id, [agent])).get(agent));
  expect(counted).toMatchObject({ total: 1, completed: 0, failed: 0 });
  expect(counted.last_run_at?.toISOString()).toBe(ended['completed_at']);
});

test('a run is not counted twice when the store’s reply to the count is lost', async () => {
  const org = await harness.newOrg();
  const agentId = await storedAgent(harness.store, org.id, [{ type: 'set_variables', id: 'vars', values: {} }]);
  const now = new Date();
  const record = await unopenedRecord(harness.store, { orgId: org.id, agentId, now, payload: {} });
  const line = await startLossyLine(harness.address.env['MONGODB_URI'] ?? '');
  const store = openStore(line.uri);
  const tallies = createRunTallies({ store, log: createLog('silent') });
  await waitFor(() => store.isReady());
  line.loseReplyTo('agent_stats');
  tallies.add({ ...record, status: 'failed', completed_at: now });
  await waitFor(async () => line.lost() === 1, { what: 'the reply is lost' });
  // Whatever is still to be written is written by this.
  await tallies.close();
  await store.close();
  await line.stop();
  expect((await readStats(harness.store, org.id, [agentId])).get(agentId)).toMatchObject({ total: 1, failed: 1 });
});

test('an org that has had thousands of agents sees the figures of those it has', async () => {
  const org = await harness.newOrg();
  const figures = { completed: 1, failed: 0, total: 1, durationMs: 5, lastRunAt: new Date() };
  const gone = Array.from({ length: 2_500 }, (_unused, index) => `agt_0${index}`);
  await addRuns(
    harness.store,
    gone.map((agentId) => ({ orgId: org.id, agentId, ...figures })),
  );
  const agent = await activeAgent(org, definitionWith([VARIABLES]));
  await waitForExecution(org, await run(org), ['completed']);
  expect(await figuresOf(org, agent, 1)).toMatchObject({ total_runs: 1, success_rate: 1 });
  const listed = list((await get(org, '/agents?type=custom')).body['agents']);
  expect(listed.map(({ stats }) => stats)).toEqual([expect.objectContaining({ total_runs: 1 })]);
});

test('runs that end while the store cannot be reached are counted when it can', async () => {
  const org = await harness.newOrg();
  const agentId = await storedAgent(harness.store, org.id, [{ type: 'set_variables', id: 'vars', values: {} }]);
  const now = new Date();
  const record = await unopenedRecord(harness.store, { orgId: org.id, agentId, now, payload: {} });
  const uri = harness.address.env['MONGODB_URI'] ?? '';
  const before = await startLossyLine(uri);
  await before.stop();
  const warnings: string[] = [];
  const log = { ...createLog('silent'), warn: (message: string) => void warnings.push(message) };
  const store = openStore(before.uri);
  const tallies = createRunTallies({ store, log });
  tallies.add({ ...record, status: 'failed', completed_at: now });
  await waitFor(async () => warnings.includes('run figures wait for the store'));
  tallies.add({ ...record, status: 'completed', completed_at: now });
  const line = await startLossyLine(uri, Number(new URL(before.uri).port));
  const read = async () => (await readStats(harness.store, org.id, [agentId])).get(agentId);
  await waitFor(async () => (await read())?.total === 2);
  await tallies.close();
  await store.close();
  await line.stop();
  expect(await read()).toMatchObject({ total: 2, completed: 1, failed: 1 });
});
