/** Approvals: one decision each, told truthfully to whoever comes second, third or too late. */
import { readConfig } from '../../../src/config';
import { hashKey, lastFour, mintKey } from '../../../src/domain/api-key';
import { newId } from '../../../src/domain/ids';
import { insertKey } from '../../../src/store/keys';
import { activeAgent, definitionWith, GATE, mailTo, openGateOf, run, VARIABLES, stepOf } from '../../support/agents';
import {
  joinStack,
  list,
  request,
  text,
  waitFor,
  waitForExecution,
  type Answer,
  type Body,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { mailbox } from '../../support/mailbox';
import { storedAgent } from '../../support/records';
import { expectRefusal, findingsOf, get, ISO, post, statusesOf } from './support';

let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
  await activeAgent(org, definitionWith([GATE, mailTo('after@example.com')]));
});
afterAll(() => harness.close());

interface Gate {
  executionId: string;
  approval: Body;
  path: string;
}

async function openGate(of: TestOrg = org): Promise<Gate> {
  const executionId = await run(of);
  const approval = await openGateOf(of, executionId);
  return { executionId, approval, path: `/approvals/${text(approval['id'])}/decision` };
}

const approvalOf = async (of: TestOrg, executionId: string): Promise<Body> =>
  list((await get(of, `/approvals?execution_id=${executionId}`)).body['approvals'])[0] ?? {};

/** The same org with another key. */
async function colleagueOf(of: TestOrg): Promise<TestOrg> {
  const key = mintKey('platform');
  await insertKey(harness.store, {
    _id: newId('key'),
    orgId: of.id,
    kind: 'platform',
    name: 'colleague',
    hash: hashKey(readConfig(harness.address.env).secrets.keyPepper, key),
    last4: lastFour(key),
    scopes: ['Agents'],
    tier: 'enterprise',
    expiresAt: null,
    createdAt: new Date(),
    createdBy: 'test',
    revokedAt: null,
    revokedBy: null,
    rotatedFrom: null,
    version: 1,
  });
  const call: TestOrg['call'] = (method, path, body) =>
    request(harness.address.baseUrl, { method, path, body, headers: { authorization: `Bearer ${key}` } });
  return { id: of.id, key, call };
}

