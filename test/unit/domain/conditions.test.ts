import * as fc from 'fast-check';
import { OPERATORS, type Condition, type Operator } from '../../../src/contracts/condition';
import { evaluate, evaluateAsBefore, instantOf, matchesFilters, pathsAsked } from '../../../src/domain/conditions';
import { clockFacts } from '../../../src/domain/clock-facts';
import { offsetsOf } from '../../../src/domain/time-zones';

const now = new Date('2026-11-20T22:40:00.000Z');
const holds = (actual: unknown, operator: Operator, value?: unknown, exact?: boolean): boolean =>
  matchesFilters(
    [{ field: 'x', operator, value, ...(exact === undefined ? {} : { case_sensitive: exact }) }],
    { x: actual },
    now,
  ).holds;

type Row = [actual: unknown, operator: Operator, value: unknown, expected: boolean];

test.each<Row>([
  ['High', 'eq', 'high', true],
  ['high', 'eq', 'low', false],
  [5, 'eq', 5, true],
  ['5', 'eq', 5, true],
  [5, 'eq', '5.0', true],
  ['5', 'eq', '5.0', false],
  ['Bu\u0308ro', 'eq', 'B\u00fcro', true],
  ['Bu\u0308ro', 'contains', 'B\u00dcR', true],
  ['Bu\u0308ro zu', 'matches', '^b\u00fcro .', true],
  [['\u304b\u3099'], 'contains', '\u304c', true],
  ['Stra\u00dfe 5', 'starts_with', 'STRASSE', true],
  ['\u039f\u0394\u039f\u03a3 5', 'contains', '\u03bf\u03b4\u03bf\u03c3', true],
  ['\u0130stanbul', 'in', ['istanbul'], true],
  ['ISTANBUL', 'eq', 'istanbul', true],
  ['resume', 'eq', 'r\u00e9sum\u00e9', false],
  [Number.NaN, 'eq', Number.NaN, false],
  [true, 'eq', true, true],
  ['true', 'eq', true, false],
  [1, 'eq', true, false],
  [null, 'eq', null, true],
  [undefined, 'eq', null, true],
  [undefined, 'eq', '', false],
  [0, 'eq', null, false],
  ['2026-11-20T10:00:00Z', 'eq', '2026-11-20T11:00:00.000+01:00', true],
  [['a', 'b'], 'eq', ['A', 'b'], true],
  [['a', 'b'], 'eq', ['b', 'a'], false],
  [{ a: 1, b: [2] }, 'eq', { b: [2], a: 1 }, true],
  [{ a: 1 }, 'eq', [1], false],
  ['a', 'neq', 'b', true],
  ['a', 'neq', 'A', false],
  [undefined, 'neq', 'b', true],
  [undefined, 'neq', null, false],
  [3, 'gt', 2, true],
  [2, 'gt', 2, false],
  ['10', 'gt', 9, true],
  ['10', 'gt', '9', true],
  ['ten', 'gt', 9, false],
  [undefined, 'gt', 0, false],
  [null, 'lt', 1, false],
  [2, 'gte', 2, true],
  [1, 'gte', 2, false],
  [1, 'lt', 2, true],
  [2, 'lt', 2, false],
  [2, 'lte', 2, true],
  [3, 'lte', 2, false],
  ['HIGH', 'in', ['critical', 'high'], true],
  ['low', 'in', ['critical', 'high'], false],
  ['low', 'in', 'low', false],
  [['vip', 'new'], 'in', ['vip'], true],
  [['new'], 'in', ['vip'], false],
  [undefined, 'in', ['vip'], false],
  ['low', 'not_in', ['critical'], true],
  ['low', 'not_in', ['Low'], false],
  [undefined, 'not_in', ['low'], true],
  [5, 'between', [5, 10], true],
  [10, 'between', [5, 10], true],
  [11, 'between', [5, 10], false],
  [5, 'between', [10], false],
  ['2026-06-01', 'between', ['2026-01-01', '2026-12-31T23:59:59Z'], true],
  ['2027-06-01', 'between', ['2026-01-01', '2026-12-31'], false],
  ['Disk full on SRV1', 'contains', 'FULL', true],
  ['Disk', 'contains', 'full', false],
  [['VIP', 'new'], 'contains', 'vip', true],
  [[1, 2], 'contains', 2, true],
  [['vipers'], 'contains', 'vip', false],
  [12, 'contains', 1, false],
  [undefined, 'contains', 'a', false],
  ['Disk', 'not_contains', 'full', true],
  [['vip'], 'not_contains', 'VIP', false],
  [undefined, 'not_contains', 'a', true],
  ['RE: invoice', 'starts_with', 're:', true],
  ['invoice', 'starts_with', 're:', false],
  [['re:'], 'starts_with', 're:', false],
  ['report.PDF', 'ends_with', '.pdf', true],
  ['report.pdf.exe', 'ends_with', '.pdf', false],
  ['Ticket T-1042', 'matches', 't-\\d+', true],
  ['Ticket', 'matches', 't-\\d+', false],
  ['aaa', 'matches', '(a+)+', false],
  [42, 'matches', '4', false],
  ['', 'exists', undefined, true],
  [false, 'exists', undefined, true],
  [null, 'exists', undefined, false],
  [undefined, 'exists', undefined, false],
  [undefined, 'not_exists', undefined, true],
  [null, 'not_exists', undefined, true],
  [0, 'not_exists', undefined, false],
  [undefined, 'is_empty', undefined, true],
  [null, 'is_empty', undefined, true],
  ['  ', 'is_empty', undefined, true],
  [[], 'is_empty', undefined, true],
  [{}, 'is_empty', undefined, true],
  [0, 'is_empty', undefined, false],
  [false, 'is_empty', undefined, false],
  ['a', 'is_not_empty', undefined, true],
  ['', 'is_not_empty', undefined, false],
  ['2026-11-20T10:00:00Z', 'before', '2026-11-21', true],
  ['2026-11-20T23:30:00-02:00', 'before', '2026-11-21', false],
  ['2026-11-22', 'after', '2026-11-21T00:00:00Z', true],
  ['2026-11-20', 'after', '2026-11-21', false],
  ['soon', 'before', '2026-11-21', false],
  [1_763_000_000_000, 'before', '2026-11-21', false],
  ['2026-11-20T00:00:00Z', 'within_last', '24h', true],
  ['2026-11-19T22:40:00.000Z', 'within_last', '24h', true],
  ['2026-11-19T22:39:59.999Z', 'within_last', '24h', false],
  ['2026-11-20T22:40:00.001Z', 'within_last', '24h', false],
  ['2026-11-20T00:00:00Z', 'within_last', 'a day', false],
])('%p %s %p: %p', (actual, operator, value, expected) => {
  expect(holds(actual, operator, value)).toBe(expected);
});

