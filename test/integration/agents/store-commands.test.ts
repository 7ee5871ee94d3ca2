import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pauseSchedules } from '../../../scripts/bench/schedules';
import {
  isRead,
  isWrite,
  startStoreProxy,
  type StoreCommand,
  type StoreProxy,
} from '../../../scripts/bench/store-proxy';
import { choosePort } from '../../../scripts/services/ports';
import { readConfig } from '../../../src/config';
import { workflowIdOf } from '../../../src/contracts/messages';
import { connectEngine, type Engine } from '../../../src/engine/connect';
import { openStore, type OpenStore } from '../../../src/store/connect';
import { activeAgent, definitionWith, run } from '../../support/agents';
import { createOrg, joinStack, list, text, waitFor, waitForExecution, type TestOrg } from '../../support/harness';
import { productProcess, type ProductProcess } from '../../support/processes';

const STEPS = 3;
/** Opened, begun, then one write per step; the last step's write also completes the execution. */
const WRITES_MAX = 2 + STEPS;
/** Started, one task of three events, a marker per local activity, completed. */
const HISTORY_EVENTS_MAX = 1 + 3 + (1 + STEPS) + 1;
/** What waits, by one command, and what the engine is to be told, by two; a pass more in a time that is not a round one. */
const IDLE_PER_SECOND_MAX = 4;
const IDLE_MS = 4_000;
/** Executions that are run first, so that both processes know the org, the key and the agent. */
const WARM_UP = 3;

const vars = (id: string) => ({ type: 'set_variables', id, values: { [id]: 'Hello {{event_payload.name}}' } });

const processes: ProductProcess[] = [];
let proxies: { api: StoreProxy; worker: StoreProxy };
let store: OpenStore;
let engine: Engine;
let org: TestOrg;

/** An api and a worker of their own, on data and a task queue of their own: nobody else's work is counted. */
beforeAll(async () => {
  const harness = joinStack();
  const { address } = harness;
  await harness.close();
  const port = await choosePort();
  const uri = (address.env['MONGODB_URI'] ?? '').replace(/\/signalbox\b/, '/signalbox_commands');
  proxies = { api: await startStoreProxy(uri), worker: await startStoreProxy(uri) };
  const env = { ...address.env, PORT: String(port), TEMPORAL_TASK_QUEUE: 'store-commands' };
  const logs = join(process.cwd(), '.signalbox/test-logs');
  const start = async (name: 'api' | 'worker', script: string): Promise<ProductProcess> => {
    const product = productProcess({
      script,
      env: { ...env, MONGODB_URI: proxies[name].uri },
      readyText: `"msg":"${name} ready"`,
      logFile: join(logs, `${name}-store-commands.log`),
    });
    processes.push(product);
    await product.start();
    return product;
  };
  await Promise.all([start('api', 'src/main.ts'), start('worker', 'worker/main.ts')]);
  store = openStore(uri);
  engine = connectEngine(readConfig(env).temporal);
  org = await createOrg(store, { ...address, env, baseUrl: `http://127.0.0.1:${port}` });
  await activeAgent(org, definitionWith([vars('one'), vars('two'), vars('three')]));
  for (let turn = 0; turn < WARM_UP; turn += 1) await waitForExecution(org, await run(org), ['completed']);
  await pauseSchedules(engine, env.TEMPORAL_TASK_QUEUE);
});

afterAll(async () => {
  await Promise.all(processes.map((product) => product.stop()));
  await Promise.all([proxies.api.stop(), proxies.worker.stop(), store.close(), engine.close()]);
});

const on = (commands: readonly StoreCommand[], ...collections: string[]): StoreCommand[] =>
  commands.filter(({ collection }) => collections.includes(collection));

/** Runs one execution to its end in the engine, and answers its id with what either process asked of the store. */
async function counted(): Promise<{ id: string; api: StoreCommand[]; worker: StoreCommand[] }> {
  proxies.api.reset();
  proxies.worker.reset();
  const id = await run(org);
  await engine.client.workflow.getHandle(workflowIdOf(id)).result();
  const seen = { id, api: [...proxies.api.commands], worker: [...proxies.worker.commands] };
  const execution = await waitForExecution(org, id, ['completed']);
  expect(list(execution['steps']).map((step) => text(step['status']))).toEqual(Array(STEPS).fill('completed'));
  return seen;
}

test(`an execution of ${STEPS} light steps costs its record no more than ${WRITES_MAX} writes`, async () => {
  const { api, worker } = await counted();
  const writes = on([...api, ...worker], 'executions').filter(isWrite);
  // Opened, begun, and all three steps together.
  expect(writes.length).toBeGreaterThanOrEqual(3);
  expect(writes.length).toBeLessThanOrEqual(WRITES_MAX);
});

test('a warm worker runs an execution without reading anything', async () => {
  const { worker } = await counted();
  expect(worker.filter(isWrite).length).toBeGreaterThanOrEqual(2);
  expect(worker.filter(isRead)).toEqual([]);
});

test('the worker writes nothing but the record and its figures', async () => {
  const { worker } = await counted();
  const others = worker.filter(isWrite).filter(({ collection }) => !['executions', 'agent_stats'].includes(collection));
  expect(others).toEqual([]);
});

test('an event that starts an execution is recorded in four writes, its charge included', async () => {
  const { api } = await counted();
  const writes = on(api, 'guards', 'events', 'executions').filter(isWrite);
  expect(writes.length).toBeLessThanOrEqual(4);
});

test(`its history has no more than ${HISTORY_EVENTS_MAX} events, all in one workflow task`, async () => {
  const { id } = await counted();
  const workflow = engine.client.workflow.getHandle(workflowIdOf(id));
  const history = await waitFor(async () => (await workflow.fetchHistory()).events);
  expect(history.length).toBeLessThanOrEqual(HISTORY_EVENTS_MAX);
});

test(`a process with nothing to do asks the store no more than ${IDLE_PER_SECOND_MAX} times a second`, async () => {
  proxies.api.reset();
  await pause(IDLE_MS);
  const asked = proxies.api.commands.filter(isRead);
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.length).toBeLessThanOrEqual((IDLE_PER_SECOND_MAX * IDLE_MS) / 1_000);
});
