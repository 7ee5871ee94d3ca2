/** The api is killed while requests with idempotency keys are under way; repeating them makes each effect happen once. */
import { activeAgent, onTicketCreated } from '../support/agents';
import { joinStack, text, waitFor, type Answer, type Harness, type TestOrg } from '../support/harness';
import { allOf, endLeases } from '../support/repeats';
import { startStack, type Stack } from '../support/stack';

const ROUNDS = 4;
const PER_ROUND = 15;
const SECOND = 1_000;

let stack: Stack;
let harness: Harness;
beforeAll(async () => {
  stack = await startStack();
  harness = joinStack(stack);
}, 240 * SECOND);
afterAll(async () => {
  await harness.close();
  await stack.stop();
});

const subjectOf = (index: number): string => `Ticket ${index}`;

const create = (org: TestOrg, index: number): Promise<Answer | null> =>
  org
    .call(
      'POST',
      '/psa/api/tickets',
      { subject: subjectOf(index), priority: 'low' },
      { 'idempotency-key': `t-${index}` },
    )
    .catch(() => null);

test(
  'killed at any moment: one ticket, one event and one execution for every key',
  async () => {
    const org = await harness.newOrg();
    await activeAgent(org, onTicketCreated());
    const ids = new Map<number, string>();
    let unanswered = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const mine = Array.from({ length: PER_ROUND }, (_unused, index) => round * PER_ROUND + index);
      const first = Promise.all(mine.map((index) => create(org, index)));
      // Each round dies a little later on the way of its requests.
      await new Promise((resolve) => setTimeout(resolve, 8 + round * 12));
      await stack.api.kill();
      const answers = await first;
      unanswered += answers.filter((answer) => answer?.status !== 201).length;
      await stack.api.start();
      await endLeases(harness, org);
      for (const [position, index] of mine.entries()) {
        const repeated = await waitFor(async () => {
          const answer = await create(org, index);
          return answer?.status === 201 ? answer : null;
        });
        const answered = answers[position];
        if (answered?.status === 201) expect(repeated.text).toBe(answered.text);
        ids.set(index, text(repeated.body['id']));
      }
    }
    // Otherwise nothing was cut off, and nothing was shown.
    expect(unanswered).toBeGreaterThan(0);

    const tickets = await allOf(org, '/psa/api/tickets');
    expect(tickets.map((ticket) => text(ticket['subject'])).toSorted()).toEqual(
      [...ids.keys()].map(subjectOf).toSorted(),
    );
    expect(tickets.map((ticket) => text(ticket['id'])).toSorted()).toEqual([...ids.values()].toSorted());
    const executions = await waitFor(
      async () => {
        const found = await allOf(org, '/agents/api/executions', { field: 'executions', cursor: 'cursor' });
        return found.length >= ids.size ? found : null;
      },
      { timeoutMs: 60 * SECOND },
    );
    const started = await Promise.all(
      executions.map(async (execution) => {
        const { body } = await org.call('GET', `/agents/api/executions/${text(execution['id'])}`);
        return text(body['trigger_event']?.['payload']?.['ticket_id']);
      }),
    );
    expect(started.toSorted()).toEqual([...ids.values()].toSorted());
  },
  240 * SECOND,
);
