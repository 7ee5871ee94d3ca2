/** Run figures of agents, added up in memory and written together: a finished run costs no write of its own. */
import type { Context } from '../context';
import { addRuns, type RunTally } from '../store/agent-runs';
import type { ExecutionRecord } from '../store/executions';
import { isStoreUnreached } from '../store/outages';

const FLUSH_MS = 500;
/** While the store is away, figures of no more agents than this are kept. */
const AGENTS_MAX = 10_000;

export interface RunTallies {
  /** Counts a run. Only for whoever's write has ended it: of several who try, the store lets one. */
  add(record: ExecutionRecord): void;
  /** Writes what is pending and stops the timer. */
  close(): Promise<void>;
}

const emptyTally = (record: ExecutionRecord): RunTally => ({
  orgId: record.org_id,
  agentId: record.agent_id,
  total: 0,
  completed: 0,
  failed: 0,
  durationMs: 0,
  lastRunAt: new Date(0),
});

/**
 * Builds the tallies of a process. One that is killed loses at most half a second of figures, never of records, and so
 * does one whose write fails, unless the store was never reached: it may have done it and only the reply be lost. Figures that miss a moment of an
 * outage mislead less than runs that never were, and an id for each write in each agent's figures would cost more.
 */
export function createRunTallies({ store, log }: Pick<Context, 'store' | 'log'>): RunTallies {
  let pending = new Map<string, RunTally>();
  const merge = (key: string, tally: RunTally): void => {
    const known = pending.get(key);
    if (!known) {
      if (pending.size < AGENTS_MAX) pending.set(key, tally);
      return;
    }
    known.total += tally.total;
    known.completed += tally.completed;
    known.failed += tally.failed;
    known.durationMs += tally.durationMs;
    if (tally.lastRunAt > known.lastRunAt) known.lastRunAt = tally.lastRunAt;
  };
  const flush = async (): Promise<void> => {
    const batch = pending;
    pending = new Map();
    try {
      await addRuns(store, [...batch.values()]);
    } catch (error) {
      const runs = [...batch.values()].reduce((sum, { total }) => sum + total, 0);
      if (!isStoreUnreached(error)) {
        log.warn('run figures may be lost', { runs, error });
        return;
      }
      log.warn('run figures wait for the store', { runs, error });
      for (const [key, tally] of batch) merge(key, tally);
    }
  };
  const timer = setInterval(() => void (pending.size > 0 && flush()), FLUSH_MS);
  // What is pending is written when the process stops; the timer alone must not keep it alive.
  timer.unref();
  return {
    add(record) {
      const ended = record.completed_at ?? new Date(0);
      merge(`${record.org_id}:${record.agent_id}`, {
        ...emptyTally(record),
        total: 1,
        completed: record.status === 'completed' ? 1 : 0,
        failed: record.status === 'failed' ? 1 : 0,
        durationMs: Math.max(0, ended.getTime() - (record.started_at ?? record.created_at).getTime()),
        lastRunAt: ended,
      });
    },
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}
