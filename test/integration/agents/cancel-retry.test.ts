/** Cancelling and retrying: final, repeatable, and never more than was asked for. */
import { readConfig } from '../../../src/config';
import { workflowIdOf } from '../../../src/contracts/messages';
import { connectEngine, type Engine } from '../../../src/engine/connect';
import { endExecution } from '../../../src/store/execution-writes';
import { executions } from '../../../src/store/executions';
import {
  activeAgent,
  definitionWith,
  fire,
  GATE,
  mailTo,
  openGateOf,
  REASON,
  run,
  VARIABLES,
  stepOf,
} from '../../support/agents';
import {
  joinStack,
  list,
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
import { startHttpServer, type HttpStandIn } from '../../support/stand-ins/http-server';
import { expectRefusal, get, ISO, pastExecution, post, put, remove, statusesOf, storeExecutions } from './support';

let harness: Harness;
let engine: Engine;
let stub: HttpStandIn;
let isHealthy = false;
beforeAll(async () => {
  harness = joinStack();
  engine = connectEngine(readConfig(harness.address.env).temporal);
  stub = await startHttpServer(({ path }) => {
    if (path === '/slow') return { delayMs: 1_500 };
    if (path.startsWith('/hang')) return { hang: true };
    return { status: isHealthy ? 200 : 400 };
  });
});
afterAll(async () => {
  await Promise.all([stub.stop(), engine.close()]);
  await harness.close();
});

/** Waits until the workflow has ended; that of an aborted call hears of it by its heartbeat. */
const closed = (id: string): Promise<boolean> =>
  waitFor(async () => (await engine.client.workflow.getHandle(workflowIdOf(id)).describe()).status.name !== 'RUNNING', {
    what: 'the workflow closes',
    timeoutMs: 30_000,
  });

const cancel = (org: TestOrg, id: string): Promise<Answer> => post(org, `/executions/${id}/cancel`);
const retry = (org: TestOrg, id: string): Promise<Answer> => post(org, `/executions/${id}/retry`);
const read = async (org: TestOrg, id: string): Promise<Body> => (await get(org, `/executions/${id}`)).body;
const call = (path: string): Record<string, unknown> => ({
  type: 'http_request',
  id: 'call',
  url: `${stub.url}${path}`,
  retry: { max_attempts: 1 },
});

/** An execution that failed, with its agent. */
async function failedExecution(
  org: TestOrg,
  steps = [VARIABLES, call('/fails')],
): Promise<{ agent: string; id: string }> {
  const agent = await activeAgent(org, definitionWith(steps));
  const [id = ''] = await fire(org, { name: 'Ada' }, { client_id: 'cli_1' });
  await waitForExecution(org, id, ['failed']);
  return { agent, id };
}

describe('cancel', () => {
  test('at a gate: the gate is denied by the system, open steps are skipped, nothing after it happens', async () => {
    const org = await harness.newOrg();
    await activeAgent(org, definitionWith([VARIABLES, GATE, mailTo('never@example.com')]));
    const id = await run(org);
    const gate = await openGateOf(org, id);
    const answer = await cancel(org, id);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ status: 'cancelled', status_reason: 'cancelled_by_user', error: null });
    expect(statusesOf(answer.body)).toEqual(['vars completed', 'gate skipped', 'mail skipped']);
    const [approval] = list((await get(org, `/approvals?execution_id=${id}`)).body['approvals']);
    expect(approval).toMatchObject({
      id: gate['id'],
      status: 'denied',
      decided_by: 'system:execution_cancelled',
      decided_via: 'system',
      decided_at: expect.any(String) as unknown,
    });
    expect(await read(org, id)).toEqual(answer.body);
    expect(await mailbox(harness.address.inboxUrl, id)).toEqual([]);
  });

  test('during a delay it is final at once, and the rest never runs', async () => {
    const org = await harness.newOrg();
    await activeAgent(org, definitionWith([{ type: 'delay', id: 'wait', for: '1h' }, mailTo('never@example.com')]));
    const id = await run(org);
    await waitForExecution(org, id, ['running']);
    const answer = await cancel(org, id);
    expect([answer.status, text(answer.body['status'])]).toEqual([200, 'cancelled']);
    expect(statusesOf(answer.body)).toEqual(['wait skipped', 'mail skipped']);
    expect((await read(org, id))['status']).toBe('cancelled');
  });

  test('during a delay the rest never runs, also when the engine cannot be told before the delay is over', async () => {
    const org = await harness.newOrg();
    await activeAgent(org, definitionWith([{ type: 'delay', id: 'wait', for: '3s' }, call('/too-late')]));
    const id = await run(org);
    await waitFor(async () => statusesOf(await read(org, id))[0] === 'wait running');
    // What a cancel writes; the engine is away and hears of it from the sweep, up to a minute later.
    const end = { status: 'cancelled', reason: 'cancelled_by_user', error: null, now: new Date() } as const;
    expect(await endExecution(harness.store, { id, orgId: org.id, ...end })).not.toBeNull();
    await closed(id);
    expect(stub.requests.filter(({ path }) => path === '/too-late')).toEqual([]);
    expect(statusesOf(await read(org, id))).toEqual(['wait skipped', 'call skipped']);
  });

  test('during a delay asks nobody, also when the engine cannot be told before the delay is over', async () => {
    const org = await harness.newOrg();
    await activeAgent(org, definitionWith([{ type: 'delay', id: 'wait', for: '2s' }, GATE]));
    const id = await run(org);
    await waitFor(async () => statusesOf(await read(org, id))[0] === 'wait running');
    const end = { status: 'cancelled', reason: 'cancelled_by_user', error: null, now: new Date() } as const;
    expect(await endExecution(harness.store, { id, orgId: org.id, ...end })).not.toBeNull();
    await closed(id);
    expect((await org.call('GET', `/agents/api/approvals?execution_id=${id}`)).body['approvals']).toEqual([]);
  });

  /** Cancels while the request of the step is under way; answers what the cancel said. */
  async function cancelledAtWork(org: TestOrg, path: string, more: Record<string, unknown> = {}): Promise<Body> {
    await activeAgent(org, definitionWith([{ ...call(path), ...more }, mailTo('never@example.com')]));
    const id = await run(org);
    await waitFor(async () => stub.requests.some((request) => request.path === path));
    const answer = await cancel(org, id);
    expect(answer.body).toMatchObject({ status: 'cancelled', status_reason: 'cancelled_by_user', error: null });
    return answer.body;
  }
  const cutOff = {
    status: 'failed',
    error: { code: 'cancelled', message: 'Cancelled while it ran; whether it arrived is not known.' },
    attempts: 1,
    started_at: ISO,
    completed_at: ISO,
  };

  test('while a call is under way: the trace says so, and tells in the end that it arrived', async () => {
    const org = await harness.newOrg();
    const cancelled = await cancelledAtWork(org, '/slow');
    expect(statusesOf(cancelled)).toEqual(['call failed', 'mail skipped']);
    expect(stepOf(cancelled, 'call')).toMatchObject(cutOff);
    const done = await waitFor(async () => {
      const seen = await read(org, text(cancelled['id']));
      return text(stepOf(seen, 'call')['status']) === 'completed' && seen;
    });
    expect(done).toMatchObject({ status: 'cancelled', completed_at: cancelled['completed_at'] });
    expect(stepOf(done, 'call')).toMatchObject({
      error: null,
      attempts: 1,
      output: { status: 200, after_cancel: true },
      completed_at: ISO,
    });
    expect(statusesOf(done)).toEqual(['call completed', 'mail skipped']);
    expect(await mailbox(harness.address.inboxUrl, text(cancelled['id']))).toEqual([]);
  });

  test('of a call that is broken off stays failed: nobody knows whether it arrived', async () => {
    const org = await harness.newOrg();
    const cancelled = await cancelledAtWork(org, '/hang');
    expect(stepOf(cancelled, 'call')).toMatchObject(cutOff);
    await closed(text(cancelled['id']));
    expect(stepOf(await read(org, text(cancelled['id'])), 'call')).toMatchObject(cutOff);
  });

  test('of a call whose start was not on record yet ends as that of any other', async () => {
    const org = await harness.newOrg();
    const when = { field: 'event_payload.name', operator: 'eq', value: 'Ada' };
    const id = text((await cancelledAtWork(org, '/hang-when', { when }))['id']);
    await closed(id);
    const done = await read(org, id);
    expect(statusesOf(done)).toEqual(['call failed', 'mail skipped']);
    expect(stepOf(done, 'call')).toMatchObject(cutOff);
  });

  test('while it is pending: it never begins', async () => {
    const org = await harness.newOrg();
    const agent = await activeAgent(org, definitionWith([VARIABLES]));
    // Nobody hands this one to the engine before the cancel does away with it.
    const record = pastExecution(org.id, 'evt_pending', {
      agent_id: agent,
      created_at: new Date(),
      status: 'pending',
      completed_at: null,
    });
    await storeExecutions(harness.store, [record]);
    const answer = await cancel(org, record._id);
    expect(answer.body).toMatchObject({ status: 'cancelled', started_at: null });
    expect(statusesOf(answer.body)).toEqual(['vars skipped']);
  });

  test('again, or many times at once, answers the same cancelled execution', async () => {
    const org = await harness.newOrg();
    await activeAgent(org, definitionWith([GATE]));
    const id = await run(org);
    await openGateOf(org, id);
    const answers = await Promise.all(Array.from({ length: 5 }, () => cancel(org, id)));
    const again = await cancel(org, id);
    for (const answer of answers) expect([answer.status, answer.body]).toEqual([200, again.body]);
  });

  test('of what has completed or failed is refused and changes nothing', async () => {
    const org = await harness.newOrg();
    const { id: failed, agent } = await failedExecution(org);
    await put(org, `/agents/${agent}`, { steps: [VARIABLES] });
    const completed = await run(org);
    await waitForExecution(org, completed, ['completed']);
    for (const [id, status] of [
      [failed, 'failed'],
      [completed, 'completed'],
    ] as const) {
      const before = await read(org, id);
      const answer = await cancel(org, id);
      expectRefusal(answer, 409, 'execution_not_cancellable');
      expect(answer.body['details']).toEqual([{ current_status: status }]);
      expect(await read(org, id)).toEqual(before);
    }
  });

  test('races with a decision: one of them wins, and everything agrees with it', async () => {
    const org = await harness.newOrg();
    await activeAgent(org, definitionWith([GATE, VARIABLES]));
    for (let round = 0; round < 6; round += 1) {
      const id = await run(org);
      const gate = await openGateOf(org, id);
      const [decided, cancelled] = await Promise.all([
        post(org, `/approvals/${text(gate['id'])}/decision`, { decision: 'approved' }),
        cancel(org, id),
      ]);
      const done = await waitForExecution(org, id, ['completed', 'cancelled']);
      const [approval] = list((await get(org, `/approvals?execution_id=${id}`)).body['approvals']);
      if (cancelled.status === 200) expect(text(done['status'])).toBe('cancelled');
      else expect([cancelled.status, text(done['status'])]).toEqual([409, 'completed']);
      // An approval that was answered 200 stands, whether or not the cancel came before its effect.
      expect(text(approval?.['status'])).toBe(decided.status === 200 ? 'approved' : 'denied');
      if (decided.status !== 200) expectRefusal(decided, 409, 'approval_closed');
    }
  });
});

