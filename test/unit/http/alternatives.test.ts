/** What a value must be that fails every member of an `anyOf` is said in one finding. */
import { Duration, Enum, Nullable, Timestamp, Type, type TSchema } from '../../../src/contracts/schema';
import { AgentName, CreateAgent } from '../../../src/contracts/agent';
import { EventInput } from '../../../src/contracts/event';
import { bodyValidator } from '../../../src/http/validate';

const Named = Type.Object({ name: Type.String({ minLength: 3 }) }, { additionalProperties: false });
const findings = (schema: TSchema, value: unknown) =>
  bodyValidator(Type.Object({ field: schema }))({ field: value }).map(({ path, message }) => `${path}: ${message}`);

test.each<[string, TSchema, unknown, string[]]>([
  ['a format', Nullable(Timestamp()), 'soon', ['/field: must be a date-time or null']],
  ['a type', Nullable(Timestamp()), 5, ['/field: must be string or null']],
  ['a range', Nullable(Type.Integer({ minimum: 1 })), 0, ['/field: must be >= 1 or null']],
  ['a list of values', Nullable(Enum(['low', 'high'])), 'hihg', ['/field: must be one of low, high or null']],
  [
    'what is no alternative',
    Nullable(Type.String({ minLength: 3 })),
    'a',
    ['/field: must NOT have fewer than 3 characters'],
  ],
  [
    'several faults',
    Nullable(Type.String({ minLength: 3, pattern: '^b' })),
    'a',
    ['/field: must NOT have fewer than 3 characters', '/field: does not match ^b'],
  ],
  ['faults deeper inside', Nullable(Named), { name: 'a' }, ['/field/name: must NOT have fewer than 3 characters']],
  ['a missing field', Nullable(Named), {}, ['/field/name: name is required']],
  ['null where it may not be', Named, null, ['/field: must be object and cannot be null']],
])('%s', (_name, schema, value, expected) => {
  expect(findings(schema, value)).toEqual(expected);
});

test('a value that does not match is told what it must be, and an empty one only that', () => {
  const duration = Type.Object({ for: Duration(), name: AgentName });
  const messages = (value: unknown) => bodyValidator(duration)(value).map(({ message }) => message);
  expect(messages({ for: '5 minutes', name: ' \t ' })).toEqual([
    'must be a length of time: a whole number with s, m, h or d, such as 30s, 5m, 24h or 7d',
    'must be one line that is not blank',
  ]);
  expect(messages({ for: '5m', name: '' })).toEqual(['must NOT have fewer than 1 characters']);
});

test('what was meant is still suggested', () => {
  const schema = Type.Object({ field: Nullable(Enum(['low', 'high'])) });
  expect(bodyValidator(schema)({ field: 'hihg' })).toMatchObject([{ code: 'enum', suggestion: 'high' }]);
});

describe('a union is judged by the member the value is most like', () => {
  const pathsOf = (schema: TSchema, value: unknown) => bodyValidator(schema)(value).map(({ path }) => path);
  const native = { event_type: 'ticket.escalated', source_product: 'psa', payload: {} };
  const cloud = { specversion: '1.0', id: '1', type: 'ticket.escalated', source: '/psa', data: {} };

  test.each([
    ['a missing field', { ...native, payload: undefined }, ['/payload']],
    ['a field by another name', { ...native, paylod: {} }, ['/paylod']],
    ['a wrong type', { ...native, payload: 5 }, ['/payload']],
    ['a CloudEvent without its id', { ...cloud, id: undefined }, ['/id']],
  ])('an event with %s', (_what, event, paths) => {
    expect(pathsOf(EventInput, JSON.parse(JSON.stringify(event)))).toEqual(paths);
  });

  const agent = (condition: unknown) => ({
    name: 'Agent',
    trigger: { type: 'bus_event', event_type: 'ticket.escalated', source_product: 'psa' },
    steps: [{ type: 'delay', id: 'wait', for: '1m' }],
    conditions: [condition],
  });
  const filter = { field: 'event_payload.priority', operator: 'eq', value: 'low' };
  test.each([
    ['an operator nobody knows', { ...filter, operator: 'equals' }, ['/conditions/0/operator']],
    ['one in a group', { any: [{ ...filter, operator: 'equals' }] }, ['/conditions/0/any/0/operator']],
    ['one in a group of a group', { not: { all: [filter, { operator: 'eq' }] } }, ['/conditions/0/not/all/1/field']],
    ['an empty group', { all: [] }, ['/conditions/0/all']],
  ])('a condition with %s', (_what, condition, paths) => {
    expect(pathsOf(CreateAgent as TSchema, agent(condition))).toEqual(paths);
  });
});
