/** A hundred people decide at once: one of them did, and ninety-nine are told who was first. */
import { readConfig } from '../../../src/config';
import { activeAgent, definitionWith, GATE, openGateOf, run } from '../../support/agents';
import { joinStack, text, waitForExecution, type Harness } from '../../support/harness';
import { newKey, testContext } from '../auth/support';

const DECIDERS = 100;

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

test(`of ${DECIDERS} decisions at once exactly one is taken, and it is the one that takes effect`, async () => {
  const org = await harness.newOrg();
  const context = testContext(harness.store, { config: readConfig(harness.address.env) });
  await activeAgent(org, definitionWith([GATE]));
  const execution = await run(org);
  const gate = text((await openGateOf(org, execution))['id']);
  const answers = await Promise.all(
    Array.from({ length: DECIDERS }, async (_unused, index) => {
      const decision = index % 2 === 0 ? 'approved' : 'denied';
      const body = { decision, note: `decider ${index}` };
      // Each with a key of its own: who repeats the decision that was theirs is told so again.
      const { key } = await newKey(context, org.id, { scopes: ['Agents'] });
      const path = `/agents/api/approvals/${gate}/decision`;
      return { decision, answer: await org.call('POST', path, body, { authorization: `Bearer ${key}` }) };
    }),
  );
  const taken = answers.filter(({ answer }) => answer.status === 200);
  expect(taken).toHaveLength(1);
  expect(answers.filter(({ answer }) => answer.status === 409)).toHaveLength(DECIDERS - 1);
  const [winner] = taken;
  const ended = await waitForExecution(org, execution, [winner?.decision === 'approved' ? 'completed' : 'cancelled']);
  expect(text(ended['id'])).toBe(execution);
  const approvals = await org.call('GET', `/agents/api/approvals?execution_id=${execution}`);
  expect(approvals.body['approvals']).toMatchObject([
    { id: gate, status: winner?.decision, note: winner?.answer.body['note'] },
  ]);
}, 120_000);
