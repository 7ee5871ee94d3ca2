/**
 * This worker's copies of running executions. A copy is used only while it has seen as many records as the workflow has,
 * and not for long: a cancel ends the record, and the workflow may hear of it much later.
 */
import { executions, type ExecutionRecord } from '../src/store/executions';
import type { Store } from '../src/store/collection';

const ENTRIES_MAX = 1_000;
/** Steps without a delay between them follow each other faster. */
const FRESH_MS = 1_000;

export interface ExecutionCache {
  put(record: ExecutionRecord): void;
  drop(id: string): void;
  /** The execution as of `seq` records: from memory, or from the store when another worker wrote since. */
  read(id: string, seq: number): Promise<ExecutionRecord | null>;
}

/** Builds the cache. The least recently used copy goes first. */
export function createExecutionCache(store: Store): ExecutionCache {
  const entries = new Map<string, { record: ExecutionRecord; at: number }>();
  const put = (record: ExecutionRecord): void => {
    entries.delete(record._id);
    entries.set(record._id, { record, at: performance.now() });
    if (entries.size > ENTRIES_MAX) {
      const oldest = entries.keys().next();
      if (!oldest.done) entries.delete(oldest.value);
    }
  };
  return {
    put,
    drop: (id) => void entries.delete(id),
    async read(id, seq) {
      const known = entries.get(id);
      if (known?.record.seq === seq && performance.now() - known.at < FRESH_MS) return known.record;
      const stored = await executions.in(store).findById(id).lean<ExecutionRecord>().exec();
      if (stored) put(stored);
      return stored;
    },
  };
}
