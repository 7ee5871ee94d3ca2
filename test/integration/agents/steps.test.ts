/** What each kind of step does, what it leaves in the trace, and in which order steps run. */
import { mailbox } from '../../support/mailbox';
import { activeAgent, definitionWith, fire, mailTo, stepOf } from '../../support/agents';
import { joinStack, list, text, waitForExecution, type Body, type Harness, type TestOrg } from '../../support/harness';
import { startHttpServer, type Answer as Reply, type HttpStandIn } from '../../support/stand-ins/http-server';
import { ISO, like, statusesOf } from './support';

let harness: Harness;
let stub: HttpStandIn;
/** What the stub answers, by path. */
const replies: Record<string, () => Reply> = {};
beforeAll(async () => {
  harness = joinStack();
  stub = await startHttpServer(({ path }) => replies[path.split('?')[0] ?? '']?.() ?? { status: 404 });
});
afterAll(async () => {
  await stub.stop();
  await harness.close();
});

type Fields = Record<string, unknown>;

const rule = (field: string, operator: string, value?: unknown): Fields => ({
  field,
  operator,
  ...(value === undefined ? {} : { value }),
});
const set = (id: string, values: Fields, more: Fields = {}): Fields => ({ type: 'set_variables', id, values, ...more });
const call = (path: string, more: Fields = {}): Fields => ({
  type: 'http_request',
  id: 'call',
  url: `${stub.url}${path}`,
  retry: { max_attempts: 1 },
  ...more,
});

/** Runs steps once, in an org of their own, to the end. */
async function runToEnd(steps: Fields[], payload: Fields = { name: 'Ada' }, sender?: TestOrg): Promise<Body> {
  const org = sender ?? (await harness.newOrg());
  await activeAgent(org, definitionWith(steps, { name: 'The agent' }));
  const [id = ''] = await fire(org, payload);
  return waitForExecution(org, id, ['completed', 'failed', 'cancelled'], 40_000);
}

