/** Counts the requests of each key in memory and stores the counts every two seconds. */
import type { Context } from '../context';
import type { Principal } from '../contracts/principal';
import { addUsage, type UsageDelta } from '../store/usage';

const FLUSH_EVERY_MS = 2_000;
/** While the store is away, counts of no more than this many keys are kept. */
const KEYS_MAX = 10_000;
const ERROR_FROM = 400;

export interface UsageCounter {
  record(principal: Principal, status: number): void;
  /** Stores everything counted so far. */
  flush(): Promise<void>;
}

/** Builds the counter of this process. */
export function createUsageCounter(context: Context): UsageCounter {
  const { store, clock, log } = context;
  let counted = new Map<string, UsageDelta>();
  let timer: NodeJS.Timeout | null = null;
  let flushing: Promise<void> = Promise.resolve();

  function add(delta: UsageDelta): void {
    const before = counted.get(delta.keyId);
    if (!before && counted.size >= KEYS_MAX) return;
    counted.set(delta.keyId, {
      ...delta,
      requests: delta.requests + (before?.requests ?? 0),
      errors: delta.errors + (before?.errors ?? 0),
      lastUsedAt: before && before.lastUsedAt > delta.lastUsedAt ? before.lastUsedAt : delta.lastUsedAt,
    });
  }

  async function storeCounted(): Promise<void> {
    const batch = [...counted.values()];
    counted = new Map();
    try {
      await addUsage(store, batch);
    } catch (error) {
      log.warn('usage not stored yet', { keys: batch.length, error });
      for (const delta of batch) add(delta);
      schedule();
    }
  }

  function flush(): Promise<void> {
    if (timer) clearTimeout(timer);
    timer = null;
    flushing = flushing.then(storeCounted);
    return flushing;
  }

  function schedule(): void {
    timer ??= setTimeout(() => void flush(), FLUSH_EVERY_MS).unref();
  }

  return {
    record(principal, status) {
      if (principal.kind !== 'key') return;
      const { keyId, orgId } = principal;
      add({ keyId, orgId, requests: 1, errors: status >= ERROR_FROM ? 1 : 0, lastUsedAt: clock.now() });
      schedule();
    },
    flush,
  };
}