test.each<Row>([
  ['High', 'eq', 'high', false],
  ['High', 'neq', 'high', true],
  ['HIGH', 'in', ['high'], false],
  ['FULL', 'contains', 'full', false],
  [['VIP'], 'contains', 'vip', false],
  ['RE: x', 'starts_with', 're', false],
  ['x.PDF', 'ends_with', '.pdf', false],
  ['VIP', 'matches', 'vip', false],
])('when case counts, %p %s %p: %p', (actual, operator, value, expected) => {
  expect(holds(actual, operator, value, true)).toBe(expected);
});

describe('change operators read the envelope of an update event', () => {
  const payload = {
    status: 'resolved',
    address: { city: 'Bonn' },
    changed: ['status', 'address.city'],
    previous: { status: 'open', address: { city: 'Köln' } },
  };

  test.each<[string, Operator, unknown, boolean]>([
    ['status', 'changed', undefined, true],
    ['address', 'changed', undefined, true],
    ['address.city', 'changed', undefined, true],
    ['address.street', 'changed', undefined, false],
    ['priority', 'changed', undefined, false],
    ['status', 'changed_from', 'Open', true],
    ['status', 'changed_from', 'new', false],
    ['status', 'changed_to', 'resolved', true],
    ['status', 'changed_to', 'closed', false],
    ['priority', 'changed_from', null, false],
  ])('%s %s %p: %p, for filters and for conditions', (field, operator, value, expected) => {
    expect(matchesFilters([{ field, operator, value }], payload, now).holds).toBe(expected);
    const condition = { field: `event_payload.${field}`, operator, value };
    expect(evaluate(condition, { event_payload: payload }, now).holds).toBe(expected);
  });

  test('without a list of changes, a known old value means a change', () => {
    const bare = { status: 'resolved', previous: { status: 'open' } };
    expect(matchesFilters([{ field: 'status', operator: 'changed' }], bare, now).holds).toBe(true);
    expect(matchesFilters([{ field: 'title', operator: 'changed' }], bare, now).holds).toBe(false);
  });

  test('a parent in the list stands for its members', () => {
    const wide = { address: { city: 'Bonn' }, changed: ['address'], previous: {} };
    expect(matchesFilters([{ field: 'address.city', operator: 'changed_to', value: 'bonn' }], wide, now).holds).toBe(
      true,
    );
  });

  test('a failing change explains itself with what it compared', () => {
    const rule = { field: 'status', operator: 'changed_from', value: 'new' } as const;
    expect(matchesFilters([rule], payload, now)).toEqual({ holds: false, rule, actual: 'open' });
  });
});

