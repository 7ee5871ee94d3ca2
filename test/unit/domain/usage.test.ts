import { bucketStarts, durationBucket, firstOfDay, HOUR_MS, p95Of, type Counts } from '../../../src/domain/usage';

const durations = (...milliseconds: number[]): Counts => {
  const counts: Counts = {};
  for (const ms of milliseconds) counts[durationBucket(ms)] = (counts[durationBucket(ms)] ?? 0) + 1;
  return counts;
};
const times = (count: number, ms: number): number[] => Array.from({ length: count }, () => ms);

test.each([
  ['nothing', [], null],
  ['one', [12], 15],
  ['19 fast and one slow: the slow one is the last twentieth', [...times(19, 4), 900], 5],
  ['18 fast and two slow', [...times(18, 4), 900, 900], 1_000],
  ['longer than the scale', [90_000], 30_000],
  ['on a bound', [100], 100],
  ['just above it', [100.01], 150],
  ['less than a millisecond', [0.2], 1],
])('p95 of %s', (_what, given, expected) => {
  expect(p95Of(durations(...given))).toBe(expected);
});

test('buckets begin at the full hour and cover the whole span', () => {
  const starts = bucketStarts(new Date('2026-11-20T10:59:59.999Z'), new Date('2026-11-20T12:00:00.001Z'), HOUR_MS);
  expect(starts.map((start) => new Date(start).toISOString().slice(11, 13))).toEqual(['10', '11', '12']);
  const exact = bucketStarts(new Date('2026-11-20T10:00:00Z'), new Date('2026-11-20T12:00:00Z'), HOUR_MS);
  expect(exact).toHaveLength(2);
});

test('a key is met for the first time once a day', () => {
  const isFirst = firstOfDay(2);
  const evening = new Date('2026-11-20T23:59:59.999Z');
  const morning = new Date('2026-11-21T00:00:00.000Z');
  expect([isFirst('a', evening), isFirst('a', evening), isFirst('b', evening)]).toEqual([true, false, true]);
  // Two are all it remembers.
  expect([isFirst('c', evening), isFirst('a', evening)]).toEqual([true, true]);
  expect([isFirst('a', morning), isFirst('a', morning)]).toEqual([true, false]);
});
