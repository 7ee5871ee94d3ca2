import { fingerprintOf, idsFrom, isKept, readKey, scopeOf } from '../../../src/domain/idempotency';

test.each([
  ['abc', 'abc'],
  ['"abc"', 'abc'],
  ['  abc ', 'abc'],
  ['x'.repeat(255), 'x'.repeat(255)],
  ['', null],
  ['""', null],
  ['two words', null],
  ['x'.repeat(256), null],
  ['umlaut-ä', null],
])('%j reads as %j', (header, key) => {
  expect(readKey(header)).toBe(key);
});

test('requests that differ in body or query have different fingerprints', () => {
  const asked = [
    { body: { a: 1 }, query: {} },
    { body: { a: '1' }, query: {} },
    { body: { a: [1] }, query: {} },
    { body: {}, query: { a: 1 } },
    { body: undefined, query: {} },
  ];
  expect(new Set(asked.map(fingerprintOf)).size).toBe(asked.length);
});

test('whatever differs about the caller, the operation or its record, the key is another', () => {
  const base = { orgId: 'org_a', credential: 'key k', operation: 'renew', params: { id: 'x' }, key: 'one' };
  const others = [
    base,
    { ...base, orgId: 'org_b' },
    { ...base, credential: 'key l' },
    { ...base, operation: 'update' },
    { ...base, params: { id: 'y' } },
    { ...base, params: {} },
    { ...base, key: 'two' },
    { ...base, credential: 'key k renew', operation: '' },
  ];
  expect(new Set(others.map(scopeOf)).size).toBe(others.length);
});

test('a repeat gets the same ids in the same order, another request gets others', () => {
  const at = new Date('2026-11-20T22:40:00Z');
  const ask = (seed: string): string[] => {
    const next = idsFrom(seed, at);
    return [next('tkt'), next('tkt'), next('evt')];
  };
  expect(ask('one')).toEqual(ask('one'));
  expect(new Set([...ask('one'), ...ask('two')]).size).toBe(6);
  for (const id of ask('one')) expect(id).toMatch(/^(tkt|evt)_[0-9A-HJKMNP-TV-Z]{26}$/);
});

test('answers that may pass are not kept', () => {
  expect([200, 201, 202, 204, 400, 404, 422].filter((status) => !isKept(status))).toEqual([]);
  expect([304, 401, 403, 409, 429, 500, 503].filter(isKept)).toEqual([]);
});
