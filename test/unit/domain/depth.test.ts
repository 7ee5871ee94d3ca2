import { isDeeperThan } from '../../../src/domain/depth';

const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);

test.each([
  ['text', 'a', 0, false],
  ['nothing', undefined, 0, false],
  ['null', null, 0, false],
  ['an empty list', [], 1, false],
  ['an empty object', {}, 0, true],
  ['a list in a list', [[]], 2, false],
  ['the same, one level less', [[]], 1, true],
  ['an object in a list in an object', { a: [{ b: 1 }] }, 3, false],
  ['the deepest branch of several', [1, [2], [[3]]], 2, true],
])('%s', (_name, value, levels, is) => {
  expect(isDeeperThan(value, levels)).toBe(is);
});

test('no depth ends the stack', () => {
  expect(isDeeperThan(nested(100_000), 99_999)).toBe(true);
  expect(isDeeperThan(nested(100_000), 100_000)).toBe(false);
});
