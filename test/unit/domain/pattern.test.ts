import * as fc from 'fast-check';
import { matchesPattern, patternProblem } from '../../../src/domain/pattern';

const insensitive = { caseSensitive: false };

test.each([
  ['disk', 'Low DISK space', true],
  ['^vip', 'VIP customer', true],
  ['^vip$', 'vip customer', false],
  ['err(or)?s?', 'two errs', true],
  ['T-\\d{4,6}', 'see T-1042', true],
  ['T-\\d{4,6}$', 'see T-104', false],
  ['(\\d{1,3}\\.){3}\\d{1,3}', 'from 10.0.12.7', true],
  ['v\\d+(\\.\\d+)?', 'v10.2', true],
  ['[^a-z]', 'only-letters', true],
  ['[^a-z-]', 'only-letters', false],
  ['colou?r|shade', 'a SHADE', true],
  ['\\bcat\\b', 'concatenate', false],
  ['\\Bcat\\B', 'concatenate', true],
  ['a.c', 'a\nc', false],
  ['[\\w-]+@[\\w.]+', 'mail ada-l@example.com now', true],
  ['stra(ß|ss)e', 'STRASSE', true],
  ['', 'anything', true],
  ['()', '', true],
  ['(a|)b', 'b', true],
  ['😀{2}', '😀😀', true],
])('/%s/ over %p: %p', (pattern, text, expected) => {
  expect(patternProblem(pattern)).toBeUndefined();
  expect(matchesPattern(pattern, text, insensitive)).toBe(expected);
});

test.each([
  ['(a+)+', 'A repetition inside a repetition'],
  ['(?=a)', 'Only plain groups'],
  ['(?<name>a)', 'Only plain groups'],
  ['(a)\\1', 'Back references'],
  ['\\p{L}', '\\p is not supported'],
  ['a{3', 'Write a count'],
  ['a{5,2}', 'not in order'],
  ['a{101}', 'at most 100'],
  ['((a{100}){100}){100}', 'repeats too much'],
  ['(a', 'not closed'],
  ['a)', 'without its "("'],
  ['[a', 'ends too early'],
  ['[z-a]', 'not in order'],
  ['*a', 'nothing before "*"'],
  ['a**', 'nothing before "*"'],
  ['^*', 'cannot be repeated'],
  ['a]', 'Write \\]'],
  ['\\', 'ends too early'],
  ['a'.repeat(201), 'at most 200'],
])('/%s/ is refused with a reason', (pattern, reason) => {
  expect(patternProblem(pattern)).toContain(reason);
  expect(matchesPattern(pattern, 'aaa', insensitive)).toBe(false);
});

test('case counts when asked', () => {
  expect(matchesPattern('VIP', 'vip', { caseSensitive: true })).toBe(false);
  expect(matchesPattern('[A-Z]{3}', 'vip', { caseSensitive: true })).toBe(false);
  expect(matchesPattern('[A-Z]{3}', 'vip', insensitive)).toBe(true);
});

test('the end of a text that is too long to be read is never claimed to be seen', () => {
  expect(matchesPattern('a$', 'a'.repeat(12_000), insensitive)).toBe(false);
  expect(matchesPattern('^a', 'a'.repeat(12_000), insensitive)).toBe(true);
});

/** Patterns of the subset over a small alphabet, so that texts often match. */
const { pattern } = fc.letrec<{ pattern: string; sequence: string; piece: string; atom: string }>((tie) => ({
  atom: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'c', '.', '\\d', '\\W', '[ab]', '[^a]', '[b-d1]', '\\.') },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom('(', '(?:'), tie('pattern')).map(([open, inner]) => `${open}${inner})`),
    },
  ),
  piece: fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .tuple(tie('atom'), fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,}', '{0,2}', '+?'))
        .map(([atom, times]) => atom + times),
    },
    { weight: 1, arbitrary: fc.constantFrom('^', '$', '\\b', '\\B') },
  ),
  sequence: fc.array(tie('piece'), { maxLength: 4 }).map((pieces) => pieces.join('')),
  pattern: fc.array(tie('sequence'), { minLength: 1, maxLength: 3 }).map((sequences) => sequences.join('|')),
}));

test('answers agree with RegExp on every pattern of the subset', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'A', 'B', '1', '.', ' ', '\n', 'é'), maxLength: 12 });
  fc.assert(
    fc.property(pattern, text, fc.boolean(), (source, subject, caseSensitive) => {
      fc.pre(patternProblem(source) === undefined);
      const expected = new RegExp(source, caseSensitive ? 'u' : 'iu').test(subject);
      expect(matchesPattern(source, subject, { caseSensitive })).toBe(expected);
    }),
    { numRuns: 3_000 },
  );
});

test('counts around nothing cost nothing', () => {
  const source = `${'('.repeat(25)}${'){100}'.repeat(25)}`;
  expect(patternProblem(source)).toBeUndefined();
  expect(matchesPattern(source, '', insensitive)).toBe(true);
});

test('no string makes the matcher throw', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), fc.string(), (source, subject) => {
      expect(typeof matchesPattern(source, subject, insensitive)).toBe('boolean');
    }),
  );
});

test('patterns that make a backtracking engine explode finish in time that grows with the text only', () => {
  const sources = [
    '^(a|aa)+$',
    '(a*b?)?(a*b?)?(a*b?)?(a*b?)?c',
    '(x{1,10}){1,10}y',
    'x{0,100}x{0,100}x{0,100}x{0,100}y',
    `(${'\\b'.repeat(24)}x?){36}y`,
    '^(\\w|\\w\\w|\\w\\w\\w)+!$',
  ];
  for (const source of sources) {
    expect(patternProblem(source)).toBeUndefined();
    const started = performance.now();
    expect(matchesPattern(source, `axax${'a '.repeat(500)}${'a'.repeat(8_000)}`, insensitive)).toBe(false);
    expect(performance.now() - started).toBeLessThan(1_500);
  }
});
