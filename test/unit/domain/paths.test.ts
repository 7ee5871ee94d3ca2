import * as fc from 'fast-check';
import { pickPaths, readPath, scopeFrom, setPath } from '../../../src/domain/paths';

const scope = { event_payload: { title: 'Disk full', tags: ['disk', 'vip'], contact: { name: 'Ada' }, none: null } };

test.each([
  ['event_payload.title', 'Disk full'],
  ['event_payload.tags.1', 'vip'],
  ['event_payload.contact.name', 'Ada'],
  ['event_payload.none', null],
  ['event_payload.tags', ['disk', 'vip']],
])('%s is found', (path, value) => {
  expect(readPath(scope, path)).toEqual(value);
});

test.each([
  'event_payload.missing',
  'event_payload.title.length',
  'event_payload.tags.length',
  'event_payload.tags.01',
  'event_payload.tags.-1',
  'event_payload.tags.2',
  'event_payload.none.more',
  'event_payload.constructor',
  'event_payload.__proto__',
  'event_payload.tags.map',
  'constructor.prototype',
  '',
  '.',
])('%p leads nowhere', (path) => {
  expect(readPath(scope, path)).toBeUndefined();
});

test.each([undefined, null, 7, 'text', true])('nothing is found inside %p', (value) => {
  expect(readPath(value, 'a.b')).toBeUndefined();
});

test('no path ever reaches a prototype', () => {
  const inherited = new Set<unknown>(
    [Object.prototype, Array.prototype, String.prototype, Number.prototype, Function.prototype].flatMap((prototype) => [
      prototype,
      ...Object.values(Object.getOwnPropertyDescriptors(prototype)).map(
        ({ value }: PropertyDescriptor) => value as unknown,
      ),
    ]),
  );
  const segment = fc.oneof(
    fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'length', '0', 'a'),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.object({ withNullPrototype: false }), fc.array(segment, { maxLength: 8 }), (data, segments) => {
      const found = readPath(data, segments.join('.'));
      expect(typeof found === 'object' && found !== null ? inherited.has(found) : typeof found === 'function').toBe(
        false,
      );
    }),
  );
});

test('a value that was set is read back from every path, whatever its segments are called', () => {
  const name = fc.constantFrom('a', 'b', '__proto__', 'constructor', '0', 'x-1');
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 5 }), fc.jsonValue(), (segments, value) => {
      const target: Record<string, unknown> = {};
      setPath(target, segments.join('.'), value);
      expect(readPath(target, segments.join('.'))).toBe(value);
      expect(Object.getPrototypeOf(target)).toBe(Object.prototype);
      expect(({} as Record<string, unknown>)['a']).toBeUndefined();
    }),
  );
});

test('facts picked by path find their values again in the scope made from them', () => {
  const paths = ['event_payload.tags.1', 'event_payload.tags', 'event_payload.contact.name', 'steps.none.status'];
  const facts = pickPaths(scope, paths);
  const rebuilt = scopeFrom(facts);
  for (const path of paths) expect(readPath(rebuilt, path)).toEqual(readPath(scope, path));
  expect(Object.keys(facts)).not.toContain('steps.none.status');
});

test('what is in another value that is asked for is not picked twice', () => {
  expect(Object.keys(pickPaths({ a: { b: { c: 1 } }, ab: 2 }, ['a.b.c', 'a.b', 'ab', 'a']))).toEqual(['ab', 'a']);
});

test('making a scope from facts leaves the facts as they were', () => {
  const facts = { 'a.b.d': 1, 'a.b': { c: 1, d: 1 }, 'a.e': 2 };
  expect(scopeFrom(facts)).toEqual({ a: { b: { c: 1, d: 1 }, e: 2 } });
  expect(facts).toEqual({ 'a.b.d': 1, 'a.b': { c: 1, d: 1 }, 'a.e': 2 });
});
