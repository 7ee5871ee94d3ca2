/** What a value must be that fails every member of an `anyOf` is said in one finding. */
import { Enum, Nullable, Timestamp, Type, type TSchema } from '../../../src/contracts/schema';
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
  ['null where it may not be', Named, null, ['/field: must be object']],
])('%s', (_name, schema, value, expected) => {
  expect(findings(schema, value)).toEqual(expected);
});

test('what was meant is still suggested', () => {
  const schema = Type.Object({ field: Nullable(Enum(['low', 'high'])) });
  expect(bodyValidator(schema)({ field: 'hihg' })).toMatchObject([{ code: 'enum', suggestion: 'high' }]);
});