describe('the decision', () => {
  test('approved: the execution goes on at once', async () => {
    const { executionId, path } = await openGate();
    const answer = await post(org, path, { decision: 'approved' });
    expect([answer.status, answer.body]).toEqual([200, expect.objectContaining({ status: 'approved', note: null })]);
    const done = await waitForExecution(org, executionId, ['completed']);
    expect(statusesOf(done)).toEqual(['gate completed', 'mail completed']);
    expect(await mailbox(harness.address.inboxUrl, executionId)).toHaveLength(1);
  });

  test('denied: the execution is cancelled as approval_denied, later steps are skipped and never happen', async () => {
    const { executionId, path } = await openGate();
    const answer = await post(org, path, { decision: 'denied', note: 'Not today' });
    expect([answer.status, text(answer.body['status'])]).toEqual([200, 'denied']);
    const done = await waitForExecution(org, executionId, ['cancelled']);
    expect(done).toMatchObject({ status_reason: 'approval_denied', error: null, completed_at: ISO });
    expect(statusesOf(done)).toEqual(['gate completed', 'mail skipped']);
    expect(stepOf(done, 'gate')['output']).toEqual({
      decision: 'denied',
      decided_by: answer.body['decided_by'],
      decided_by_name: 'test',
      decided_at: answer.body['decided_at'],
      note: 'Not today',
    });
    expect(await mailbox(harness.address.inboxUrl, executionId)).toEqual([]);
  });

  test.each([
    ['approved', 'denied'],
    ['denied', 'approved'],
  ])('%s once: the same again is 200 with the same body, %s is 409', async (decision, other) => {
    const { executionId, path } = await openGate();
    const first = await post(org, path, { decision, note: 'first' });
    for (const note of ['first', 'another note', undefined]) {
      const again = await post(org, path, { decision, note });
      expect([again.status, again.body]).toEqual([200, first.body]);
    }
    const conflict = await post(org, path, { decision: other });
    expectRefusal(conflict, 409, 'approval_already_decided');
    expect(conflict.body['details']).toEqual([{ approval: first.body }]);
    await waitForExecution(org, executionId, ['completed', 'cancelled']);
    // Nothing changes after the end either.
    expect((await post(org, path, { decision })).body).toEqual(first.body);
    expectRefusal(await post(org, path, { decision: other }), 409, 'approval_already_decided');
  });

  test('a colleague who comes second is told who decided, even when they agree', async () => {
    const { path } = await openGate();
    const colleague = await colleagueOf(org);
    const first = await post(org, path, { decision: 'approved' });
    for (const decision of ['approved', 'denied']) {
      const answer = await post(colleague, path, { decision });
      expectRefusal(answer, 409, 'approval_already_decided');
      expect(text(answer.body['message'])).toContain(text(first.body['decided_by']));
    }
  });

  test('of ten different decisions at once exactly one counts, and it takes effect', async () => {
    const colleague = await colleagueOf(org);
    for (let round = 0; round < 4; round += 1) {
      const { executionId, path } = await openGate();
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_unused, index) =>
          post(index % 2 === 0 ? org : colleague, path, {
            decision: index % 4 < 2 ? 'approved' : 'denied',
            note: `decision ${index}`,
          }),
        ),
      );
      const approval = await approvalOf(org, executionId);
      const taken = answers.filter(({ status }) => status === 200);
      expect(taken.length).toBeGreaterThan(0);
      for (const answer of taken) expect(answer.body).toEqual(approval);
      for (const answer of answers.filter(({ status }) => status !== 200))
        expectRefusal(answer, 409, 'approval_already_decided');
      const done = await waitForExecution(org, executionId, ['completed', 'cancelled']);
      expect(text(done['status'])).toBe(text(approval['status']) === 'approved' ? 'completed' : 'cancelled');
      expect(stepOf(done, 'gate')['output']?.['note']).toBe(approval['note']);
    }
  });

  const BAD: [unknown, string][] = [
    [{}, '/decision'],
    [{ decision: 'approve' }, '/decision'],
    [{ decision: 'APPROVED' }, '/decision'],
    [{ decision: 'expired' }, '/decision'],
    [{ decision: null }, '/decision'],
    [{ decision: ['approved'] }, '/decision'],
    [{ decision: 'approved', note: 5 }, '/note'],
    [{ decision: 'approved', note: 'x'.repeat(2_001) }, '/note'],
    [{ decision: 'approved', decided_by: 'usr_boss' }, '/decided_by'],
    [{ decison: 'approved' }, '/decison'],
  ];
  test('a value that is no decision is 400 and decides nothing', async () => {
    const { executionId, path } = await openGate();
    for (const [body, pointer] of BAD) {
      const answer = await post(org, path, body);
      expectRefusal(answer, 400, 'validation_error');
      expect(findingsOf(answer)).toEqual(expect.arrayContaining([expect.stringContaining(`${pointer} `)]));
    }
    expect(await approvalOf(org, executionId)).toMatchObject({ status: 'pending', decided_by: null });
    expect((await post(org, path, { decision: 'approved', note: 'x'.repeat(2_000) })).status).toBe(200);
  });
});

describe('too late', () => {
  test('after the execution was cancelled: 409 approval_closed', async () => {
    const { executionId, path } = await openGate();
    await post(org, `/executions/${executionId}/cancel`);
    for (const decision of ['approved', 'denied']) {
      const answer = await post(org, path, { decision });
      expectRefusal(answer, 409, 'approval_closed');
    }
    expect(await approvalOf(org, executionId)).toMatchObject({ status: 'denied', decided_via: 'system' });
  });

  test('after its time: 409 approval_expired, whether or not the execution noticed already', async () => {
    const other = await harness.newOrg();
    await storedAgent(harness.store, other.id, [
      { type: 'approval_gate', id: 'gate', message: 'Quick?', expires_in: '1s' },
    ]);
    const { executionId, path, approval } = await openGate(other);
    await waitForExecution(other, executionId, ['failed']);
    const answer = await post(other, path, { decision: 'approved' });
    expectRefusal(answer, 409, 'approval_expired');
    expect(text(answer.body['message'])).toContain(text(approval['expires_at']));
    expect(await approvalOf(other, executionId)).toMatchObject({ status: 'expired', decided_by: null });
  });
});

