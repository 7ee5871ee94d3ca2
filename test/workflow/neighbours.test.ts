/** Two installations in one namespace of the engine, each with its own task queue and database. */
import { readConfig } from '../../src/config';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { executions } from '../../src/store/executions';
import { activeAgent, definitionWith, GATE, openGateOf, run } from '../support/agents';
import { scheduleIds } from '../support/engine';
import { joinStack, waitFor, type Harness } from '../support/harness';
import { startOwn } from '../support/stack';

let harness: Harness;
let engine: Engine;
let product: Awaited<ReturnType<typeof startOwn>>;

beforeAll(async () => {
  const shared = joinStack();
  product = await startOwn(shared.address, 'neighbour', {});
  await shared.close();
  harness = joinStack(product);
  engine = connectEngine(readConfig(product.env).temporal);
}, 120_000);
afterAll(async () => {
  await engine.close();
  await harness.close();
  await product.stop();
});

test('the second one has repairs and timed events of its own', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE]));
  const id = await run(org);
  await openGateOf(org, id);
  const before = new Date(Date.now() - 5 * 60_000);
  await executions.in(harness.store).updateOne({ _id: id }, { $set: { touched_at: before } });
  const wanted = ['sweep', 'timed-backups', 'timed-books', 'timed-psa', 'timed-rmm'].map((name) => `neighbour-${name}`);
  const areThere = async (): Promise<boolean> => {
    const found = await scheduleIds(engine);
    return wanted.every((name) => found.includes(name));
  };
  await waitFor(areThere, { timeoutMs: 15_000, what: 'its schedules' });
  await engine.client.schedule.getHandle('neighbour-sweep').trigger();
  const isLookedAt = async () => {
    const record = await executions.in(harness.store).findById(id).lean();
    return record !== null && record.touched_at > before;
  };
  await waitFor(isLookedAt, { timeoutMs: 30_000, what: 'its quiet execution to be looked at' });
}, 60_000);
