/** What the trace shows while an execution waits or works, wherever the step stands. */
import { activeAgent, definitionWith, mailTo, run } from '../support/agents';
import {
  joinStack,
  list,
  text,
  waitFor,
  waitForExecution,
  type Body,
  type Harness,
  type TestOrg,
} from '../support/harness';
import { startHttpServer, type HttpStandIn } from '../support/stand-ins/http-server';

let harness: Harness;
let stub: HttpStandIn;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  stub = await startHttpServer(({ path }) => {
    if (path === '/slow') return { delayMs: 3_000 };
    // Long enough for a look before the answer.
    return { delayMs: 700, status: path === '/broken' ? 500 : 200 };
  });
});
beforeEach(async () => {
  org = await harness.newOrg();
});
afterAll(async () => {
  await stub.stop();
  await harness.close();
});

type Fields = Record<string, unknown>;

const IS_ADA = { field: 'event_payload.name', operator: 'eq', value: 'Ada' };
const NOBODY = { field: 'event_payload.name', operator: 'eq', value: 'nobody' };
const set = (id: string, more: Fields = {}): Fields => ({ type: 'set_variables', id, values: { [id]: 'x' }, ...more });
const fork = (...steps: Fields[]): Fields => ({
  type: 'branch',
  id: 'fork',
  branches: [{ name: 'ada', when: IS_ADA, steps }],
});
const slow = (more: Fields = {}): Fields => ({ type: 'http_request', id: 'call', url: `${stub.url}/slow`, ...more });
const DELAY = { type: 'delay', id: 'wait', for: '1h' };
const LEFT_OUT = set('out', { when: NOBODY });

const start = async (...steps: Fields[]): Promise<string> => {
  await activeAgent(org, definitionWith(steps));
  return run(org, { name: 'Ada' });
};
const stepsOf = (execution: Body): Body[] => list(execution['steps']);
const shown = (execution: Body): string[] =>
  stepsOf(execution).map((step) => `${text(step['step_id'])} ${text(step['status'])}`);

/** Polls as clients do who keep the tag of what they have: what it does not cover, they never see. */
async function whenSeen(id: string, isIt: (execution: Body) => boolean): Promise<Body> {
  let tag = '';
  return waitFor(async () => {
    const headers = tag ? { 'if-none-match': tag } : {};
    const answer = await org.call('GET', `/agents/api/executions/${id}`, undefined, headers);
    tag = answer.headers.get('etag') ?? '';
    return answer.status === 200 && isIt(answer.body) ? answer.body : null;
  });
}
const whenShown = (id: string, step: string): Promise<Body> =>
  whenSeen(id, (execution) => shown(execution).includes(step));

test.each([
  ['first', () => [DELAY, mailTo('x@example.com')], ['wait running', 'mail pending']],
  ['behind an effect', () => [slow(), DELAY, set('last')], ['call completed', 'wait running', 'last pending']],
  ['behind what the workflow worked out', () => [LEFT_OUT, DELAY], ['out skipped', 'wait running']],
  ['in a branch', () => [fork(DELAY)], ['fork completed', 'wait running']],
])('a delay that goes on is running, and what came before is there: %s', async (_where, steps, expected) => {
  const id = await start(...steps());
  const execution = await whenShown(id, 'wait running');
  expect(shown(execution)).toEqual(expected);
  const wait = stepsOf(execution).find((step) => text(step['step_id']) === 'wait');
  expect(wait).toMatchObject({
    started_at: expect.any(String) as unknown,
    completed_at: null,
    attempts: 0,
    output: {},
  });
  const cancelled = (await org.call('POST', `/agents/api/executions/${id}/cancel`)).body;
  expect([text(cancelled['status']), shown(cancelled).includes('wait skipped')]).toEqual(['cancelled', true]);
});

test('a delay and a branch that are over were tried once, and the delay began when it was shown to', async () => {
  const id = await start(fork({ ...DELAY, for: '2s' }), set('last'));
  const during = await whenShown(id, 'wait running');
  const done = await waitForExecution(org, id, ['completed']);
  expect(stepsOf(done).map((step) => step['attempts'])).toEqual([1, 1, 1]);
  expect(stepsOf(done)[1]?.['started_at']).toBe(stepsOf(during)[1]?.['started_at']);
});

test.each([
  ['with a rule of its own', () => [set('one'), slow({ when: IS_ADA })], ['one completed', 'call running']],
  ['behind a delay', () => [{ ...DELAY, for: '1s' }, slow()], ['wait completed', 'call running']],
  ['first in a branch', () => [fork(slow()), LEFT_OUT], ['fork completed', 'call running', 'out pending']],
])('an effect that takes long is running: %s', async (_where, steps, expected) => {
  const id = await start(...steps());
  const during = await whenShown(id, 'call running');
  expect(shown(during)).toEqual(expected);
  const done = await waitForExecution(org, id, ['completed']);
  const call = stepsOf(done).find((step) => text(step['step_id']) === 'call');
  expect(call?.['started_at']).toBe(stepsOf(during).find((step) => text(step['step_id']) === 'call')?.['started_at']);
  expect(Number(call?.['duration_ms'])).toBeGreaterThanOrEqual(3_000);
});

test('a step that is tried again shows what went wrong', async () => {
  const id = await start({ ...slow({ retry: { max_attempts: 2, initial: '3s' } }), url: `${stub.url}/broken` });
  const during = await whenSeen(id, ({ steps }) => (list(steps)[0]?.['attempts'] as unknown) === 1);
  expect(stepsOf(during)[0]).toMatchObject({ status: 'running', error: { code: 'server_error' } });
});

test('whom a notification has reached is shown while it goes on', async () => {
  const recipients = [`${stub.url}/told`, `${stub.url}/slow`];
  const id = await start({ type: 'notification', id: 'tell', channel: 'webhook', recipients, body: 'x' });
  const during = await whenSeen(id, ({ steps }) => 'deliveries' in (list(steps)[0]?.['output'] ?? {}));
  expect(stepsOf(during)[0]).toMatchObject({ status: 'running', output: { deliveries: [{ status: 'sent' }] } });
});

test('what is in no branch that was taken says why', async () => {
  const id = await start({ ...fork(set('inner')), branches: [{ name: 'none', when: NOBODY, steps: [set('inner')] }] });
  const done = await waitForExecution(org, id, ['completed']);
  expect(stepsOf(done)[1]?.['output']).toEqual({ reason: 'no branch was taken' });
});
