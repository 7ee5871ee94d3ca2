/** Threat 16, ReDoS: every pattern of every contract judges 100 KB of evil text in under 50 ms. */
import { allOperations } from '../../../src/http/api-documents';
import { SHARED_SCHEMAS } from '../../../src/http/validate';

const LENGTH = 100_000;
const MS_MAX = 50;
const TRIES = 5;

function patternsIn(schema: unknown, found: Set<string>): Set<string> {
  if (Array.isArray(schema)) for (const item of schema) patternsIn(item, found);
  else if (typeof schema === 'object' && schema !== null) {
    for (const [name, value] of Object.entries(schema)) {
      if (name === 'pattern' && typeof value === 'string') found.add(value);
      patternsIn(value, found);
    }
  }
  return found;
}

const patterns = [...patternsIn([allOperations, SHARED_SCHEMAS], new Set())];

/** Long runs of what patterns like to repeat, each ended by something none of them allows. */
const EVIL = ['a', '0', '-', 'a-', '.', 'a.', '_', ' ', '+1 ', ':', 'A', 'f0', '/', 'T1', 'é', 'a0-_.'].map(
  (part) => `${part.repeat(Math.ceil(LENGTH / part.length))}\n!`,
);

/** The quickest of a few tries: a busy machine must not look like a slow pattern. */
function millisecondsOf(pattern: RegExp, text: string): number {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < TRIES && least > MS_MAX / 10; attempt += 1) {
    const startedAt = performance.now();
    pattern.test(text);
    least = Math.min(least, performance.now() - startedAt);
  }
  return least;
}

test('the contracts have patterns', () => expect(patterns.length).toBeGreaterThan(10));

test.each(patterns)('%s', (source) => {
  const pattern = new RegExp(source, 'u');
  const slow = EVIL.filter((text) => millisecondsOf(pattern, text) > MS_MAX).map((text) => text.slice(0, 8));
  expect(slow).toEqual([]);
});
