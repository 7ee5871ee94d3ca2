/** What a process remembers of the store for a few seconds. */
import type { Context } from '../context';

const ENTRIES_MAX = 1_000;
const REMEMBERED_MS = 5_000;

export interface Memory<Value> {
  find(context: Context, key: string): Value | null;
  keep(context: Context, key: string, value: Value): void;
}

/** Builds a memory: five seconds, a thousand entries per store. A full one starts over. */
export function createMemory<Value>(): Memory<Value> {
  const stores = new WeakMap<Context['store'], Map<string, { value: Value; until: number }>>();
  return {
    find({ store, clock }, key) {
      const known = stores.get(store)?.get(key);
      return known && known.until > clock.now().getTime() ? known.value : null;
    },
    keep({ store, clock }, key, value) {
      const entries = stores.get(store) ?? new Map<string, { value: Value; until: number }>();
      stores.set(store, entries);
      if (entries.size >= ENTRIES_MAX) entries.clear();
      entries.set(key, { value, until: clock.now().getTime() + REMEMBERED_MS });
    },
  };
}
