/** Operators decide from the `temporal` command line as well: the signal proposes, the approval's record decides. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TEMPORAL } from '../../scripts/services/engine';
import { readPart } from '../../scripts/services/parts';
import { cacheFolder } from '../../scripts/services/setup';
import { findProgram } from '../../scripts/services/run';
import { activeAgent, definitionWith, GATE, openGateOf, run } from '../support/agents';
import { joinStack, list, text, waitForExecution, type Harness, type TestOrg } from '../support/harness';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

function temporalProgram(): string {
  const onPath = findProgram('temporal', process.env);
  const cached = readPart(cacheFolder(process.env), TEMPORAL);
  if (!onPath && !cached) throw new Error('The temporal command line was not found on PATH or in the cache.');
  return onPath ?? join(cached?.directory ?? '', 'temporal');
}

const signal = (executionId: string, input: string) =>
  promisify(execFile)(temporalProgram(), [
    'workflow',
    'signal',
    '--address',
    harness.address.env['TEMPORAL_ADDRESS'] ?? '',
    '--workflow-id',
    `exec_${executionId}`,
    '--name',
    'approvalDecision',
    '--input',
    input,
  ]);

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
