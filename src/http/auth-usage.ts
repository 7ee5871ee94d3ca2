/** Counts the requests of each key in memory and stores the counts every two seconds. */
import type { Context } from '../context';
import type { Operation } from '../contracts/operation';
import type { Principal } from '../contracts/principal';
import { addCounts, addFigures, durationBucket, firstOfDay, HOUR_MS, noFigures, type Counts } from '../domain/usage';
import { isStoreUnreached } from '../store/outages';
import { addUsage, type UsageDelta } from '../store/usage';
import { addHours, type HourDelta } from '../store/usage-hours';

const FLUSH_EVERY_MS = 2_000;
/** While the store is away, counts of no more than this many keys, and hours of keys, are kept. */
const ENTRIES_MAX = 10_000;
const ERROR_FROM = 400;
const RATE_LIMITED = 429;

/** A request that was answered. */
export interface Answered {
  operation: Operation;
  status: number;
  /** How long the answer took. */
  ms: number;
}

export interface UsageCounter {
  record(principal: Principal, answered: Answered): void;
  /** Stores everything counted so far. */
  flush(): Promise<void>;
}

/**
 * Deltas by what they are about, until they are stored. What the store was never reached with is kept and added to; any
 * other failure drops it, as a crash would: the store may have added it and only the reply be lost. Figures that miss
 * two seconds mislead less than requests that never were, and an id for each write in each figure would cost more.
 */
function createBuffer<Delta>(kind: {
  idOf: (delta: Delta) => string;
  merge: (into: Delta, delta: Delta) => void;
  store: (batch: Delta[]) => Promise<void>;
}) {
  let waiting = new Map<string, Delta>();
  /** The delta of this id to count in; null when there is no room for another. */
  function at(id: string, begin: () => Delta): Delta | null {
    const known = waiting.get(id);
    if (known) return known;
    if (waiting.size >= ENTRIES_MAX) return null;
    const begun = begin();
    waiting.set(id, begun);
    return begun;
  }
  function addBack(delta: Delta): void {
    const into = at(kind.idOf(delta), () => delta);
    if (into && into !== delta) kind.merge(into, delta);
  }
  return {
    at,
    async flush(): Promise<void> {
      const batch = [...waiting.values()];
      waiting = new Map();
      try {
        await kind.store(batch);
      } catch (error) {
        if (isStoreUnreached(error)) for (const delta of batch) addBack(delta);
        throw error;
      }
    },
  };
}

const countOne = (counts: Counts, name: string | number): void => {
  counts[name] = (counts[name] ?? 0) + 1;
};

const noTotal = (keyId: string, orgId: string, at: Date): UsageDelta => ({
  keyId,
  orgId,
  requests: 0,
  errors: 0,
  lastUsedAt: at,
  deprecated: {},
});

function countTotal(into: UsageDelta, { operation, status }: Answered, at: Date): void {
  into.requests += 1;
  if (status >= ERROR_FROM) into.errors += 1;
  if (at > into.lastUsedAt) into.lastUsedAt = at;
  if (operation.deprecated) countOne(into.deprecated, operation.id);
}

const hourId = ({ keyId, startMs }: Pick<HourDelta, 'keyId' | 'startMs'>): string => `${keyId}:${startMs}`;

const noHour = (keyId: string, orgId: string, startMs: number): HourDelta => ({
  keyId,
  orgId,
  startMs,
  ...noFigures(),
});

function countHour(into: HourDelta, { operation, status, ms }: Answered): void {
  const path = `${operation.method} /${operation.service}${operation.path}`;
  into.requests += 1;
  countOne(into.statuses, status);
  countOne(into.paths, path);
  if (status >= ERROR_FROM) {
    into.errors += 1;
    countOne(into.failedPaths, path);
  }
  // A refusal at the door takes no time and would make everything else look fast.
  if (status === RATE_LIMITED) into.rateLimited += 1;
  else countOne(into.durations, durationBucket(ms));
}

function mergeTotals(into: UsageDelta, delta: UsageDelta): void {
  into.requests += delta.requests;
  into.errors += delta.errors;
  if (delta.lastUsedAt > into.lastUsedAt) into.lastUsedAt = delta.lastUsedAt;
  addCounts(into.deprecated, delta.deprecated);
}

/** Builds the counter of this process. */
export function createUsageCounter(context: Context): UsageCounter {
  const { store, clock, log } = context;
  const isFirstToday = firstOfDay(ENTRIES_MAX);
  const totals = createBuffer<UsageDelta>({
    idOf: ({ keyId }) => keyId,
    merge: mergeTotals,
    store: (batch) => addUsage(store, batch, (keyId) => isFirstToday(keyId, clock.now())),
  });
  const hours = createBuffer<HourDelta>({
    idOf: hourId,
    merge: addFigures,
    store: (batch) => addHours(store, batch),
  });
  let timer: NodeJS.Timeout | null = null;
  let flushing: Promise<void> = Promise.resolve();

  async function storeCounted(): Promise<void> {
    const outcomes = await Promise.allSettled([totals.flush(), hours.flush()]);
    const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
    for (const error of errors) {
      const isKept = isStoreUnreached(error);
      log.warn(isKept ? 'usage not stored yet' : 'usage may be lost', { error });
      if (isKept) schedule();
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
    record(principal, answered) {
      if (principal.kind !== 'key') return;
      const { keyId, orgId } = principal;
      const at = clock.now();
      const startMs = Math.floor(at.getTime() / HOUR_MS) * HOUR_MS;
      const total = totals.at(keyId, () => noTotal(keyId, orgId, at));
      if (total) countTotal(total, answered, at);
      const hour = hours.at(hourId({ keyId, startMs }), () => noHour(keyId, orgId, startMs));
      if (hour) countHour(hour, answered);
      schedule();
    },
    flush,
  };
}
