import type { Context } from '../../../src/context';
import { createFencedMemory, createMemory } from '../../../src/events/memory';

/** What a memory takes of a context: which store it is, and what time it is. */
function contextAt() {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const context = { store: {}, clock: { now: () => new Date(now) } } as unknown as Context;
  return { context, wait: (ms: number) => void (now += ms) };
}

test('what was read under an epoch is remembered for half a minute', () => {
  const { context, wait } = contextAt();
  const memory = createFencedMemory<string>();
  memory.keep(context, 'org', { epoch: 7, value: 'read' });
  wait(29_999);
  expect(memory.find(context, 'org', 7)).toBe('read');
  wait(1);
  expect(memory.find(context, 'org', 7)).toBeNull();
});

test('a raised epoch ends it', () => {
  const { context } = contextAt();
  const memory = createFencedMemory<string>();
  memory.keep(context, 'org', { epoch: 7, value: 'read' });
  expect(memory.find(context, 'org', 8)).toBeNull();
  memory.keep(context, 'org', { epoch: 8, value: 'read again' });
  expect(memory.find(context, 'org', 8)).toBe('read again');
  // A request that was admitted before the change asks the store: what it may answer is what it found.
  expect(memory.find(context, 'org', 7)).toBeNull();
});

test('a memory without an epoch lasts five seconds, and is one store’s', () => {
  const { context, wait } = contextAt();
  const other = contextAt().context;
  const memory = createMemory<string>();
  memory.keep(context, 'org', 'read');
  expect(memory.find(other, 'org')).toBeNull();
  wait(4_999);
  expect(memory.find(context, 'org')).toBe('read');
  wait(1);
  expect(memory.find(context, 'org')).toBeNull();
});