describe('branch and when', () => {
  const fork = (more: Fields = {}): Fields => ({
    type: 'branch',
    id: 'fork',
    branches: [
      { name: 'urgent', when: rule('event_payload.level', 'gte', 3), steps: [set('a', { way: 'urgent' })] },
      { name: 'normal', when: rule('event_payload.level', 'gte', 2), steps: [set('b', { way: 'normal' })] },
    ],
    ...more,
  });

  test.each([
    [3, 'urgent', ['fork completed', 'a completed', 'b skipped', 'c skipped', 'after completed']],
    [2, 'normal', ['fork completed', 'a skipped', 'b completed', 'c skipped', 'after completed']],
    [1, 'else', ['fork completed', 'a skipped', 'b skipped', 'c completed', 'after completed']],
  ])('level %d takes the way %s, the first whose rule holds', async (level, way, expected) => {
    const steps = [fork({ else: [set('c', { way: 'else' })] }), set('after', { taken: '{{vars.way}}' })];
    const done = await runToEnd(steps, { level });
    expect([done['status'], statusesOf(done)]).toEqual(['completed', expected]);
    expect(stepOf(done, 'fork')['output']).toEqual({ taken: way });
    expect(stepOf(done, 'after')['output']).toEqual({ taken: way });
    const skipped = list(done['steps']).filter((step) => text(step['status']) === 'skipped');
    for (const step of skipped) {
      expect(step).toMatchObject({ output: { reason: 'another branch was taken' }, credits_used: 0, error: null });
    }
  });

  test('without a way that holds and without else nothing inside runs, and the branch says so', async () => {
    const done = await runToEnd([fork()], { level: 0 });
    expect([done['status'], statusesOf(done)]).toEqual(['completed', ['fork completed', 'a skipped', 'b skipped']]);
    expect(stepOf(done, 'fork')['output']).toEqual({ taken: null });
    expect(list(done['steps']).map((step) => text(step['path']))).toEqual(['0', '0/urgent/0', '0/normal/0']);
  });

  test('a step whose rule does not hold is skipped, with everything inside it', async () => {
    const never = { when: rule('event_payload.level', 'gt', 9) };
    const done = await runToEnd([set('first', { x: 1 }, never), fork(never), set('last', { y: '[{{vars.x}}]' })], {
      level: 3,
    });
    expect(statusesOf(done)).toEqual(['first skipped', 'fork skipped', 'a skipped', 'b skipped', 'last completed']);
    expect(stepOf(done, 'last')['output']).toEqual({ y: '[]' });
    expect(stepOf(done, 'first')).toMatchObject({ output: { reason: 'its condition does not hold' }, started_at: ISO });
  });

  test('later rules see what steps did: their status, their output, their variables', async () => {
    replies['/facts'] = () => ({ body: { count: 7, nested: { flag: true } } });
    const done = await runToEnd(
      [
        set('vars', { level: '{{event_payload.level}}' }),
        fork(),
        call('/facts'),
        set('one', { ok: 1 }, { when: rule('vars.level', 'eq', 3) }),
        set('two', { ok: 1 }, { when: rule('steps.fork.output.taken', 'eq', 'urgent') }),
        set('three', { ok: 1 }, { when: rule('steps.b.status', 'eq', 'skipped') }),
        set('four', { ok: 1 }, { when: rule('steps.call.output.body.count', 'gt', 6) }),
        set('five', { ok: 1 }, { when: rule('steps.call.output.body.nested.flag', 'eq', true) }),
        set('six', { ok: 1 }, { when: rule('steps.call.output.status', 'eq', 200) }),
        set(
          'seven',
          { ok: 1 },
          { when: { all: [rule('steps.one.status', 'eq', 'completed'), rule('vars.ok', 'eq', 1)] } },
        ),
        set('never', { ok: 1 }, { when: rule('steps.call.output.body.count', 'gt', 7) }),
      ],
      { level: 3 },
    );
    expect(statusesOf(done).filter((line) => line.endsWith('skipped'))).toEqual(['b skipped', 'never skipped']);
    expect(done['status']).toBe('completed');
  });

  test('branches inside branches keep their order and their paths', async () => {
    const inner = {
      type: 'branch',
      id: 'inner',
      branches: [{ name: 'deep', when: rule('event_payload.x', 'exists'), steps: [set('leaf', { x: '1' })] }],
      else: [set('other', { x: '2' })],
    };
    const outer = {
      type: 'branch',
      id: 'outer',
      branches: [
        { name: 'in', when: rule('event_payload.y', 'exists'), steps: [inner, set('next', { z: '{{vars.x}}' })] },
      ],
    };
    const done = await runToEnd([outer], { y: 1 });
    expect(list(done['steps']).map((step) => `${text(step['path'])} ${text(step['status'])}`)).toEqual([
      '0 completed',
      '0/in/0 completed',
      '0/in/0/deep/0 skipped',
      '0/in/0/else/0 completed',
      '0/in/1 completed',
    ]);
    expect(stepOf(done, 'next')['output']).toEqual({ z: '2' });
  });
});