describe('groups', () => {
  const yes: Condition = { field: 'event_payload.n', operator: 'eq', value: 1 };
  const no: Condition = { field: 'event_payload.n', operator: 'eq', value: 2 };
  const scope = { event_payload: { n: 1 } };

  test.each<[string, Condition, boolean]>([
    ['all of all', { all: [yes, yes] }, true],
    ['all but one', { all: [yes, no] }, false],
    ['one of any', { any: [no, yes] }, true],
    ['none of any', { any: [no, no] }, false],
    ['not what fails', { not: no }, true],
    ['not what holds', { not: yes }, false],
    ['nested', { not: { any: [no, { all: [yes, { not: yes }] }] } }, true],
  ])('%s', (_, condition, expected) => {
    expect(evaluate(condition, scope, now).holds).toBe(expected);
  });

  test('all names its first failing member, however deep', () => {
    expect(evaluate({ all: [yes, { all: [yes, no] }] }, scope, now)).toEqual({ holds: false, rule: no, actual: 1 });
  });

  test('any and not name themselves and show every field they read', () => {
    const group = { any: [no, { field: 'now.hour', operator: 'lt', value: 8 }] } satisfies Condition;
    const actual = { 'event_payload.n': 1, 'now.hour': 22 };
    expect(evaluate(group, scope, now)).toEqual({ holds: false, rule: group, actual });
    const negation = { not: yes };
    expect(evaluate(negation, scope, now)).toEqual({ holds: false, rule: negation, actual: { 'event_payload.n': 1 } });
  });

  test('no filters hold for everything', () => {
    expect(matchesFilters([], {}, now)).toEqual({ holds: true });
  });
});

test('now comes from the argument, in UTC, and cannot be replaced by data', () => {
  const local = { local_hour: 22, local_weekday: 'friday' };
  expect(clockFacts(now)).toEqual({ hour: 22, weekday: 'friday', ...local, iso: '2026-11-20T22:40:00.000Z' });
  const weekday: Condition = { field: 'now.weekday', operator: 'eq', value: 'friday' };
  expect(evaluate(weekday, { now: { weekday: 'monday' } }, now).holds).toBe(true);
});

test('a filter may be about a payload field that is called now', () => {
  expect(matchesFilters([{ field: 'now.hour', operator: 'eq', value: 3 }], { now: { hour: 3 } }, now).holds).toBe(true);
});

test('a date without a zone is UTC on every machine', () => {
  expect(instantOf('2026-11-20T22:40')).toBe(now.getTime());
  expect(instantOf('2026-02-30T99:00:00Z')).toBeUndefined();
});

test('an operator of a later release never holds', () => {
  const rule = { field: 'x', operator: 'sounds_like' as Operator, value: 'a' };
  expect(matchesFilters([rule], { x: 'a' }, now).holds).toBe(false);
  const inherited = { ...rule, operator: 'toString' as Operator };
  expect(matchesFilters([inherited], { x: 'a' }, now).holds).toBe(false);
});

