import type { Condition, Filter } from '../../../src/contracts/condition';
import { base, brief, check, checkFilter, checkRule, note } from './definition-fixture';

describe('trigger', () => {
  test.each([
    ['psa', 'ticket.craeted', '/trigger/event_type unknown_event_type ticket.created'],
    ['psa', 'something.else', '/trigger/event_type unknown_event_type'],
    ['psaa', 'ticket.created', '/trigger/source_product unknown_event_type psa'],
    ['psa', 'deal.stalled', '/trigger/source_product unknown_event_type crm'],
    ['acme', 'thing.done', '/trigger/source_product unknown_event_type'],
  ])('%s:%s is unknown', (source_product, event_type, expected) => {
    expect(brief(check({ trigger: { ...base.trigger, source_product, event_type } }))).toEqual([expected]);
  });

  test('event types of the org itself need no catalog and their payload is free', () => {
    const trigger = {
      ...base.trigger,
      source_product: 'acme',
      event_type: 'custom.door_opened',
      filters: [{ field: 'door.id', operator: 'gt', value: 3 } as const],
    };
    expect(check({ trigger, steps: [{ ...note, values: { a: '{{event_payload.door.name}}' } }] })).toEqual([]);
  });

  test.each([
    [3, []],
    [true, []],
    ['vip', []],
    ['', ['/trigger/filters/0/value invalid_value']],
    [{ a: 1 }, ['/trigger/filters/0/value invalid_value']],
  ])('a field that nobody knows may be a list, which holds %j or not', (value, expected) => {
    const filters = [{ field: 'door.rooms', operator: 'contains', value } as const];
    const trigger = { ...base.trigger, source_product: 'acme', event_type: 'custom.door_opened', filters };
    expect(brief(check({ trigger }))).toEqual(expected);
  });

  test.each([
    ['acme', 'custom.Door Opened', '/trigger/event_type invalid_event_type'],
    ['acme', 'custom.', '/trigger/event_type invalid_event_type'],
    ['acme', 'custom.a.b.c.d.e', '/trigger/event_type invalid_event_type'],
    ['ACME Corp', 'custom.door_opened', '/trigger/source_product invalid_source_product'],
    ['x', 'custom.door_opened', '/trigger/source_product invalid_source_product'],
  ])('%s:%s can never be sent', (source_product, event_type, expected) => {
    expect(brief(check({ trigger: { ...base.trigger, filters: [], source_product, event_type } }))).toContain(expected);
  });

  test('the findings say what to do', () => {
    const [finding] = check({ trigger: { ...base.trigger, event_type: 'ticket.craeted' } });
    expect(finding?.message).toBe(
      'psa has no event "ticket.craeted"; event types of your own begin with "custom.". Did you mean "ticket.created"?',
    );
  });
});

