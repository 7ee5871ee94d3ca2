import { durationMs, formatDuration, parseDuration } from '../../../src/domain/durations';

test.each([
  ['30s', 30_000],
  ['15m', 900_000],
  ['24h', 86_400_000],
  ['7d', 604_800_000],
  ['999999s', 999_999_000],
])('%s is %d ms', (duration, ms) => {
  expect(durationMs(duration)).toBe(ms);
});

test.each(['', '0m', '15', 'm', '1w', '15 m', '-1m', '1.5h', '1000000s', '15M', 15, null, undefined, {}])(
  '%p is no duration',
  (value) => {
    expect(parseDuration(value)).toBeUndefined();
  },
);

test('a duration that passed no contract is refused loudly', () => {
  expect(() => durationMs('soon')).toThrow('Not a duration: soon');
});

test.each([
  [0, '0ms'],
  [-5, '0ms'],
  [Number.NaN, '0ms'],
  [250, '250ms'],
  [1_000, '1s'],
  [90_000, '1m 30s'],
  [3_600_000, '1h'],
  [5_400_000, '1h 30m'],
  [86_400_000, '1d'],
  [90_061_000, '1d 1h'],
])('%d ms reads %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
