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

// A failed test must not leave the next one without an engine.
beforeEach(() => stack.services.engine.start(), 60_000);

const isReady = async (): Promise<boolean> => (await fetch(`${stack.baseUrl}/readyz`)).status === 200;

/** The answer to an event, and the executions it started. */
async function post(org: TestOrg): Promise<{ answer: Answer; ids: string[] }> {
  const answer = await postEvent(org, { name: 'Load' });
  expect([202, 503]).toContain(answer.status);
  return { answer, ids: answer.status === 202 ? startedBy(answer) : [] };
}

test('away at rest: starts answer 503 with Retry-After, reads work, tickets and decisions are taken and run after it returns', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE, mailTo('a@example.com')]));
  await activeAgent(org, onTicketCreated());
  const waiting = await run(org);
  const gate = text((await openGateOf(org, waiting))['id']);

  await stack.services.engine.kill();
  // Taken before the api has noticed, and so run afterwards.
  const early: string[] = [];
  const refused = await waitFor(
    async () => {
      const { answer, ids } = await post(org);
      early.push(...ids);
      return answer.status === 503 && answer;
    },
    { timeoutMs: 2_000, what: 'starts are refused' },
  );
  expect(refused.body['error']).toBe('engine_unavailable');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await org.call('GET', `/agents/api/executions/${waiting}`)).status).toBe(200);
  expect((await org.call('POST', `/agents/api/approvals/${gate}/decision`, { decision: 'approved' })).status).toBe(200);
  const ticket = await org.call('POST', '/psa/api/tickets', { subject: 'Still taken', priority: 'low' });
  expect(ticket.status).toBe(201);

  await stack.services.engine.start();
  await waitFor(isReady, { timeoutMs: 60_000, what: 'ready again' });
  await waitForExecution(org, waiting, ['completed'], 60_000);
  expect(await mailbox(stack.inboxUrl, waiting)).toHaveLength(1);
  for (const id of early) await waitForExecution(org, id, ['waiting_approval'], 60_000);
  const started = await waitFor(
    async () => {
      const { body } = await org.call('GET', '/agents/api/executions?status=completed');
      return list(body['executions']).find((execution) => text(execution['id']) !== waiting);
    },
    { timeoutMs: 60_000, what: 'the ticket’s execution' },
  );
  expect(started['status']).toBe('completed');
});

test('killed under load: every accepted execution completes', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([VARIABLES, mailTo('b@example.com')]));
  const accepted: string[] = [];
  const load = Promise.all(
    Array.from({ length: 30 }, async () => {
      accepted.push(...(await post(org)).ids);
    }),
  );
  await waitFor(async () => accepted.length >= 3, { what: 'load under way' });
  await stack.services.engine.kill();
  await load;
  await stack.services.engine.start();
  await waitFor(isReady, { timeoutMs: 60_000, what: 'ready again' });
  for (const id of accepted) await waitForExecution(org, id, ['completed'], 90_000);
  for (const id of accepted) expect(await mailbox(stack.inboxUrl, id)).toHaveLength(1);
}, 180_000);
