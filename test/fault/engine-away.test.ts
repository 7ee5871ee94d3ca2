/** While the engine is away the event log goes on, for orgs with agents and without; what is due runs after its return. */
import { RESOURCES } from '../../src/resources/registry';
import { events } from '../../src/store/events';
import { executions } from '../../src/store/executions';
import { pendingOutbox } from '../../src/store/resources';
import { activeAgent, onTicketCreated } from '../support/agents';
import { joinStack, waitFor, type Harness, type TestOrg } from '../support/harness';
import { startStack, type Stack } from '../support/stack';

/** More than a process hands over at once: the rest waits for the relay. */
const MANY = 80;
const BROKEN = 20;

let stack: Stack;
let harness: Harness;
beforeAll(async () => {
  stack = await startStack();
  harness = joinStack(stack);
}, 240_000);
afterAll(async () => {
  await harness.close();
  await stack.stop();
});

async function ticketsOf(org: TestOrg, count: number): Promise<void> {
  const ticket = { subject: 'Printer offline', priority: 'low' };
  const made = await Promise.all(Array.from({ length: count }, () => org.call('POST', '/psa/api/tickets', ticket)));
  expect(made.filter(({ status }) => status !== 201)).toEqual([]);
}

test('events pile up in no outbox, and executions that are broken keep no others from running', async () => {
  const [broken, busy, quiet] = [await harness.newOrg(), await harness.newOrg(), await harness.newOrg()];
  await activeAgent(broken, onTicketCreated());
  await activeAgent(busy, onTicketCreated());
  await stack.services.engine.kill();
  await ticketsOf(broken, BROKEN);
  await ticketsOf(busy, MANY);
  await ticketsOf(quiet, MANY);
  const { store } = harness;
  await waitFor(async () => (await pendingOutbox(store, RESOURCES, 1)).length === 0, {
    timeoutMs: 15_000,
    what: 'every event is handed over',
  });
  expect(await events.in(store).countDocuments({ org_id: quiet.id })).toBe(MANY);
  await executions.in(store).collection.updateMany({ org_id: broken.id }, { $set: { definition: {} } });
  await stack.services.engine.start();
  await waitFor(
    async () => (await executions.in(store).countDocuments({ org_id: busy.id, status: 'completed' })) === MANY,
    {
      timeoutMs: 60_000,
      what: 'every execution ran',
    },
  );
}, 240_000);