describe('several gates', () => {
  test('one execution asks twice; each gate has its own approval and sees the one before it', async () => {
    const other = await harness.newOrg();
    const second = { ...GATE, id: 'second', message: 'First said {{steps.gate.output.note}}. And now?' };
    await activeAgent(other, definitionWith([GATE, second, VARIABLES]));
    const { executionId, path } = await openGate(other);
    await post(other, path, { decision: 'approved', note: 'yes' });
    const both = await waitFor(async () => {
      const approvals = list((await get(other, `/approvals?execution_id=${executionId}`)).body['approvals']);
      return approvals.length === 2 && approvals;
    });
    expect(
      both.map((approval) => [text(approval['step_id']), text(approval['status']), text(approval['message'])]),
    ).toEqual([
      ['second', 'pending', 'First said yes. And now?'],
      ['gate', 'approved', 'Go on for Ada?'],
    ]);
    await post(other, `/approvals/${text(both[0]?.['id'])}/decision`, { decision: 'denied' });
    const ended = await waitForExecution(other, executionId, ['cancelled']);
    expect(statusesOf(ended)).toEqual(['gate completed', 'second completed', 'vars skipped']);
  });
});

describe('the list', () => {
  test('is newest first, filtered by status, execution and agent, and pages without a gap', async () => {
    const other = await harness.newOrg();
    const agents = [await activeAgent(other, definitionWith([GATE])), await activeAgent(other, definitionWith([GATE]))];
    const gates: Answer['body'][] = [];
    for (let round = 0; round < 3; round += 1) {
      const answer = await post(other, '/events/ingest', {
        event_type: 'custom.test',
        source_product: 'psa',
        payload: { name: 'Ada' },
      });
      for (const { id } of list(answer.body['executions'])) gates.push(await openGateOf(other, text(id)));
    }
    const ids = async (query: string): Promise<string[]> =>
      list((await get(other, `/approvals?${query}`)).body['approvals']).map((approval) => text(approval['id']));
    const expected = gates
      .toSorted(
        (one, two) =>
          text(two['created_at']).localeCompare(text(one['created_at'])) ||
          (text(one['id']) < text(two['id']) ? 1 : -1),
      )
      .map((gate) => text(gate['id']));
    expect(await ids('')).toEqual(expected);
    expect(await ids(`agent_id=${agents[0]}`)).toHaveLength(3);
    const [first, second, third] = gates.map((gate) => text(gate['id']));
    await post(other, `/approvals/${first}/decision`, { decision: 'approved' });
    await post(other, `/approvals/${second}/decision`, { decision: 'denied' });
    expect(await ids('status=approved')).toEqual([first]);
    expect(await ids('status=denied')).toEqual([second]);
    expect(await ids('status=pending')).toEqual(expected.filter((id) => id !== first && id !== second));
    expect(await ids(`execution_id=${text(gates[2]?.['execution_id'])}`)).toEqual([third]);
    expect(await ids(`status=denied&agent_id=${text(gates[1]?.['agent_id'])}`)).toEqual([second]);

    const walked: string[] = [];
    let cursor = '';
    for (let page = 0; page < 10; page += 1) {
      const { body } = await get(other, `/approvals?limit=2${cursor && `&cursor=${cursor}`}`);
      expect(body['total']).toBe(6);
      walked.push(...list(body['approvals']).map((approval) => text(approval['id'])));
      cursor = text(body['next_cursor']);
      if (!cursor) break;
    }
    expect(walked).toEqual(expected);
    const { body } = await get(other, '/approvals?limit=2');
    expectRefusal(
      await get(other, `/approvals?status=pending&cursor=${text(body['next_cursor'])}`),
      400,
      'invalid_cursor',
    );
    expectRefusal(await get(org, `/approvals?cursor=${text(body['next_cursor'])}`), 400, 'invalid_cursor');
  });
});

test('a message that the event makes long is shown by its beginning', async () => {
  const of = await harness.newOrg();
  await activeAgent(of, definitionWith([{ ...GATE, message: '{{event_payload.name}}{{event_payload.name}}' }]));
  const id = await run(of, { name: '🚀'.repeat(20_000) });
  const { message } = await openGateOf(of, id);
  expect(message).toBe(`${'🚀'.repeat(15_999)}…`);
});
