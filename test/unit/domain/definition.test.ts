import type { AgentDefinition } from '../../../src/contracts/agent';
import type { Condition } from '../../../src/contracts/condition';
import type { Step } from '../../../src/contracts/step';
import { base, brief, check, checkBody, note, triage } from './definition-fixture';

test('a definition in order has no findings', () => {
  expect(check({})).toEqual([]);
  expect(check({ steps: [triage, note] })).toEqual([]);
});

describe('placeholders', () => {
  test.each([
    'plain',
    '{{event_payload.title}} {{event_payload.contact.email}} {{event_payload.contact.phone.country}}',
    '{{event_payload.tags.[0]}} {{event_payload.items.[2].sku}} {{json event_payload}}',
    '{{event.id}} {{event.event_type}} {{event.source_product}} {{date event.occurred_at}} {{event.client_id}}',
    '{{agent.id}} {{agent.name}} {{execution.id}} {{execution.url}} {{org.id}} {{org.name}}',
    '{{steps.triage.output.label}} {{steps.triage.status}} {{steps.triage.output.found.[0].name}} {{json steps.triage.output}}',
    '{{steps.triage.output.free.anything}} {{vars.seen}} {{steps.note.output.seen}}',
  ])('%p is accepted', (body) => {
    expect(checkBody(body, triage, note)).toEqual([]);
  });

  test.each([
    ['{{event_payload.titel}}', 'unknown_reference event_payload.title'],
    ['{{title}}', 'unknown_reference event_payload.title'],
    ['{{event_payload.items.[0].sk}}', 'unknown_reference'],
    ['{{event_payload.title.more}}', 'unknown_reference event_payload.title'],
    ['{{event_payload.__proto__}}', 'unknown_reference'],
    ['{{steps.triag.output.label}}', 'unknown_reference steps.triage.output.label'],
    ['{{steps.triag.output.nothing}}', 'unknown_reference steps.triage.output'],
    ['{{steps.triage.output.lable}}', 'unknown_reference steps.triage.output.label'],
    ['{{steps.triage.result}}', 'unknown_reference'],
    ['{{steps}}', 'unknown_reference'],
    ['{{vars.sean}}', 'unknown_reference vars.seen'],
    ['{{vars}}', 'unknown_reference'],
    ['{{event.ocurred_at}}', 'unknown_reference event.occurred_at'],
    ['{{now.iso}}', 'unknown_reference'],
    ['{{org.tier}}', 'unknown_reference'],
    ['{{secret.token}}', 'unknown_reference'],
    ['{{uper event_payload.title}}', 'unknown_helper upper'],
    ['{{event_payload.title', 'invalid_template'],
    ['{{#if vars.seen}}x{{/if}}', 'invalid_template'],
  ])('%p is refused', (body, expected) => {
    expect(brief(checkBody(body, triage, note))).toEqual([`/steps/2/body ${expected}`]);
  });

  test('a finding names line and column and what was meant', () => {
    expect(checkBody('one\ntwo {{steps.triag.output.label}}', triage)[0]).toEqual({
      path: '/steps/1/body',
      code: 'unknown_reference',
      message: 'steps.triag is not a step. (line 2, column 5) Did you mean "steps.triage.output.label"?',
      suggestion: 'steps.triage.output.label',
    });
  });

  test('a step cannot read itself or a later step', () => {
    const [itself, later] = check({
      steps: [
        { type: 'ai_reason', id: 'one', prompt: '{{steps.one.output.text}} {{steps.two.output.text}}' },
        { type: 'ai_reason', id: 'two', prompt: 'x' },
      ],
    });
    expect(itself?.message).toContain('The step "one" has not run by then');
    expect(later?.message).toContain('The step "two" has not run by then');
    expect(later?.suggestion).toBeUndefined();
  });

  test.each<[string, Step, string]>([
    ['prompt', { type: 'ai_reason', id: 's', prompt: '{{x.y}}' }, '/steps/0/prompt'],
    [
      'recipients',
      { type: 'notification', id: 's', channel: 'sms', recipients: ['+1', '{{x.y}}'], body: 'b' },
      '/steps/0/recipients/1',
    ],
    [
      'subject',
      { type: 'notification', id: 's', channel: 'sms', recipients: ['+1'], subject: '{{x.y}}', body: 'b' },
      '/steps/0/subject',
    ],
    ['message', { type: 'approval_gate', id: 's', message: '{{x.y}}' }, '/steps/0/message'],
    ['url', { type: 'http_request', id: 's', url: 'https://example.com/{{x.y}}' }, '/steps/0/url'],
    [
      'headers',
      { type: 'http_request', id: 's', url: 'https://example.com', headers: { 'X-A': '{{x.y}}' } },
      '/steps/0/headers/X-A',
    ],
    [
      'bodies at any depth',
      { type: 'http_request', id: 's', url: 'https://example.com', body: { 'a/b~c': [1, { d: '{{x.y}}' }] } },
      '/steps/0/body/a~1b~0c/1/d',
    ],
    ['values', { type: 'set_variables', id: 's', values: { a: { b: '{{x.y}}' } } }, '/steps/0/values/a/b'],
  ])('are checked in %s', (_, step, path) => {
    expect(check({ steps: [step] })).toEqual([expect.objectContaining({ path, code: 'unknown_reference' })]);
  });

  test('what a step of each type leaves behind is known', () => {
    const steps: Step[] = [
      { type: 'approval_gate', id: 'gate', message: 'm' },
      { type: 'http_request', id: 'http', url: 'https://example.com' },
      { type: 'ai_reason', id: 'think', prompt: 'p' },
      { type: 'delay', id: 'wait', for: '1h' },
      { type: 'set_variables', id: 'set', values: { plain: 'x', made: '{{json event_payload}}', deep: { a: 1 } } },
      { type: 'notification', id: 'told', channel: 'sms', recipients: ['+1'], body: 'b' },
    ];
    const fine =
      '{{steps.gate.output.decision}}{{steps.gate.output.decided_by}}{{steps.gate.output.note}}{{steps.http.output.status}}{{steps.http.output.body.any.thing}}{{steps.http.output.headers.etag}}{{steps.think.output.text}}{{steps.wait.output.resumed_at}}{{vars.plain}}{{vars.made.x}}{{vars.deep.a}}{{steps.told.output.deliveries.[0].status}}';
    expect(checkBody(fine, ...steps)).toEqual([]);
    for (const path of [
      'gate.output.decison',
      'http.output.code',
      'think.output.label',
      'wait.output.at',
      'told.output.sent',
    ]) {
      expect(brief(checkBody(`{{steps.${path}}}`, ...steps))[0]).toMatch(/^\/steps\/6\/body unknown_reference/);
    }
    expect(checkBody('{{vars.plain.x}}{{vars.deep.b}}', ...steps)).toHaveLength(2);
  });
});