describe('set_variables and placeholders', () => {
  test('a lone placeholder keeps its type, text around it makes text, later values replace earlier ones', async () => {
    const payload = { count: 3, on: true, list: [1, 'two'], object: { a: null }, name: 'Ada & "Bob"' };
    const values = {
      count: '{{event_payload.count}}',
      on: '{{event_payload.on}}',
      list: '{{event_payload.list}}',
      object: { inside: ['{{event_payload.object}}'] },
      missing: '{{event_payload.nothing}}',
      text: 'n={{event_payload.count}} {{event_payload.list}} {{event_payload.nothing}}{{event_payload.name}}',
      plain: 5,
    };
    const done = await runToEnd(
      [
        set('one', values),
        set('two', { count: '{{vars.count}}{{vars.plain}}' }),
        set('three', { last: '{{vars.count}}' }),
      ],
      payload,
    );
    expect(stepOf(done, 'one')['output']).toEqual({
      count: 3,
      on: true,
      list: [1, 'two'],
      object: { inside: [{ a: null }] },
      missing: null,
      text: 'n=3 1, two Ada & "Bob"',
      plain: 5,
    });
    expect(stepOf(done, 'three')['output']).toEqual({ last: '35' });
  });

  test('every root can be read, and every helper does what it is called', async () => {
    const org = await harness.newOrg();
    const done = await runToEnd(
      [
        set('roots', {
          org: '{{org.id}} {{org.name}}',
          agent: '{{agent.name}}',
          execution: '{{execution.url}}',
          event: '{{event.event_type}} {{event.source_product}} {{event.id}}',
        }),
        set('helpers', {
          helped:
            '{{default event_payload.none "-"}}|{{upper event_payload.name}}|{{lower event_payload.name}}|{{trim event_payload.wide}}|{{truncate event_payload.name 2}}|{{date event_payload.at "DD.MM.YYYY"}}|{{join event_payload.tags "+"}}|{{length event_payload.tags}}|{{json event_payload.tags}}',
        }),
      ],
      { name: 'Ada', wide: '  x ', at: '2026-11-20T10:00:00Z', tags: ['a', 'b'] },
      org,
    );
    expect(stepOf(done, 'roots')['output']).toEqual({
      org: `${org.id} Test org`,
      agent: 'The agent',
      execution: `${harness.address.baseUrl}/agents/api/executions/${text(done['id'])}`,
      event: `custom.test psa ${text(done['trigger_event']?.['id'])}`,
    });
    expect(stepOf(done, 'helpers')['output']).toEqual({ helped: '-|ADA|ada|x|A…|20.11.2026|a+b|2|["a","b"]' });
  });
});