describe('filters', () => {
  test.each<Filter>([
    { field: 'title', operator: 'contains', value: 'disk' },
    { field: 'title', operator: 'matches', value: '^T-\\d+' },
    { field: 'title', operator: 'eq', value: null },
    { field: 'title', operator: 'eq', value: '' },
    { field: 'description', operator: 'contains', value: 'disk' },
    { field: 'priority', operator: 'in', value: ['high', 'critical'] },
    { field: 'count', operator: 'between', value: [1, 5] },
    { field: 'amount', operator: 'gte', value: 500_000 },
    { field: 'vip', operator: 'eq', value: true },
    { field: 'due_at', operator: 'within_last', value: '24h' },
    { field: 'due_at', operator: 'between', value: ['2026-01-01', '2026-12-31'] },
    { field: 'due_at', operator: 'before', value: '2026-01-01T00:00:00Z' },
    { field: 'tags', operator: 'contains', value: 'vip' },
    { field: 'tags', operator: 'in', value: ['vip', 'new'] },
    { field: 'tags.0', operator: 'eq', value: 'vip' },
    { field: 'client_id', operator: 'eq', value: 'cli_1' },
    { field: 'contact.email', operator: 'ends_with', value: '@example.com' },
    { field: 'contact.phone', operator: 'exists' },
    { field: 'contact', operator: 'is_empty' },
    { field: 'items.3.sku', operator: 'eq', value: 'x' },
    { field: 'priority', operator: 'changed_to', value: 'critical' },
    { field: 'title', operator: 'changed' },
  ])('%j is accepted', (filter) => {
    expect(checkFilter(filter)).toEqual([]);
  });

  test.each<[Filter, string]>([
    [{ field: 'titel', operator: 'eq', value: 'a' }, 'field unknown_field title'],
    [{ field: 'event_payload.title', operator: 'eq', value: 'a' }, 'field unknown_field title'],
    [{ field: 'colour', operator: 'eq', value: 'a' }, 'field unknown_field'],
    [{ field: 'title.length', operator: 'gt', value: 1 }, 'field unknown_field title'],
    [{ field: 'constructor', operator: 'exists' }, 'field unknown_field'],
    [{ field: 'priority', operator: 'gt', value: 'low' }, 'operator operator_type_mismatch'],
    [{ field: 'due_at', operator: 'gt', value: '2026-01-01' }, 'operator operator_type_mismatch after'],
    [{ field: 'count', operator: 'before', value: 4 }, 'operator operator_type_mismatch lt'],
    [{ field: 'priority', operator: 'contains', value: 'h' }, 'operator operator_type_mismatch eq'],
    [{ field: 'tags', operator: 'eq', value: 'vip' }, 'operator operator_type_mismatch contains'],
    [{ field: 'vip', operator: 'in', value: [true] }, 'operator operator_type_mismatch eq'],
    [{ field: 'contact', operator: 'eq', value: 'a' }, 'operator operator_type_mismatch'],
    [{ field: 'priority', operator: 'eq', value: 'hihg' }, 'value invalid_value high'],
    [{ field: 'priority', operator: 'eq', value: 'High' }, 'value invalid_value high'],
    [{ field: 'priority', operator: 'in', value: ['high', 'urgent'] }, 'value invalid_value'],
    [{ field: 'priority', operator: 'in', value: 'high' }, 'value invalid_value'],
    [{ field: 'priority', operator: 'in', value: [] }, 'value invalid_value'],
    [{ field: 'count', operator: 'eq', value: '5' }, 'value invalid_value'],
    [{ field: 'count', operator: 'gt', value: null }, 'value invalid_value'],
    [{ field: 'count', operator: 'gt' }, 'value invalid_value'],
    [{ field: 'count', operator: 'between', value: [5, 1] }, 'value invalid_value'],
    [{ field: 'count', operator: 'between', value: [1] }, 'value invalid_value'],
    [{ field: 'vip', operator: 'eq', value: 'true' }, 'value invalid_value'],
    [{ field: 'title', operator: 'eq' }, 'value invalid_value'],
    [{ field: 'title', operator: 'eq', value: ['a'] }, 'value invalid_value'],
    [{ field: 'title', operator: 'contains', value: '' }, 'value invalid_value'],
    [{ field: 'title', operator: 'matches', value: '(a+)+' }, 'value invalid_value'],
    [{ field: 'title', operator: 'exists', value: false }, 'value invalid_value'],
    [{ field: 'due_at', operator: 'after', value: 'tomorrow' }, 'value invalid_value'],
    [{ field: 'due_at', operator: 'within_last', value: 'a day' }, 'value invalid_value'],
    [{ field: 'tags', operator: 'contains', value: { a: 1 } }, 'value invalid_value'],
  ])('%j is refused', (filter, expected) => {
    expect(brief(checkFilter(filter))).toEqual([`/trigger/filters/0/${expected}`]);
  });

  test('a list became what it is as a whole', () => {
    const asking = (value: unknown) => brief(checkFilter({ field: 'tags', operator: 'changed_to', value }));
    expect(asking(['vpn', 'wifi'])).toEqual([]);
    expect(asking(null)).toEqual([]);
    expect(asking('vpn')).toEqual(['/trigger/filters/0/value invalid_value']);
    expect(asking([{}])).toEqual(['/trigger/filters/0/value invalid_value']);
  });

  test('objects hold what others put there, beside the one a sample shows; those of ours have their own members', () => {
    const asking = (field: string) => brief(checkFilter({ field, operator: 'exists' }));
    expect(asking('answers.needed_by')).toEqual([]);
    expect(asking('actor.type')).toEqual([]);
    expect(asking('actor.typ')).toEqual(['/trigger/filters/0/field unknown_field actor.type']);
    expect(asking('contact.email')).toEqual([]);
    expect(asking('contact.mail')).toEqual(['/trigger/filters/0/field unknown_field contact.email']);
  });

  test('old values have the fields of new ones', () => {
    const trigger = { ...base.trigger, event_type: 'ticket.updated' };
    const fine: Filter = { field: 'previous.priority', operator: 'eq', value: 'low' };
    expect(check({ trigger: { ...trigger, filters: [fine] } })).toEqual([]);
    expect(brief(check({ trigger: { ...trigger, filters: [{ ...fine, field: 'previous.prioirty' }] } }))).toEqual([
      '/trigger/filters/0/field unknown_field previous.priority',
    ]);
  });
});

