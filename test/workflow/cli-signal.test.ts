/** Operators decide from the `temporal` command line as well: the signal proposes, the approval's record decides. */
import { readConfig } from '../../src/config';
import { APPROVAL_DECISION, workflowIdOf } from '../../src/contracts/messages';
import { connectEngine } from '../../src/engine/connect';
import { activeAgent, definitionWith, GATE, openGateOf, run } from '../support/agents';
import { joinStack, list, text, waitForExecution, type Harness, type TestOrg } from '../support/harness';
import { workflowCommand } from '../support/temporal-cli';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

const signal = (executionId: string, input: string, ...options: string[]) =>
  workflowCommand(harness, executionId, 'signal', '--name', 'approvalDecision', '--input', input, ...options);

const approvalOf = async (org: TestOrg, executionId: string) =>
  list((await org.call('GET', `/agents/api/approvals?execution_id=${executionId}`)).body['approvals'])[0];

test('a signal from the command line decides the gate, and the record says who', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE]));
  const id = await run(org);
  await openGateOf(org, id);
  await signal(id, '{"decision": "approved", "note": "by phone"}');
  await waitForExecution(org, id, ['completed']);
  expect(await approvalOf(org, id)).toMatchObject({
    status: 'approved',
    decided_by: 'temporal:operator',
    decided_via: 'temporal',
    note: 'by phone',
  });
});

test('malformed signals change nothing, and a good one after them still decides', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE]));
  const id = await run(org);
  const gate = await openGateOf(org, id);
  for (const junk of [
    '{}',
    '"approved"',
    '[1,2]',
    '{"decision":"yes"}',
    '{"approval_id":"apr_other","decision":"approved"}',
  ])
    await signal(id, junk);
  expect(await approvalOf(org, id)).toMatchObject({ id: gate['id'], status: 'pending', decided_by: null });
  expect((await org.call('GET', `/agents/api/executions/${id}`)).body['status']).toBe('waiting_approval');
  await signal(id, `{"approval_id":"${text(gate['id'])}","decision":"denied"}`);
  const ended = await waitForExecution(org, id, ['cancelled']);
  expect(ended['status_reason']).toBe('approval_denied');
});

test.each(['json/protobuf', 'binary/protobuf', 'text/plain'])(
  'a signal sent as %s, which nobody here reads, is ignored like any other that is no decision',
  async (encoding) => {
    const org = await harness.newOrg();
    await activeAgent(org, definitionWith([GATE]));
    const id = await run(org);
    const gate = await openGateOf(org, id);
    await signal(id, '{"decision":"approved"}', '--input-meta', `encoding=${encoding}`);
    const decided = await org.call('POST', `/agents/api/approvals/${text(gate['id'])}/decision`, {
      decision: 'approved',
    });
    expect(decided.body).toMatchObject({ status: 'approved', decided_via: 'api' });
    await waitForExecution(org, id, ['completed']);
  },
);

test('a decision is heard however many signals named approvals that are none', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE]));
  const id = await run(org);
  const gate = await openGateOf(org, id);
  const engine = connectEngine(readConfig(harness.address.env).temporal);
  const workflow = engine.client.workflow.getHandle(workflowIdOf(id));
  for (let made = 0; made < 120; made += 1)
    await workflow.signal(APPROVAL_DECISION, { approval_id: `apr_${made}`, decision: 'denied' });
  await engine.close();
  await org.call('POST', `/agents/api/approvals/${text(gate['id'])}/decision`, { decision: 'approved' });
  await waitForExecution(org, id, ['completed']);
});