describe('http_request', () => {
  test('sends what its author wrote, filled in, and keeps what came back', async () => {
    replies['/tickets'] = () => ({
      status: 201,
      headers: { etag: '"v1"', 'set-cookie': 'secret=1' },
      body: { id: 9, $ref: '#', 'a.b': { $set: 1 }, '': 0 },
    });
    const done = await runToEnd(
      [
        call('/tickets?for={{event_payload.name}}&by={{event_payload.who}}', {
          method: 'POST',
          headers: { 'X-From': '{{agent.name}}' },
          body: { title: 'For {{event_payload.name}}', tags: '{{event_payload.tags}}' },
        }),
        set('after', { id: '{{steps.call.output.body.id}}', ref: '{{steps.call.output.body}}' }),
      ],
      { name: 'Ada', tags: ['x'], who: 'a&b=c#d' },
    );
    expect(done['status']).toBe('completed');
    const received = stub.requests.filter(({ path }) => path === '/tickets?for=Ada&by=a%26b%3Dc%23d');
    expect(received).toEqual([expect.objectContaining({ method: 'POST', body: { title: 'For Ada', tags: ['x'] } })]);
    expect(received[0]?.headers).toMatchObject({ 'x-from': 'The agent', 'idempotency-key': `${text(done['id'])}:0` });
    expect(stepOf(done, 'call')).toMatchObject({ status: 'completed', credits_used: 0, attempts: 1 });
    expect(stepOf(done, 'call')['output']).toEqual({
      status: 201,
      headers: { 'content-type': 'application/json', etag: '"v1"' },
      body: { id: 9, $ref: '#', 'a.b': { $set: 1 }, '': 0 },
    });
    expect(stepOf(done, 'after')['output']).toMatchObject({ id: 9 });
  });

  test.each([
    [400, 'rejected'],
    [404, 'rejected'],
    [429, 'rate_limited'],
    [503, 'server_error'],
  ])('a reply of %d fails the step as %s, and with it the execution', async (status, code) => {
    replies[`/fails-${status}`] = () => ({ status });
    const done = await runToEnd([set('first', { a: 1 }), call(`/fails-${status}`), mailTo('never@example.com')]);
    expect(done).toMatchObject({ status: 'failed', status_reason: 'step_failed', error: { code }, completed_at: ISO });
    expect(statusesOf(done)).toEqual(['first completed', 'call failed', 'mail skipped']);
    expect(stepOf(done, 'call')).toMatchObject({
      error: { code, message: expect.stringContaining(String(status)) as unknown },
    });
    expect(await mailbox(harness.address.inboxUrl, text(done['id']))).toEqual([]);
  });

  test('expect_status says which replies are good', async () => {
    replies['/gone'] = () => ({ status: 410, body: { gone: true } });
    replies['/fine'] = () => ({ status: 200 });
    const good = await runToEnd([call('/gone', { expect_status: [404, 410] })]);
    expect([good['status'], stepOf(good, 'call')['output']]).toEqual([
      'completed',
      { status: 410, headers: { 'content-type': 'application/json' }, body: { gone: true } },
    ]);
    expect((await runToEnd([call('/fine', { expect_status: [204] })]))['status']).toBe('failed');
  });

  test('a passing failure is tried again within the step’s limit, with the same idempotency key', async () => {
    let times = 0;
    replies['/flaky'] = () => ({ status: (times += 1) < 3 ? 503 : 200, body: { times } });
    const done = await runToEnd([call('/flaky', { retry: { max_attempts: 3, initial: '1s', max: '1s' } })]);
    expect(stepOf(done, 'call')).toMatchObject({ status: 'completed', attempts: 3, output: { body: { times: 3 } } });
    const keys = stub.requests.filter(({ path }) => path === '/flaky').map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual(Array.from({ length: 3 }, () => `${text(done['id'])}:0`));
  });

  test('an address that may not be reached, a wrong header or a missing host fail at once', async () => {
    const failures = await Promise.all([
      runToEnd([call('', { url: 'http://169.254.169.254/latest/meta-data/' })]),
      runToEnd([call('/x', { headers: { 'X-Name': '{{event_payload.name}}' } })], { name: 'a\r\nHost: evil' }),
      runToEnd([call('/tickets/{{event_payload.name}}/close')], { name: '..' }),
      runToEnd([call('/x', { body: { text: '-{{event_payload.name}}'.repeat(6) } })], { name: 'x'.repeat(200_000) }),
    ]);
    expect(failures.map((done) => [done['status'], stepOf(done, 'call')['error']?.['code']])).toEqual([
      ['failed', 'blocked_address'],
      ['failed', 'invalid_input'],
      ['failed', 'invalid_template'],
      ['failed', 'text_too_large'],
    ]);
  });

  test('a large reply is kept as its beginning', async () => {
    replies['/large'] = () => ({ body: 'x'.repeat(200_000) });
    const done = await runToEnd([call('/large')]);
    expect(done['status']).toBe('completed');
    expect(text(stepOf(done, 'call')['output']?.['body']).length).toBeLessThan(66_000);
  });
});

test('a gate whose message cannot be rendered fails at once, before anybody is asked', async () => {
  const done = await runToEnd(
    [{ type: 'approval_gate', id: 'ok', message: '{{event_payload.name}}'.repeat(6) }, mailTo('never@example.com')],
    { name: 'x'.repeat(200_000) },
  );
  expect([done['status'], done['error']?.['code'], statusesOf(done)]).toEqual([
    'failed',
    'text_too_large',
    ['ok failed', 'mail skipped'],
  ]);
});

describe('on_error', () => {
  test('continue: the step is failed in the trace, the rest runs and can ask for it', async () => {
    const done = await runToEnd([
      call('/nothing-here', { on_error: 'continue' }),
      set('told', { was: '{{steps.call.status}} {{steps.call.output.status}}' }),
      set('then', { a: 1 }, { when: rule('steps.call.status', 'eq', 'failed') }),
      set('never', { a: 1 }, { when: rule('steps.call.status', 'eq', 'completed') }),
    ]);
    expect([done['status'], done['error'], statusesOf(done)]).toEqual([
      'completed',
      null,
      ['call failed', 'told completed', 'then completed', 'never skipped'],
    ]);
    expect(stepOf(done, 'call')).toMatchObject({ error: { code: 'rejected' }, completed_at: ISO });
    expect(stepOf(done, 'told')['output']).toEqual({ was: 'failed ' });
  });

  test('continue on the last step, inside a branch too, completes the execution', async () => {
    const last = call('/nothing-here', { on_error: 'continue' });
    const inBranch = {
      type: 'branch',
      id: 'fork',
      branches: [{ name: 'a', when: rule('event_payload.name', 'exists'), steps: [last] }],
    };
    for (const steps of [[last], [inBranch]]) expect((await runToEnd(steps))['status']).toBe('completed');
  });

  test('fail: what runs in a branch ends everything after it', async () => {
    const inBranch = {
      type: 'branch',
      id: 'fork',
      branches: [
        { name: 'a', when: rule('event_payload.name', 'exists'), steps: [call('/nothing-here'), set('b', { a: 1 })] },
      ],
      else: [set('c', { a: 1 })],
    };
    const done = await runToEnd([inBranch, set('d', { a: 1 })]);
    expect([done['status'], statusesOf(done)]).toEqual([
      'failed',
      ['fork completed', 'call failed', 'b skipped', 'c skipped', 'd skipped'],
    ]);
  });
});