describe('conditions', () => {
  test.each<Condition>([
    { field: 'event_payload.priority', operator: 'eq', value: 'high' },
    { field: 'event.client_id', operator: 'exists' },
    { field: 'event.occurred_at', operator: 'within_last', value: '1h' },
    { field: 'now.hour', operator: 'between', value: [8, 18] },
    { field: 'now.weekday', operator: 'not_in', value: ['saturday', 'sunday'] },
    { field: 'org.tier', operator: 'eq', value: 'enterprise' },
    { field: 'org.name', operator: 'eq', value: 'Demo MSP' },
    { field: 'org.timezone', operator: 'starts_with', value: 'Europe/' },
    {
      any: [
        { not: { field: 'event_payload.vip', operator: 'eq', value: true } },
        { all: [{ field: 'org.id', operator: 'eq', value: 'o' }] },
      ],
    },
  ])('%j is accepted', (condition) => {
    expect(checkRule(condition)).toEqual([]);
  });

  test.each<[Condition, string]>([
    [
      { field: 'priority', operator: 'eq', value: 'high' },
      '/conditions/0/field unknown_reference event_payload.priority',
    ],
    [
      { field: 'event_payload.prio', operator: 'eq', value: 'high' },
      '/conditions/0/field unknown_field event_payload.priority',
    ],
    [{ field: 'now.day', operator: 'eq', value: 'monday' }, '/conditions/0/field unknown_reference'],
    [{ field: 'now.weekday', operator: 'eq', value: 'Mon' }, '/conditions/0/value invalid_value monday'],
    [{ field: 'vars.x', operator: 'exists' }, '/conditions/0/field unknown_reference'],
    [{ field: 'steps.note.status', operator: 'exists' }, '/conditions/0/field unknown_reference'],
    [
      { any: [{ not: { field: 'now.hour', operator: 'eq', value: 'eight' } }] },
      '/conditions/0/any/0/not/value invalid_value',
    ],
    [
      { all: [{ all: [{ field: 'org.teir', operator: 'eq', value: 'standard' }] }] },
      '/conditions/0/all/0/all/0/field unknown_reference org.tier',
    ],
  ])('%j is refused', (condition, expected) => {
    expect(brief(checkRule(condition))).toEqual([expected]);
  });

  test('groups nested too deeply are refused, not followed', () => {
    let condition: Condition = { field: 'nothing', operator: 'exists' };
    for (let depth = 0; depth < 9_000; depth += 1) condition = { not: condition };
    expect(brief(checkRule(condition))).toEqual([`/conditions/0${'/not'.repeat(8)} too_deep`]);
  });
});

describe('patterns of one definition', () => {
  const matching = (count: number, value: string): Condition => ({
    any: Array.from({ length: count }, () => ({ field: 'event_payload.title', operator: 'matches', value })),
  });

  test('count together, wherever they stand', () => {
    expect(check({ conditions: [matching(4, '(.?){50}b')] })).toEqual([]);
    expect(brief(check({ conditions: [matching(4, '(.?){50}b'), matching(3, '(.?){50}b')] }))).toEqual([
      '/conditions/1/any/0/value invalid_value',
    ]);
  });

  test('may be many where they are small', () => {
    expect(check({ conditions: [matching(20, '^(VPN|Wi-Fi) ')] })).toEqual([]);
  });
});
