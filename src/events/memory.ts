/** What a process remembers of the store. */
import type { Context } from '../context';
import { FENCED_MS_MAX } from '../store/guards';

const ENTRIES_MAX = 1_000;
/** For what may change without a sign. */
export const UNFENCED_MS_MAX = 5_000;

export interface Memory<Value> {
  find(context: Context, key: string): Value | null;
  keep(context: Context, key: string, value: Value): void;
}

/** What every change raises the tenant's epoch for, so that it holds for as long as the epoch stands. */
export interface FencedMemory<Value> {
  /** `epoch` is that of the guard as the request found it. */
  find(context: Context, key: string, epoch: number): Value | null;
  keep(context: Context, key: string, kept: { epoch: number; value: Value }): void;
}

/** Builds a memory of a thousand entries per store. A full one starts over. */
export function createMemory<Value>(rememberedMs = UNFENCED_MS_MAX): Memory<Value> {
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
      entries.set(key, { value, until: clock.now().getTime() + rememberedMs });
    },
  };
}

/** Builds a memory under the tenant's epoch. */
export function createFencedMemory<Value>(rememberedMs = FENCED_MS_MAX): FencedMemory<Value> {
  const memory = createMemory<{ epoch: number; value: Value }>(rememberedMs);
  return {
    find(context, key, epoch) {
      const known = memory.find(context, key);
      return known?.epoch === epoch ? known.value : null;
    },
    keep: (context, key, kept) => memory.keep(context, key, kept),
  };
}