describe('notification', () => {
  test('sms goes to the gateway and from there to the inbox', async () => {
    const sms = {
      type: 'notification',
      id: 'sms',
      channel: 'sms',
      recipients: ['+15551234567', 'oncall:primary'],
      body: 'Call {{event_payload.name}} {{execution.id}}',
    };
    const done = await runToEnd([sms]);
    const deliveries = list(stepOf(done, 'sms')['output']?.['deliveries']);
    expect(deliveries.map((delivery) => [text(delivery['recipient']), text(delivery['status'])])).toEqual([
      ['+15551234567', 'sent'],
      ['oncall:primary', 'sent'],
    ]);
    const inbox = (await (await fetch(`${harness.address.inboxUrl}.json`)).json()) as { messages: Fields[] };
    const messages = inbox.messages.filter((message) => message['text'] === `Call Ada ${text(done['id'])}`);
    expect(new Set(messages.map(({ channel, to }) => `${String(channel)} ${String(to)}`))).toEqual(
      new Set(['sms +15551234567', 'sms oncall:primary']),
    );
    expect(messages).toHaveLength(2);
  });

  test('one mail for each recipient, once, with its own subject or the agent’s name', async () => {
    const mail = {
      ...mailTo('a@example.com'),
      recipients: ['a@example.com', '{{event_payload.mail}}', 'a@example.com'],
    };
    const bare = { ...mail, id: 'bare', recipients: ['c@example.com'], subject: undefined };
    const hollow = { ...mail, id: 'hollow', recipients: ['d@example.com'], subject: ' {{event_payload.none}}' };
    const done = await runToEnd([mail, bare, hollow], { name: 'Ada', mail: 'b@example.com' });
    const mails = await mailbox(harness.address.inboxUrl, text(done['id']));
    expect(mails.map(({ to, subject }) => `${String(to[0])} ${subject}`).toSorted()).toEqual([
      'a@example.com For Ada',
      'b@example.com For Ada',
      'c@example.com The agent',
      'd@example.com The agent',
    ]);
    expect(list(stepOf(done, 'mail')['output']?.['deliveries'])).toEqual(
      ['a@example.com', 'b@example.com'].map((recipient) => ({
        recipient,
        status: 'sent',
        message_id: like(/^<.+>$/),
      })),
    );
  });

  test('line breaks in the data become single spaces in a subject, and never headers', async () => {
    const done = await runToEnd([mailTo('a@example.com')], { name: ' Ada \r\n Bcc: eve@example.com\n\n\u2028Bob\n' });
    expect(done['status']).toBe('completed');
    const [mail, ...others] = await mailbox(harness.address.inboxUrl, text(done['id']));
    expect([mail?.subject, mail?.to, others]).toEqual(['For  Ada Bcc: eve@example.com Bob', ['a@example.com'], []]);
    expect(Object.keys(mail?.headers ?? {}).map((name) => name.toLowerCase())).not.toContain('bcc');
  });

  test('a recipient that came out empty or wrong fails alone; when all do, the step fails', async () => {
    const some = await runToEnd(
      [{ ...mailTo('a@example.com'), recipients: ['a@example.com', '{{event_payload.mail}}'] }],
      { name: 'Ada' },
    );
    expect(some['status']).toBe('completed');
    expect(list(stepOf(some, 'mail')['output']?.['deliveries']).map((delivery) => text(delivery['status']))).toEqual([
      'sent',
      'rejected',
    ]);
    const none = await runToEnd([{ ...mailTo('{{event_payload.mail}}') }], { mail: 'no address' });
    expect(none).toMatchObject({ status: 'failed', error: { code: 'rejected' } });
  });
});