describe('when and branches', () => {
  const branch = (inner: Step[], last: Step[] = [{ ...note, id: 'other', values: { colour: 'red' } }]): Step => ({
    type: 'branch',
    id: 'route',
    branches: [
      { name: 'outage', when: { field: 'steps.triage.output.label', operator: 'eq', value: 'outage' }, steps: inner },
      {
        name: 'rest',
        when: { field: 'steps.triage.output.score', operator: 'gt', value: 0.5 },
        steps: [{ ...note, id: 'rest', values: { size: 1 } }],
      },
    ],
    else: last,
  });
  const say = (body: string, id = 'say'): Step => ({
    type: 'notification',
    id,
    channel: 'sms',
    recipients: ['+1'],
    body,
  });

  test('steps inside see what ran before the branch; steps after it see every arm', () => {
    const steps = [
      triage,
      branch([say('{{steps.triage.output.label}} {{steps.triage.status}}')]),
      say('{{steps.say.status}} {{vars.colour}} {{vars.size}} {{steps.route.output.taken}}', 'last'),
    ];
    expect(check({ steps })).toEqual([]);
  });

  test('arms do not see each other', () => {
    const findings = check({
      steps: [triage, branch([{ ...note, id: 'inside' }], [say('{{steps.inside.status}} {{vars.size}}')])],
    });
    expect(brief(findings)).toEqual([
      '/steps/1/else/0/body unknown_reference',
      '/steps/1/else/0/body unknown_reference',
    ]);
    expect(findings[0]?.message).toContain('The step "inside" has not run by then');
  });

  test.each<[Condition, string]>([
    [{ field: 'steps.triage.output.label', operator: 'eq', value: 'outrage' }, 'value invalid_value outage'],
    [{ field: 'steps.triage.output.score', operator: 'contains', value: 'a' }, 'operator operator_type_mismatch eq'],
    [{ field: 'steps.triage.output.nothing', operator: 'exists' }, 'field unknown_reference'],
    [{ field: 'steps.triage.status', operator: 'eq', value: 'done' }, 'value invalid_value'],
    [{ field: 'steps.later.status', operator: 'eq', value: 'completed' }, 'field unknown_reference'],
    [{ field: 'agent.name', operator: 'eq', value: 'x' }, 'field unknown_reference'],
  ])('when %j is refused', (when, expected) => {
    const steps: Step[] = [triage, { ...note, when }, { ...note, id: 'later' }];
    expect(brief(check({ steps }))).toEqual([`/steps/1/when/${expected}`]);
  });

  test('rules of arms are checked where they stand', () => {
    const steps = [triage, branch([note])].slice(1);
    expect(brief(check({ steps }))).toEqual([
      '/steps/0/branches/0/when/field unknown_reference',
      '/steps/0/branches/1/when/field unknown_reference',
    ]);
  });

  test('a step id is used once, over all branches', () => {
    const findings = check({ steps: [triage, branch([{ ...note, id: 'triage' }], [{ ...note, id: 'rest' }])] });
    expect(brief(findings)).toEqual([
      '/steps/1/branches/0/steps/0/id duplicate_step_id',
      '/steps/1/else/0/id duplicate_step_id',
    ]);
    expect(findings[0]?.message).toContain('already used at /steps/0');
  });

  test('arms have names of their own, and else is taken', () => {
    const when: Condition = { field: 'org.id', operator: 'exists' };
    const arm = (name: string, id: string) => ({ name, when, steps: [{ ...note, id }] });
    const steps: Step[] = [
      { type: 'branch', id: 'b', branches: [arm('a', 'one'), arm('a', 'two'), arm('else', 'three')] },
    ];
    expect(brief(check({ steps }))).toEqual([
      '/steps/0/branches/1/name duplicate_branch_name',
      '/steps/0/branches/2/name duplicate_branch_name',
    ]);
  });

  const nested = (depth: number): Step =>
    depth === 0
      ? note
      : {
          type: 'branch',
          id: `b${depth}`,
          branches: [{ name: 'a', when: { field: 'org.id', operator: 'exists' }, steps: [nested(depth - 1)] }],
        };

  test('branches nest three levels deep and no deeper', () => {
    expect(check({ steps: [nested(3)] })).toEqual([]);
    expect(brief(check({ steps: [nested(4)] }))).toEqual([
      '/steps/0/branches/0/steps/0/branches/0/steps/0/branches/0/steps/0 too_deep',
    ]);
  });

  test('at most 100 steps, those inside branches included', () => {
    const many = (count: number, start: number): Step[] =>
      Array.from({ length: count }, (_, index) => ({ ...note, id: `n${start + index}` }));
    const wide: Step = { ...(nested(1) as Extract<Step, { type: 'branch' }>), else: many(19, 100) };
    expect(check({ steps: [...many(79, 0), wide] })).toEqual([]);
    expect(brief(check({ steps: [...many(80, 0), wide] }))).toEqual(['/steps too_many_steps']);
  });
});

