/** Which agents an event starts, and for each of the others the reason it can be told. */
import { activeAgent, definitionWith } from '../../support/agents';
import {
  joinStack,
  list,
  text,
  waitFor,
  type Answer,
  type Body,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { get, outcomeOf, post, put } from './support';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

type Fields = Record<string, unknown>;

const NOTE = { type: 'set_variables', id: 'note', values: { seen: 'yes' } };
const trigger = (eventType: string, filters: Fields[] = [], product = 'psa'): Fields => ({
  type: 'bus_event',
  event_type: eventType,
  source_product: product,
  filters,
});
const listen = (org: TestOrg, eventType: string, more: Fields = {}, filters: Fields[] = []): Promise<string> =>
  activeAgent(org, definitionWith([NOTE], { trigger: trigger(eventType, filters), ...more }));

/** Posts an event and answers its log entry, the truth about what it led to. */
async function publish(org: TestOrg, eventType: string, payload: Fields, more: Fields = {}): Promise<Body> {
  const event = { event_type: eventType, source_product: 'psa', payload, ...more };
  const answer = await post(org, '/events/ingest', event);
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([202, expect.any(String)]);
  const log = (await get(org, `/event-log/${text(answer.body['event_id'])}`)).body;
  const started = list(log['outcomes']).filter((outcome) => text(outcome['outcome']) === 'started');
  const ids = (entries: Body[], field: string): string[] => entries.map((entry) => text(entry[field])).toSorted();
  expect(ids(started, 'execution_id')).toEqual(ids(list(answer.body['executions']), 'id'));
  expect(answer.body['matched']).toBe(started.length);
  return log;
}

const outcomesOf = (log: Body): Record<string, string> =>
  Object.fromEntries(list(log['outcomes']).map((outcome) => [text(outcome['agent_id']), text(outcome['outcome'])]));

const HOUR = 3_600_000;
const ago = (hours: number): string => new Date(Date.now() - hours * HOUR).toISOString();
const changedFrom = (previous: Fields, now: Fields): Fields => ({
  ...now,
  previous,
  changed: Object.keys(previous),
});

/** Operator, its value, payloads it lets through and payloads it keeps out; the field is `x` unless named. */
const OPERATORS: [string, unknown[], Fields[], Fields[]][] = [
  ['eq', ['High'], [{ x: 'high' }, { x: 'HIGH' }], [{ x: 'higher' }, { x: null }, {}]],
  ['eq', [5], [{ x: 5 }, { x: '5' }], [{ x: 5.1 }, { x: [5] }]],
  ['eq', [null], [{ x: null }, {}], [{ x: 0 }, { x: '' }, { x: false }]],
  ['neq', ['high'], [{ x: 'low' }, {}], [{ x: 'High' }]],
  ['gt', [3], [{ x: 3.5 }, { x: '4' }], [{ x: 3 }, { x: 'many' }, {}]],
  ['gte', [3], [{ x: 3 }], [{ x: 2.99 }, { x: null }]],
  ['lt', [3], [{ x: -1 }, { x: 0 }], [{ x: 3 }, {}]],
  ['lte', [3], [{ x: 3 }], [{ x: 3.01 }]],
  ['in', [['high', 'critical']], [{ x: 'critical' }, { x: ['low', 'high'] }], [{ x: 'low' }, {}, { x: [] }]],
  ['not_in', [['high', 'critical']], [{ x: 'low' }, {}], [{ x: 'HIGH' }]],
  ['between', [[1, 3]], [{ x: 1 }, { x: 3 }, { x: 2.5 }], [{ x: 0.9 }, { x: 4 }, {}]],
  ['between', [['2026-01-01', '2026-02-01']], [{ x: '2026-01-15T12:00:00Z' }], [{ x: '2026-03-01' }]],
  ['contains', ['down'], [{ x: 'Server DOWN again' }, { x: ['down'] }], [{ x: 'up' }, { x: ['downtown'] }, {}]],
  ['not_contains', ['down'], [{ x: 'up' }, {}], [{ x: 'shutdown' }]],
  ['starts_with', ['srv-'], [{ x: 'SRV-1' }], [{ x: 'my-srv-1' }, {}]],
  ['ends_with', ['.exe'], [{ x: 'setup.EXE' }], [{ x: 'setup.exe.txt' }]],
  ['matches', ['^T-\\d+$'], [{ x: 'T-1042' }], [{ x: 'T-10x' }, {}]],
  ['exists', [], [{ x: 0 }, { x: '' }, { x: false }], [{ x: null }, {}]],
  ['not_exists', [], [{ x: null }, {}], [{ x: 0 }]],
  ['is_empty', [], [{ x: '' }, { x: ' ' }, { x: [] }, { x: {} }, {}], [{ x: 0 }, { x: 'a' }, { x: [0] }]],
  ['is_not_empty', [], [{ x: 'a' }, { x: [1] }, { x: 0 }], [{ x: '' }, {}]],
  ['before', ['2026-06-01T00:00:00Z'], [{ x: '2026-05-31' }], [{ x: '2026-06-01T00:00:00Z' }, { x: 'soon' }, {}]],
  ['after', ['2026-06-01T00:00:00Z'], [{ x: '2026-06-01T02:00:01+02:00' }], [{ x: '2026-06-01T01:00:00+02:00' }]],
  ['within_last', ['2h'], [{ x: ago(1) }], [{ x: ago(3) }, { x: ago(-1) }, {}]],
  ['changed', [], [changedFrom({ x: 1 }, { x: 2 })], [changedFrom({ y: 1 }, { x: 2, y: 2 }), { x: 2 }]],
  ['changed_from', ['low'], [changedFrom({ x: 'low' }, { x: 'high' })], [changedFrom({ x: 'high' }, { x: 'low' })]],
  ['changed_to', ['high'], [changedFrom({ x: 'low' }, { x: 'high' })], [{ x: 'high' }, changedFrom({ x: 'high' }, {})]],
];

describe('filters', () => {
  let org: TestOrg;
  beforeAll(async () => {
    org = await harness.newOrg();
  });

  const cases = OPERATORS.map((row, index) => [row[0], JSON.stringify(row[1][0]), index, row] as const);
  test.each(cases)('%s %s', async (operator, _shown, index, [, [value], through, out]) => {
    const filter = { field: 'x', operator, ...(value === undefined ? {} : { value }) };
    const eventType = `custom.filter_${index}`;
    const agent = await listen(org, eventType, {}, [filter]);
    for (const payload of through) {
      const log = await publish(org, eventType, payload);
      expect([payload, outcomesOf(log)]).toEqual([payload, { [agent]: 'started' }]);
    }
    for (const payload of out) {
      const [outcome] = list((await publish(org, eventType, payload))['outcomes']);
      expect([payload, outcome]).toEqual([
        payload,
        {
          agent_id: agent,
          agent_name: 'Test agent',
          outcome: 'filtered',
          reason: expect.stringContaining(operator) as unknown,
          failing_rule: filter,
          actual: outcome?.['actual'] ?? null,
        },
      ]);
    }
  });

  test('all must hold, the first that does not is named with what it saw, and case counts where asked', async () => {
    const filters = [
      { field: 'a.b', operator: 'eq', value: 'One', case_sensitive: true },
      { field: 'list.1', operator: 'gte', value: 2 },
    ];
    const agent = await listen(org, 'custom.all', {}, filters);
    const seen = async (payload: Fields): Promise<unknown> => {
      const [outcome] = list((await publish(org, 'custom.all', payload))['outcomes']);
      return [outcome?.['outcome'], outcome?.['failing_rule'], outcome?.['actual']];
    };
    expect(await seen({ a: { b: 'One' }, list: [1, 2] })).toEqual(['started', undefined, undefined]);
    expect(await seen({ a: { b: 'one' }, list: [1, 2] })).toEqual(['filtered', filters[0], 'one']);
    expect(await seen({ a: { b: 'One' }, list: [3, 1] })).toEqual(['filtered', filters[1], 1]);
    expect(await seen({ list: [3, 3] })).toEqual(['filtered', filters[0], null]);
    expect(agent).toMatch(/^agt_/);
  });

  test('what a rule saw is told briefly, however large it was', async () => {
    const long = 'x'.repeat(20_000);
    const agents = await Promise.all([
      listen(org, 'custom.long', {}, [{ field: 'text', operator: 'eq', value: 'short' }]),
      listen(org, 'custom.long', {}, [{ field: 'text', operator: 'eq', value: `other ${long}` }]),
      listen(org, 'custom.long', {}, [{ field: 'items', operator: 'contains', value: 'nothing' }]),
      listen(org, 'custom.long', { conditions: [{ not: { field: 'event_payload.text', operator: 'exists' } }] }),
    ]);
    const log = await publish(org, 'custom.long', { text: long, items: Array.from({ length: 2_000 }, () => 'item') });
    for (const agent of agents) {
      const outcome = list(log['outcomes']).find((one) => text(one['agent_id']) === agent);
      expect(['filtered', 'condition_false']).toContain(text(outcome?.['outcome']));
      expect(JSON.stringify(outcome).length).toBeLessThan(4_000);
      expect(outcome).toHaveProperty('actual');
      expect(outcome).toHaveProperty('failing_rule');
    }
    // The event itself is kept whole.
    expect(text(log['payload']?.['text'])).toBe(long);
  });
});

describe('conditions', () => {
  const rule = (field: string, operator: string, value?: unknown): Fields => ({
    field,
    operator,
    ...(value === undefined ? {} : { value }),
  });
  const cases: [string, Fields, boolean][] = [
    ['the payload', rule('event_payload.level', 'gte', 2), true],
    ['a part of the payload', rule('event_payload.deep.list.0', 'eq', 'first'), true],
    ['the client of the event', rule('event.client_id', 'eq', 'cli_1'), true],
    ['the event’s type', rule('event.event_type', 'starts_with', 'custom.'), true],
    ['the org’s tier', rule('org.tier', 'in', ['professional', 'enterprise']), true],
    ['the hour', rule('now.hour', 'between', [0, 23]), true],
    ['another tier', rule('org.tier', 'eq', 'standard'), false],
    ['all of several', { all: [rule('event_payload.level', 'eq', 2), rule('event_payload.x', 'not_exists')] }, true],
    ['all but one', { all: [rule('event_payload.level', 'eq', 2), rule('event_payload.x', 'exists')] }, false],
    ['any of several', { any: [rule('event_payload.x', 'exists'), rule('event_payload.level', 'eq', 2)] }, true],
    ['none of several', { any: [rule('event_payload.x', 'exists'), rule('event_payload.level', 'eq', 3)] }, false],
    ['not', { not: rule('event_payload.x', 'exists') }, true],
    ['not what is', { not: { any: [rule('event_payload.level', 'eq', 2)] } }, false],
  ];
  test('are held against the event, its org and the moment; a false one is named', async () => {
    const org = await harness.newOrg();
    const ids = await Promise.all(
      cases.map(([, condition]) => listen(org, 'custom.when', { conditions: [condition] })),
    );
    const log = await publish(org, 'custom.when', { level: 2, deep: { list: ['first'] } }, { client_id: 'cli_1' });
    const outcomes = outcomesOf(log);
    expect(cases.map(([what], index) => [what, outcomes[ids[index] ?? '']])).toEqual(
      cases.map(([what, , holds]) => [what, holds ? 'started' : 'condition_false']),
    );
    for (const [index, [what, , holds]] of cases.entries()) {
      if (holds) continue;
      const outcome = await outcomeOf(org, text(log['id']), ids[index] ?? '');
      expect([what, outcome['failing_rule'], text(outcome['reason'])]).toEqual([
        what,
        expect.anything(),
        expect.stringMatching(/^Condition .* does not hold\.$/),
      ]);
    }
  });
});

test('client_scope decides by the client of the event', async () => {
  const org = await harness.newOrg();
  const scopes: Record<string, Fields> = {
    all: { client_scope: 'all' },
    selected: { client_scope: 'selected', client_ids: ['cli_1', 'cli_2'] },
    excluded: { client_scope: 'excluded', client_ids: ['cli_1'] },
    internal: { client_scope: 'internal' },
  };
  const ids: Record<string, string> = {};
  for (const [name, scope] of Object.entries(scopes)) ids[name] = await listen(org, 'custom.scope', scope);
  const startedBy = async (clientId: string | null): Promise<string[]> => {
    const outcomes = outcomesOf(await publish(org, 'custom.scope', {}, { client_id: clientId }));
    const left = Object.values(outcomes).filter((outcome) => outcome !== 'started');
    expect(new Set(left)).toEqual(new Set(['out_of_scope']));
    return Object.keys(scopes).filter((name) => outcomes[ids[name] ?? ''] === 'started');
  };
  expect(await startedBy('cli_1')).toEqual(['all', 'selected']);
  expect(await startedBy('cli_2')).toEqual(['all', 'selected', 'excluded']);
  expect(await startedBy('cli_3')).toEqual(['all', 'excluded']);
  expect(await startedBy(null)).toEqual(['all', 'excluded', 'internal']);
});

describe('conflict_behavior', () => {
  test('additive: all run; defer: gives way to any other, unless there is none', async () => {
    const org = await harness.newOrg();
    const [one, two, deferring] = await Promise.all([
      listen(org, 'custom.both'),
      listen(org, 'custom.both', { conflict_behavior: 'additive' }),
      listen(org, 'custom.both', { conflict_behavior: 'defer' }),
    ]);
    expect(outcomesOf(await publish(org, 'custom.both', {}))).toEqual({
      [one]: 'started',
      [two]: 'started',
      [deferring]: 'suppressed',
    });
    for (const id of [one, two]) await put(org, `/agents/${id}`, { status: 'paused' });
    expect(outcomesOf(await publish(org, 'custom.both', {}))).toMatchObject({ [deferring]: 'started' });
  });

  test('exclusive: the highest priority runs, the oldest where they are equal, beside those that are additive', async () => {
    const org = await harness.newOrg();
    const additive = await listen(org, 'custom.one');
    const low = await listen(org, 'custom.one', { conflict_behavior: 'exclusive', priority: 1 });
    const high = await listen(org, 'custom.one', { conflict_behavior: 'exclusive', priority: 5 });
    const younger = await listen(org, 'custom.one', { conflict_behavior: 'exclusive', priority: 5 });
    const log = await publish(org, 'custom.one', {});
    expect(outcomesOf(log)).toEqual({
      [additive]: 'started',
      [low]: 'suppressed',
      [high]: 'started',
      [younger]: 'suppressed',
    });
    expect(text((await outcomeOf(org, text(log['id']), low))['reason'])).toContain(high);
    // One whose filter does not hold is no rival.
    await put(org, `/agents/${high}`, { trigger: trigger('custom.one', [{ field: 'x', operator: 'exists' }]) });
    expect(outcomesOf(await publish(org, 'custom.one', {}))).toMatchObject({
      [high]: 'filtered',
      [younger]: 'started',
    });
  });

  test('override: the system agents of the same event are silent for this org', async () => {
    const [org, other] = await Promise.all([harness.newOrg(), harness.newOrg()]);
    const payload = { severity: 'critical', action_taken: 'none' };
    const filters = [{ field: 'severity', operator: 'eq', value: 'critical' }];
    const own = await activeAgent(
      org,
      definitionWith([NOTE], {
        trigger: trigger('detection.created', filters, 'defend'),
        conflict_behavior: 'override',
      }),
    );
    const system = 'agt_system_critical_alert';
    const detected = (of: TestOrg): Promise<Body> =>
      publish(of, 'detection.created', payload, { source_product: 'defend' });
    expect(outcomesOf(await detected(org))).toEqual({ [system]: 'suppressed', [own]: 'started' });
    expect(outcomesOf(await detected(other))).toEqual({ [system]: 'started' });
    await put(org, `/agents/${own}`, { status: 'paused' });
    expect(outcomesOf(await detected(org))).toEqual({ [system]: 'started', [own]: 'paused' });
  });
});

test('a change of a ticket starts the agents that wait for that change', async () => {
  const org = await harness.newOrg();
  const on = (filter: Fields): Promise<string> =>
    activeAgent(org, definitionWith([NOTE], { trigger: trigger('ticket.updated', [filter]) }));
  const ids = {
    raised: await on({ field: 'priority', operator: 'changed_to', value: 'critical' }),
    fromLow: await on({ field: 'priority', operator: 'changed_from', value: 'low' }),
    fromHigh: await on({ field: 'priority', operator: 'changed_from', value: 'high' }),
    retitled: await on({ field: 'title', operator: 'changed' }),
  };
  const ticket = await org.call('POST', '/psa/api/tickets', { subject: 'Slow', priority: 'low' });
  const path = `/psa/api/tickets/${text(ticket.body['id'])}`;
  const startedBy = async (change: Fields, count: number): Promise<string[]> => {
    expect((await org.call('PATCH', path, change)).status).toBe(200);
    const seen = await waitFor(async () => {
      const executions = list((await get(org, '/executions')).body['executions']);
      return executions.length === count && executions;
    });
    return seen.map((execution) => text(execution['agent_id'])).toSorted();
  };
  expect(await startedBy({ priority: 'critical' }, 2)).toEqual([ids.raised, ids.fromLow].toSorted());
  expect(await startedBy({ subject: 'Down' }, 3)).toEqual([ids.raised, ids.fromLow, ids.retitled].toSorted());
});

test('an event of another product or type reaches no one, and its log says so', async () => {
  const org = await harness.newOrg();
  await listen(org, 'custom.mine');
  expect((await publish(org, 'custom.other', {}))['outcomes']).toEqual([]);
  expect((await publish(org, 'custom.mine', {}, { source_product: 'rmm' }))['outcomes']).toEqual([]);
});

test('an event never reaches an agent of another org', async () => {
  const [org, other] = await Promise.all([harness.newOrg(), harness.newOrg()]);
  await listen(other, 'custom.shared');
  const answers: Answer[] = [];
  for (const sender of [org, other])
    answers.push(
      await post(sender, '/events/ingest', {
        id: 'same-id',
        event_type: 'custom.shared',
        source_product: 'psa',
        payload: {},
      }),
    );
  expect(answers.map(({ status, body }) => [status, body['matched'] as unknown])).toEqual([
    [202, 0],
    [202, 1],
  ]);
});

test('many agents with large patterns, held against a long text, keep nobody else waiting for all of them', async () => {
  const [org, other] = [await harness.newOrg({ agentLimit: 100 }), await harness.newOrg()];
  // Each repetition is looked at for each character of the text.
  const hard = [{ field: 'text', operator: 'matches', value: '(a?){60}(a?){60}b$' }];
  for (let agent = 0; agent < 16; agent += 1) await listen(org, 'custom.long', {}, hard);
  let longest = 0;
  const over = new AbortController();
  const asks = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const askedAt = performance.now();
      await get(other, '/agents');
      longest = Math.max(longest, performance.now() - askedAt);
      await new Promise((resume) => setTimeout(resume, 10));
    }
  };
  const asking = asks();
  const sentAt = performance.now();
  await publish(org, 'custom.long', { text: 'a'.repeat(10_000) });
  const took = performance.now() - sentAt;
  over.abort();
  await asking;
  expect(longest).toBeLessThan(took / 2);
});
