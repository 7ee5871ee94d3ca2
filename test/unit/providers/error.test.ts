import { ProviderError, retryAfterMsOf, statusError } from '../../../src/providers/error';

const NOW = Date.parse('2026-11-20T12:00:00Z');

test.each([
  ['30', 30_000],
  ['0', 0],
  ['1.5', 1_500],
  ['-5', 0],
  ['Fri, 20 Nov 2026 12:00:10 GMT', 10_000],
  ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
  ['99999999', 86_400_000],
  ['soon', undefined],
  ['', undefined],
  [undefined, undefined],
])('Retry-After %j is %s ms', (value, expected) => {
  expect(retryAfterMsOf(value, NOW)).toBe(expected);
});

test('an error without a wait or usage does not carry the fields', () => {
  expect(new ProviderError('network', 'x')).not.toHaveProperty('retryAfterMs');
  expect(statusError({ status: 500, headers: {}, from: 'x' })).not.toHaveProperty('usage');
});

test.each([
  [302, 'x answered 302; redirects are not followed'],
  [304, 'x answered 304'],
  [404, 'x answered 404'],
])('%i says why it is the end', (status, message) => {
  expect(statusError({ status, headers: {}, from: 'x' })).toMatchObject({ kind: 'rejected', message });
});