describe('limits and fields', () => {
  test.each<[Step, string | null]>([
    [{ type: 'approval_gate', id: 's', message: 'm', expires_in: '5m' }, null],
    [{ type: 'approval_gate', id: 's', message: 'm', expires_in: '30d' }, null],
    [{ type: 'approval_gate', id: 's', message: 'm', expires_in: '4m' }, '/steps/0/expires_in'],
    [{ type: 'approval_gate', id: 's', message: 'm', expires_in: '31d' }, '/steps/0/expires_in'],
    [{ type: 'delay', id: 's', for: '1s' }, null],
    [{ type: 'delay', id: 's', for: '30d' }, null],
    [{ type: 'delay', id: 's', for: '721h' }, '/steps/0/for'],
    [{ ...note, timeout: '1h' }, null],
    [{ ...note, timeout: '61m' }, '/steps/0/timeout'],
    [{ ...note, retry: { max_attempts: 3, initial: '1s', max: '1d' } }, null],
    [{ ...note, retry: { max_attempts: 3, max: '2d' } }, '/steps/0/retry/max'],
    [{ ...note, retry: { max_attempts: 3, initial: '1m', max: '60s' } }, null],
    [{ ...note, retry: { max_attempts: 3, initial: '2m', max: '60s' } }, '/steps/0/retry/max'],
  ])('%j: %p is out of range', (step, path) => {
    expect(check({ steps: [step] })).toEqual(
      path === null ? [] : [expect.objectContaining({ path, code: 'out_of_range' })],
    );
  });

  test.each([
    ['ada@example.com', true],
    ['{{event_payload.contact.email}}', true],
    ['{{event_payload.client_id}}@example.com', true],
    ['ada', false],
    ['ada@', false],
    ['Ada <ada@example.com>', false],
    ['a@b.c, d@e.f', false],
    ['{{event_payload.tags}}', true],
    ['{{join event_payload.tags ", "}}', false],
    ['ada@example.com, {{event_payload.contact.email}}', false],
    ['{{event_payload.title}} <{{event_payload.contact.email}}>', true],
    ['"Desk, {{event_payload.title}}" <{{event_payload.contact.email}}>', true],
  ])('an email to %p is accepted: %p', (recipient, isFine) => {
    const step: Step = {
      type: 'notification',
      id: 's',
      channel: 'email',
      recipients: ['ok@example.com', recipient],
      body: 'b',
    };
    expect(brief(check({ steps: [step] }))).toEqual(isFine ? [] : ['/steps/0/recipients/1 invalid_recipient']);
    expect(check({ steps: [{ ...step, channel: 'slack' }] })).toEqual([]);
  });

  test.each([
    ['https://example.com/{{event_payload.title}}', true],
    ['{{event_payload.title}}', true],
    ['https://{{event_payload.title}}/x', true],
    ['the name that a gateway knows', true],
    ['https://example.com{{event_payload.title}}', false],
    ['https://example.com:{{event_payload.count}}/', false],
    ['https://user@example.com/', false],
  ])('a webhook message to %p is accepted: %p', (recipient, isFine) => {
    const step: Step = { type: 'notification', id: 's', channel: 'webhook', recipients: [recipient], body: 'b' };
    expect(brief(check({ steps: [step] }))).toEqual(isFine ? [] : ['/steps/0/recipients/0 invalid_recipient']);
  });

  test.each([
    ['https://example.com', true],
    ['http://example.com:8080/a?b=c', true],
    ['http://[::1]:80/x', true],
    ['HTTPS://example.com/{{event_payload.client_id}}', true],
    ['ftp://example.com', false],
    ['example.com/x', false],
    ['{{event_payload.title}}', false],
    ['https://{{event_payload.title}}/x', false],
    ['https://example.com{{event_payload.title}}', false],
    ['https://example.com@evil.example/', false],
    ['https://example.com\\@evil.example/', false],
    ['https://example.com:{{event_payload.count}}/', false],
    ['javascript:alert(1)', false],
    ['https://example.com:99999/', false],
    ['https://10.0.0.256/x', false],
  ])('a request to %p is accepted: %p', (url, isFine) => {
    expect(brief(check({ steps: [{ type: 'http_request', id: 's', url }] }))).toEqual(
      isFine ? [] : ['/steps/0/url invalid_url'],
    );
  });

  test('a gate has no way on but its approval', () => {
    const gate = { type: 'approval_gate', id: 'g', message: 'm' } as const;
    expect(check({ steps: [{ ...gate, on_error: 'fail' }] })).toEqual([]);
    expect(brief(check({ steps: [{ ...gate, on_error: 'continue' }] }))).toEqual([
      '/steps/0/on_error unexpected_on_error',
    ]);
  });

  test.each<[Record<string, unknown>, boolean]>([
    [{ type: 'object' }, true],
    [{ type: 'object', broken: true }, false],
    [{ type: 'string' }, false],
    [{}, false],
  ])('an output schema %j is accepted: %p', (schema, isFine) => {
    const step: Step = { type: 'ai_reason', id: 's', prompt: 'p', output_schema: schema };
    expect(brief(check({ steps: [step] }))).toEqual(isFine ? [] : ['/steps/0/output_schema invalid_schema']);
  });

  test.each<[AgentDefinition['client_scope'], string[], string[]]>([
    ['all', [], []],
    ['internal', [], []],
    ['selected', ['a'], []],
    ['excluded', ['a'], []],
    ['selected', [], ['/client_ids missing_client_ids']],
    ['excluded', [], ['/client_ids missing_client_ids']],
    ['all', ['a'], ['/client_ids unexpected_client_ids']],
    ['internal', ['a'], ['/client_ids unexpected_client_ids']],
  ])('scope %s with clients %j', (client_scope, client_ids, expected) => {
    expect(brief(check({ client_scope, client_ids }))).toEqual(expected);
  });
});