describe('retry', () => {
  test('is a new execution of the original event from the beginning; both name each other', async () => {
    const org = await harness.newOrg();
    isHealthy = false;
    const { agent, id } = await failedExecution(org, [VARIABLES, REASON, call('/heals')]);
    const failed = await read(org, id);
    isHealthy = true;
    const answer = await retry(org, id);
    isHealthy = true;
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({
      agent_id: agent,
      status: 'pending',
      retry_of: id,
      attempt_no: 2,
      credits_used: 0,
    });
    expect(statusesOf(answer.body)).toEqual(['vars pending', 'think pending', 'call pending']);
    expect(answer.body['trigger_event']).toEqual(failed['trigger_event']);
    const done = await waitForExecution(org, text(answer.body['id']), ['completed']);
    expect(statusesOf(done)).toEqual(['vars completed', 'think completed', 'call completed']);
    expect(done['credits_used']).toBe(1);
    expect(await read(org, id)).toEqual({ ...failed, retried_by: done['id'] });
    // Credits are consumed again.
    await waitFor(async () => Number((await get(org, '/credits')).body['total_used']) === 2);
    expect((await get(org, `/executions?agent_id=${agent}`)).body['total']).toBe(2);
    expect((await get(org, `/executions?event_id=${text(failed['trigger_event']?.['id'])}`)).body['total']).toBe(2);
    isHealthy = false;
  });

  test('of a cancelled execution opens its gate anew', async () => {
    const org = await harness.newOrg();
    await activeAgent(org, definitionWith([GATE, VARIABLES]));
    const id = await run(org);
    const first = await openGateOf(org, id);
    await cancel(org, id);
    const again = text((await retry(org, id)).body['id']);
    const second = await openGateOf(org, again);
    expect(text(second['id'])).not.toBe(text(first['id']));
    await post(org, `/approvals/${text(second['id'])}/decision`, { decision: 'approved' });
    await waitForExecution(org, again, ['completed']);
  });

  test('runs the agent as it is now', async () => {
    const org = await harness.newOrg();
    const { agent, id } = await failedExecution(org);
    await put(org, `/agents/${agent}`, { steps: [{ ...VARIABLES, id: 'instead' }] });
    const done = await waitForExecution(org, text((await retry(org, id)).body['id']), ['completed']);
    expect(statusesOf(done)).toEqual(['instead completed']);
    expect(Number(done['agent_version'])).toBeGreaterThan(Number((await read(org, id))['agent_version']));
  });

  test('shows in the retried execution also to those who ask only for changes', async () => {
    const org = await harness.newOrg();
    const { id } = await failedExecution(org);
    const tag = (await get(org, `/executions/${id}`)).headers.get('etag') ?? '';
    const changes = (): Promise<Answer> =>
      org.call('GET', `/agents/api/executions/${id}`, undefined, { 'if-none-match': tag });
    expect((await changes()).status).toBe(304);
    const again = text((await retry(org, id)).body['id']);
    const answer = await changes();
    expect([answer.status, text(answer.body['retried_by'])]).toEqual([200, again]);
  });

  test('of what runs, waits or has completed is refused', async () => {
    const org = await harness.newOrg();
    const agent = await activeAgent(org, definitionWith([GATE]));
    const waiting = await run(org);
    await openGateOf(org, waiting);
    await put(org, `/agents/${agent}`, { steps: [VARIABLES] });
    const completed = await run(org);
    await waitForExecution(org, completed, ['completed']);
    const pending = pastExecution(org.id, 'evt_p', { agent_id: agent, created_at: new Date(), status: 'pending' });
    await storeExecutions(harness.store, [pending]);
    for (const [id, status] of [
      [waiting, 'waiting_approval'],
      [completed, 'completed'],
      [pending._id, 'pending'],
    ] as const) {
      const answer = await retry(org, id);
      expectRefusal(answer, 409, 'execution_not_retryable');
      expect(answer.body['details']).toEqual([{ current_status: status }]);
    }
    await executions.in(harness.store).deleteOne({ _id: pending._id });
  });

  test('pressed five times at once makes one execution', async () => {
    const org = await harness.newOrg();
    const { agent, id } = await failedExecution(org, [GATE, call('/fails')].slice(1));
    await put(org, `/agents/${agent}`, { steps: [GATE] });
    const answers = await Promise.all(Array.from({ length: 5 }, () => retry(org, id)));
    const taken = answers.filter(({ status }) => status === 202);
    expect(taken).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 202)) {
      expectRefusal(answer, 409, 'already_retried');
      expect(answer.body['details']).toEqual([{ execution_id: taken[0]?.body['id'] }]);
    }
    expect((await get(org, `/executions?agent_id=${agent}`)).body['total']).toBe(2);
    // While the retry waits nobody starts another, neither from the first nor from the second.
    expectRefusal(await retry(org, id), 409, 'already_retried');
    expectRefusal(await retry(org, text(taken[0]?.body['id'])), 409, 'execution_not_retryable');
  });

  test('of a retry counts on; each names the one it retries', async () => {
    const org = await harness.newOrg();
    const { id } = await failedExecution(org);
    const second = text((await retry(org, id)).body['id']);
    await waitForExecution(org, second, ['failed']);
    const third = await retry(org, second);
    expect(third.body).toMatchObject({ attempt_no: 3, retry_of: second });
    await waitForExecution(org, text(third.body['id']), ['failed']);
    const fourth = await retry(org, id);
    expect([fourth.status, fourth.body]).toEqual([202, expect.objectContaining({ attempt_no: 4, retry_of: id })]);
    await waitForExecution(org, text(fourth.body['id']), ['failed']);
  });

  test('without its agent: paused is 409, deleted is 404', async () => {
    const org = await harness.newOrg();
    const { agent, id } = await failedExecution(org);
    await put(org, `/agents/${agent}`, { status: 'paused' });
    const paused = await retry(org, id);
    expectRefusal(paused, 409, 'agent_not_active');
    expect(paused.body['details']).toEqual([{ agent_status: 'paused' }]);
    await remove(org, `/agents/${agent}`);
    expectRefusal(await retry(org, id), 404, 'agent_not_found');
    expect((await read(org, id))['retried_by']).toBeNull();
  });

  test('pressed while the agent is being deleted leaves nothing running', async () => {
    const org = await harness.newOrg();
    for (let round = 0; round < 6; round += 1) {
      const agent = await activeAgent(org, definitionWith([GATE]));
      const id = await run(org);
      await openGateOf(org, id);
      await cancel(org, id);
      const [, ...retries] = await Promise.all([
        remove(org, `/agents/${agent}`),
        ...Array.from({ length: 3 }, () => retry(org, id)),
      ]);
      for (const { status } of retries) expect([202, 404, 409]).toContain(status);
      const { body } = await get(org, `/executions?agent_id=${agent}`);
      for (const execution of list(body['executions']))
        expect(await waitForExecution(org, text(execution['id']), ['cancelled'])).toMatchObject({ agent_id: agent });
    }
  });

  test('of a system agent’s run is refused while the agent is paused for the org', async () => {
    const org = await harness.newOrg();
    const payload = { consecutive_failures: 2, hostname: 'srv-1', error_code: 'E1' };
    const [id = ''] = await fire(org, payload, { event_type: 'job.failed', source_product: 'backups' });
    await openGateOf(org, id);
    await cancel(org, id);
    await put(org, '/agents/agt_system_backup_followup', { status: 'paused' });
    expectRefusal(await retry(org, id), 409, 'agent_not_active');
    await put(org, '/agents/agt_system_backup_followup', { status: 'active' });
    const again = await retry(org, id);
    expect(again.status).toBe(202);
    await openGateOf(org, text(again.body['id']));
  });
});

test('an approval that nobody decides expires; the execution fails and can be retried', async () => {
  const org = await harness.newOrg();
  const step = { type: 'approval_gate' as const, id: 'gate', message: 'Quick?', expires_in: '1s' };
  await storedAgent(harness.store, org.id, [step, { type: 'set_variables', id: 'after', values: { a: '1' } }]);
  const id = await run(org);
  const done = await waitForExecution(org, id, ['failed']);
  expect(done).toMatchObject({ status_reason: 'approval_expired', error: { code: 'approval_expired' } });
  expect(statusesOf(done)).toEqual(['gate failed', 'after skipped']);
  const [approval] = list((await get(org, '/approvals?status=expired')).body['approvals']);
  expect(approval).toMatchObject({ execution_id: id, status: 'expired', decided_by: null, decided_at: null });
  const late = await post(org, `/approvals/${text(approval?.['id'])}/decision`, { decision: 'approved' });
  expect(late.status).toBe(409);
  expect((await retry(org, id)).status).toBe(202);
});
