import { prefersProblemJson } from '../../../src/http/accepts';

test.each([
  [undefined, false],
  ['*/*', false],
  ['application/json', false],
  ['application/problem+json', true],
  ['Application/Problem+JSON', true],
  ['application/json, application/problem+json', true],
  ['application/problem+json;q=0.5, application/json', false],
  ['application/problem+json;q=0.9, application/json;q=0.8', true],
  ['application/problem+json;q=0.9, */*;q=0.8', true],
  ['application/problem+json;q=0.5, */*', false],
  ['application/problem+json;q=0.5, application/json;q=0.1, */*', true],
  ['application/problem+json;q=0', false],
  ['application/problem+json;q=nonsense', false],
  ['text/html;level=1, application/problem+json; charset=utf-8; q=1', true],
  ['application/problem+jsonx', false],
])('Accept: %s → %s', (accept, isPreferred) => {
  expect(prefersProblemJson(accept)).toBe(isPreferred);
});