test('several findings come at once, in the order of the definition', () => {
  const findings = check({
    trigger: { ...base.trigger, filters: [{ field: 'titel', operator: 'eq', value: 'a' }] },
    conditions: [{ field: 'now.hour', operator: 'eq', value: 'x' }],
    steps: [
      { type: 'delay', id: 'a', for: '31d' },
      { type: 'ai_reason', id: 'a', prompt: '{{x.y}}' },
    ],
    client_scope: 'selected',
  });
  expect(findings.map(({ path }) => path)).toEqual([
    '/trigger/filters/0/field',
    '/conditions/0/value',
    '/steps/1/id',
    '/steps/0/for',
    '/steps/1/prompt',
    '/client_ids',
  ]);
  for (const { message } of findings) expect(message).toMatch(/[.?)]$/);
});

test('a definition full of mistakes ends in 50 findings, quickly', () => {
  const body = '{{event_payload.titlle}}'.repeat(500);
  const steps = Array.from({ length: 50 }, (_, index): Step => ({
    type: 'notification',
    id: `s${index}`,
    channel: 'sms',
    recipients: ['+1'],
    body,
  }));
  const started = performance.now();
  expect(check({ steps })).toHaveLength(50);
  expect(performance.now() - started).toBeLessThan(2_000);
});

test('a body nested without end is refused, not followed', () => {
  const body = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
  expect(check({ steps: [{ type: 'http_request', id: 's', url: 'https://example.com', body }] })).toEqual([
    expect.objectContaining({ code: 'too_deep' }),
  ]);
});
