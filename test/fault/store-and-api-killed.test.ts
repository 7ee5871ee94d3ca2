import {
  activeAgent,
  definitionWith,
  GATE,
  mailTo,
  onTicketCreated,
  openGateOf,
  postEvent,
  run,
  startedBy,
  VARIABLES,
} from '../support/agents';
import {
  joinStack,
  list,
  text,
  waitFor,
  waitForExecution,
  type Answer,
  type Harness,
  type TestOrg,
} from '../support/harness';
import { mailbox } from '../support/mailbox';
import { startStack, type Stack } from '../support/stack';

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

const STEPS = [VARIABLES, mailTo('c@example.com')];

/** A call that a dying server may leave unanswered. */
const attempt = async (call: () => Promise<Answer>): Promise<Answer | null> => {
  try {
    return await call();
  } catch {
    return null;
  }
};

const ingest = (org: TestOrg, id: string): Promise<Answer | null> =>
  attempt(() => postEvent(org, { name: id }, { id }));

/** Posts an event until it is accepted, as a careful client does: the id makes the repeats harmless. */
const ingestUntilAccepted = (org: TestOrg, id: string): Promise<Answer> =>
  waitFor(
    async () => {
      const answer = await ingest(org, id);
      return answer && (answer.status === 202 || answer.status === 200) ? answer : null;
    },
    { timeoutMs: 90_000, what: `event ${id} accepted` },
  );

async function everythingOnce(org: TestOrg, ids: string[]): Promise<void> {
  for (const id of ids) await waitForExecution(org, id, ['completed'], 90_000);
  for (const id of ids) expect(await mailbox(stack.inboxUrl, id)).toHaveLength(1);
}

test('store away at rest: 503, and recovery without a restart', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE, ...STEPS]));
  const id = await run(org);
  const gate = text((await openGateOf(org, id))['id']);
  await stack.services.store.kill();
  const answer = await org.call('GET', `/agents/api/executions/${id}`);
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  await stack.services.store.start();
  await waitFor(async () => (await org.call('GET', `/agents/api/executions/${id}`)).status === 200, {
    timeoutMs: 60_000,
    what: 'reads again',
  });
  expect((await org.call('POST', `/agents/api/approvals/${gate}/decision`, { decision: 'approved' })).status).toBe(200);
  await everythingOnce(org, [id]);
}, 180_000);

test('store killed under load: every event is run once, every mail leaves once', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith(STEPS));
  const load = Promise.all(Array.from({ length: 20 }, (_unused, index) => ingestUntilAccepted(org, `store-${index}`)));
  await new Promise((resolve) => setTimeout(resolve, 150));
  await stack.services.store.kill();
  await stack.services.store.start();
  const answers = await load;
  const ids = answers.flatMap(startedBy);
  expect(new Set(ids).size).toBe(20);
  await everythingOnce(org, ids);
}, 240_000);

test('api killed at the gate: the decision is made with the next process', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE, ...STEPS]));
  const id = await run(org);
  const gate = text((await openGateOf(org, id))['id']);
  await stack.api.kill();
  await stack.api.start();
  expect((await org.call('POST', `/agents/api/approvals/${gate}/decision`, { decision: 'approved' })).status).toBe(200);
  await everythingOnce(org, [id]);
}, 120_000);

test('api killed under load: every event is run once, tickets that were answered 201 start their agents', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith(STEPS));
  await activeAgent(org, onTicketCreated());
  const events = Promise.all(Array.from({ length: 12 }, (_unused, index) => ingestUntilAccepted(org, `api-${index}`)));
  const tickets = Promise.all(
    Array.from({ length: 12 }, (_unused, index) =>
      attempt(() => org.call('POST', '/psa/api/tickets', { subject: `Load ${index}`, priority: 'low' })),
    ),
  );
  await new Promise((resolve) => setTimeout(resolve, 120));
  await stack.api.kill();
  await stack.api.start();
  const answers = await events;
  const ids = answers.flatMap(startedBy);
  expect(new Set(ids).size).toBe(12);
  await everythingOnce(org, ids);
  const created = (await tickets).filter((answer) => answer?.status === 201).map((answer) => text(answer?.body['id']));
  await waitFor(
    async () => {
      const { body } = await org.call('GET', '/agents/api/executions?limit=200');
      const seen = await Promise.all(
        list(body['executions']).map((execution) => org.call('GET', `/agents/api/executions/${text(execution['id'])}`)),
      );
      const ticketIds = seen.map((answer) => text(answer.body['trigger_event']?.['payload']?.['ticket_id']));
      return created.every((id) => ticketIds.filter((candidate) => candidate === id).length === 1);
    },
    { timeoutMs: 60_000, what: 'one execution per ticket' },
  );
}, 240_000);