describe('ai_reason and delay', () => {
  test('a prompt takes the helpers that other texts take, and is charged for what they leave', async () => {
    const prompt =
      'Look at {{truncate event_payload.long 10}}, {{default event_payload.none "fallback"}}, {{upper event_payload.u}}, {{date event_payload.at "YYYY"}}, {{length event_payload.l}}.';
    const org = await harness.newOrg({ credits: 1 });
    const payload = { long: 'Abcdefghi '.repeat(10_000), u: 'loud', at: '2026-11-20T10:00:00Z', l: [1, 2, 3] };
    const done = await runToEnd([{ type: 'ai_reason', id: 'think', tier: 'quick', prompt }], payload, org);
    // The offline provider answers from the data alone: the values stand there, not in the instruction.
    expect(stepOf(done, 'think')['output']).toEqual({ text: 'Abcdefghi…\n\nfallback\n\nLOUD\n\n2026\n\n3' });
    expect(done).toMatchObject({ status: 'completed', credits_used: 1 });
  });

  test('the offline provider answers from the data, says that it is offline, and is charged by tier', async () => {
    const think = { type: 'ai_reason', id: 'think', tier: 'quick', prompt: 'Summarise: {{event_payload.title}}' };
    const done = await runToEnd([think, set('after', { said: '{{steps.think.output.text}}' })], {
      title: 'The mail server is down.',
    });
    expect(stepOf(done, 'think')).toMatchObject({
      status: 'completed',
      output: { text: expect.stringContaining('mail server is down') as unknown },
      credits_used: 1,
      model: { tier: 'quick', provider: 'offline' },
      usage: { input_tokens: expect.any(Number) as unknown, output_tokens: expect.any(Number) as unknown },
    });
    expect(done['credits_used']).toBe(1);
    expect(stepOf(done, 'after')['output']).toEqual({ said: stepOf(done, 'think')['output']?.['text'] });
  });

  test('with an output schema the answer is an object of that schema', async () => {
    const schema = {
      type: 'object',
      required: ['priority', 'email'],
      properties: { priority: { type: 'string', enum: ['low', 'high'] }, email: { type: 'string' } },
    };
    const think = { type: 'ai_reason', id: 'think', prompt: 'Read {{event_payload.text}}', output_schema: schema };
    const done = await runToEnd([think], { text: 'High priority, write to ada@example.com' });
    const output = stepOf(done, 'think')['output'];
    expect(['low', 'high']).toContain(text(output?.['priority']));
    expect(output?.['email']).toBe('ada@example.com');
    expect(stepOf(done, 'think')['credits_used']).toBe(3);
  });

  test('a delay waits at least as long as it says', async () => {
    const done = await runToEnd([{ type: 'delay', id: 'wait', for: '1s' }, set('after', { a: 1 })]);
    expect(statusesOf(done)).toEqual(['wait completed', 'after completed']);
    expect(stepOf(done, 'wait')['output']).toEqual({ resumed_at: ISO });
    expect(Number(stepOf(done, 'wait')['duration_ms'])).toBeGreaterThanOrEqual(1_000);
  });

  test.each([
    ['a delay', { type: 'delay', id: 'last', for: '1s' }],
    ['a step that is left out', set('last', { a: 1 }, { when: rule('event_payload.none', 'exists') })],
  ])('an execution whose last step is %s completes', async (_what, last) => {
    expect((await runToEnd([set('first', { a: 1 }), last]))['status']).toBe('completed');
    expect((await runToEnd([last]))['status']).toBe('completed');
  });
});