test('paths asked are those a condition reads, each once', () => {
  const condition: Condition = {
    all: [
      { field: 'event_payload.priority', operator: 'eq', value: 'high' },
      {
        any: [
          { field: 'event_payload.priority', operator: 'eq', value: 'low' },
          { not: { field: 'vars.x', operator: 'exists' } },
        ],
      },
      { field: 'event_payload.status', operator: 'changed_to', value: 'open' },
    ],
  };
  expect(pathsAsked(condition)).toEqual([
    'event_payload.priority',
    'vars.x',
    'event_payload.status',
    'event_payload.changed',
    'event_payload.previous.status',
  ]);
});

test('no rule throws, whatever the data and the value', () => {
  const odd = fc.oneof(fc.jsonValue(), fc.constantFrom(undefined, Number.NaN, '(', '2026-13-45', '9'.repeat(400)));
  fc.assert(
    fc.property(odd, odd, fc.constantFrom(...OPERATORS), fc.boolean(), (actual, value, operator, exact) => {
      expect(typeof holds(actual, operator, value, exact)).toBe('boolean');
      const verdict = matchesFilters([{ field: 'a.b.0', operator, value }], actual, now);
      expect(typeof verdict.holds).toBe('boolean');
    }),
    { numRuns: 2_000 },
  );
});

test('values nested without end are different, not a crash', () => {
  const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
  expect(holds(deep, 'eq', deep)).toBe(false);
});

test('each operator and its opposite never agree', () => {
  const opposites: [Operator, Operator][] = [
    ['eq', 'neq'],
    ['in', 'not_in'],
    ['contains', 'not_contains'],
    ['exists', 'not_exists'],
    ['is_empty', 'is_not_empty'],
  ];
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.constantFrom(...opposites), (actual, value, [one, other]) => {
      expect(holds(actual, one, value)).not.toBe(holds(actual, other, value));
    }),
  );
});

test.each([
  ['Bu\u0308ro', 'B\u00fcro', false],
  ['Stra\u00dfe', 'STRASSE', false],
  ['B\u00fcro', 'B\u00dcRO', true],
])('a workflow that began before compares %j with %j as it did', (name, value, expected) => {
  const scope = { vars: { name } };
  for (const operator of ['eq', 'contains', 'matches'] as const)
    expect(evaluateAsBefore({ field: 'vars.name', operator, value }, scope, now).holds).toBe(expected);
});

test.each([
  ['Asia/Tokyo', '2026-11-20T16:00:00Z', 1, 'saturday'],
  ['America/Sao_Paulo', '2026-11-21T02:59:59Z', 23, 'friday'],
  ['Asia/Kathmandu', '2026-11-20T18:14:59Z', 23, 'friday'],
  ['Asia/Kathmandu', '2026-11-20T18:15:00Z', 0, 'saturday'],
  ['Europe/Berlin', '2027-03-28T00:59:59Z', 1, 'sunday'],
  ['Europe/Berlin', '2027-03-28T01:00:00Z', 3, 'sunday'],
  ['Europe/Berlin', '2027-10-31T00:59:59Z', 2, 'sunday'],
  ['Europe/Berlin', '2027-10-31T01:00:00Z', 2, 'sunday'],
  ['Australia/Sydney', '2027-04-03T15:59:59Z', 2, 'sunday'],
  ['Australia/Sydney', '2027-04-03T16:00:00Z', 2, 'sunday'],
  ['Australia/Sydney', '2027-04-03T17:00:00Z', 3, 'sunday'],
  ['UTC', '2026-11-20T23:00:00Z', 23, 'friday'],
])('in %s it is at %s %i o’clock on a %s', (zone, moment, hour, weekday) => {
  const scope = { org: { offsets: offsetsOf(zone, now) } };
  const condition: Condition = {
    all: [
      { field: 'now.local_hour', operator: 'eq', value: hour },
      { field: 'now.local_weekday', operator: 'eq', value: weekday },
    ],
  };
  expect(evaluate(condition, scope, new Date(moment))).toEqual({ holds: true });
});
