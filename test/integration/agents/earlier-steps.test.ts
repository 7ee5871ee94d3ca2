/** What texts see of the steps before them that have no effect outside: delays, branches, and what a rule skipped. */
import { activeAgent, definitionWith, openGateOf, run, stepOf } from '../../support/agents';
import { joinStack, text, waitForExecution, type Body, type Harness } from '../../support/harness';
import { mailbox } from '../../support/mailbox';
import { startHttpServer, type HttpStandIn } from '../../support/stand-ins/http-server';
import { ISO, statusesOf } from './support';

let harness: Harness;
let stub: HttpStandIn;
beforeAll(async () => {
  harness = joinStack();
  stub = await startHttpServer(() => ({ body: { ok: true } }));
});
afterAll(async () => {
  await stub.stop();
  await harness.close();
});

type Fields = Record<string, unknown>;

const IS_ADA = { field: 'event_payload.name', operator: 'eq', value: 'Ada' };
const NOBODY = { field: 'event_payload.name', operator: 'eq', value: 'nobody' };
const DELAY = { type: 'delay', id: 'd', for: '1s' };
const SKIPPED = { type: 'set_variables', id: 's', values: { a: 'never' }, when: NOBODY };
const TEXT = '{{steps.d.output.resumed_at}} {{steps.d.status}} {{steps.s.status}} {{default vars.a "no a"}}';
const set = (id: string, values: Fields, more: Fields = {}): Fields => ({ type: 'set_variables', id, values, ...more });

async function runToEnd(steps: Fields[], payload: Fields = { name: 'Ada' }): Promise<Body> {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith(steps));
  const done = await waitForExecution(org, await run(org, payload), ['completed', 'failed', 'cancelled']);
  expect(done['status']).toBe('completed');
  return done;
}

/** What `TEXT` must have become, by the trace. */
const expectedOf = (done: Body): string => {
  const resumedAt = stepOf(done, 'd')['output']?.['resumed_at'];
  expect(resumedAt).toEqual(ISO);
  return `${text(resumedAt)} completed skipped no a`;
};

test('variables, and those of the row behind them', async () => {
  const done = await runToEnd([DELAY, SKIPPED, set('z', { said: TEXT }), set('after', { said: TEXT })]);
  expect(stepOf(done, 'z')['output']).toEqual({ said: expectedOf(done) });
  expect(stepOf(done, 'after')['output']).toEqual({ said: expectedOf(done) });
});

test('variables that have a rule of their own', async () => {
  const done = await runToEnd([DELAY, SKIPPED, set('z', { said: TEXT }, { when: IS_ADA })]);
  expect(stepOf(done, 'z')['output']).toEqual({ said: expectedOf(done) });
});

test('a request, and the row behind it', async () => {
  const call = { type: 'http_request', id: 'call', url: `${stub.url}/said`, method: 'POST', body: { said: TEXT } };
  const done = await runToEnd([DELAY, SKIPPED, call, set('after', { said: TEXT })]);
  expect(stub.requests.at(-1)?.body).toEqual({ said: expectedOf(done) });
  expect(stepOf(done, 'after')['output']).toEqual({ said: expectedOf(done) });
});

test('a mail', async () => {
  const mail = { type: 'notification', id: 'mail', channel: 'email', recipients: ['a@example.com'], body: TEXT };
  const done = await runToEnd([DELAY, SKIPPED, mail]);
  const [received] = await mailbox(harness.address.inboxUrl, text(done['id']));
  expect(received?.text.trim()).toBe(expectedOf(done));
});

test('the message that an approver reads', async () => {
  const org = await harness.newOrg();
  await activeAgent(org, definitionWith([DELAY, SKIPPED, { type: 'approval_gate', id: 'ok', message: TEXT }]));
  const id = await run(org);
  const gate = await openGateOf(org, id);
  const waiting = await waitForExecution(org, id, ['waiting_approval']);
  expect(gate['message']).toBe(expectedOf(waiting));
});

test('what a model is told', async () => {
  const think = { type: 'ai_reason', id: 'think', tier: 'quick', prompt: 'When did it go on? {{steps.d.output}}' };
  const done = await runToEnd([DELAY, think]);
  expect(text(stepOf(done, 'think')['output']?.['text'])).toContain(text(stepOf(done, 'd')['output']?.['resumed_at']));
});

test('steps inside a branch see which way was taken, and so do those behind it', async () => {
  const value = { way: '{{steps.b.output.taken}} {{steps.b.status}}' };
  const branch = {
    type: 'branch',
    id: 'b',
    branches: [{ name: 'ada', when: IS_ADA, steps: [set('inside', value)] }],
    else: [set('never', { a: 1 })],
  };
  const done = await runToEnd([branch, set('behind', { ...value, other: '{{steps.never.status}}' })]);
  expect(statusesOf(done)).toEqual(['b completed', 'inside completed', 'never skipped', 'behind completed']);
  expect(stepOf(done, 'inside')['output']).toEqual({ way: 'ada completed' });
  expect(stepOf(done, 'behind')['output']).toEqual({ way: 'ada completed', other: 'skipped' });
});
