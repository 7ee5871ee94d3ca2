import { schemaProblems } from '../../../src/domain/json-schema';

const problemOf = (schema: Record<string, unknown>): string | null => schemaProblems()(schema);
const many = (count: number) => Array.from({ length: count }, () => ({}));

test.each([
  ['nothing but a type', { type: 'object' }],
  ['a pattern', { type: 'object', properties: { code: { type: 'string', pattern: '^[A-Z]{3}-\\d{2,4}$' } } }],
  ['a pattern of parts', { type: 'object', properties: { code: { pattern: '^[a-z]+(-[a-z]+)*$' } } }],
  ['patterns of names', { type: 'object', patternProperties: { '^x_': { type: 'string' } } }],
  ['itself', { type: 'object', properties: { next: { $ref: '#' } } }],
  ['800 alternatives', { type: 'object', anyOf: many(800) }],
])('a schema that holds %s is usable', (_what, schema) => {
  expect(problemOf(schema)).toBeNull();
});

test.each([
  ['looks ahead', { type: 'object', properties: { code: { pattern: '(?=a)b' } } }, 'look-around'],
  ['refers back', { type: 'object', patternProperties: { '(a)\\1': {} } }, 'Back references'],
  ['is of no known type', { type: 'thing' }, 'type'],
])('a schema that %s is refused with the reason', (_what, schema, said) => {
  expect(problemOf(schema)).toContain(said);
});

test.each([
  ['alternatives', { type: 'object', anyOf: many(20_000) }],
  ['required names', { type: 'object', required: Array.from({ length: 130_000 }, (_, at) => at.toString(36)) }],
  ['patterns', { type: 'object', patternProperties: Object.fromEntries(many(4_000).map((_, at) => [`a${at}`, true])) }],
])('one with thousands of %s is refused before anybody waits for it', (_what, schema) => {
  const startedAt = performance.now();
  expect(problemOf(schema)).toContain('at most 1000 members');
  expect(performance.now() - startedAt).toBeLessThan(500);
});

test('the schemas of one definition count together', () => {
  const problem = schemaProblems();
  expect(problem({ type: 'object', anyOf: many(600) })).toBeNull();
  expect(problem({ type: 'object', anyOf: many(600) })).toContain('in all');
});
