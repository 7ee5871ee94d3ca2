/** Work on many things, of many tenants: one that fails must not hold up the others. */
import { faultOf, outageOf } from '../engine/outages';
import type { Log } from '../log';
import { isStoreDown } from '../store/outages';

interface Lot<Item> {
  /** What the items are, for the log. */
  what: string;
  items: readonly Item[];
  /** What the log says of an item that failed. */
  idsOf: (item: NoInfer<Item>) => Record<string, unknown>;
}

export interface Apart {
  /**
   * Does the work for each item in turn. What fails is left for a later pass and logged; an item that fails pass after
   * pass is logged when it begins to, so that the log stays readable for as long as that lasts.
   */
  <Item>(lot: Lot<Item>, work: (item: NoInfer<Item>) => Promise<unknown>): Promise<void>;
  /** Ids of what failed and is left out for now. A pass takes the oldest first: these alone could be all it takes. */
  resting(what: string): string[];
}

/** What fails for good is tried ever more seldom. */
const REST_MS = { first: 1_000, most: 300_000 };
/** Of one kind; more are tried in each pass. */
const RESTING_MAX = 2_000;

interface Failure {
  tries: number;
  until: number;
}

/** What the log says of records of a tenant. */
export const byId = ({ _id: id, org_id: org }: { _id: string; org_id: string }) => ({ org, id });

const keyOf = (ids: Record<string, unknown>): string =>
  typeof ids['id'] === 'string' ? ids['id'] : JSON.stringify(ids);

/** The fault of an item grows with its tries; while store or engine is away, none of them is at fault. */
function failedAgain(before: Failure | undefined, error: unknown, now: number): Failure {
  const tries = before?.tries ?? 0;
  if (isStoreDown(error) || outageOf(error) !== null) return { tries, until: now };
  return { tries: tries + 1, until: now + Math.min(REST_MS.first * 2 ** tries, REST_MS.most) };
}

/** Forgets what has not failed for long, because it is done, and answers what rests. */
function restingOf(failures: Map<string, Failure>, now: number): string[] {
  for (const [key, { until }] of failures) if (until + REST_MS.most < now) failures.delete(key);
  return [...failures].filter(([, { until }]) => until > now).map(([key]) => key);
}

/** Builds what keeps the items of one process apart, and remembers which of them failed. */
export function createApart(log: Log, clock: () => number = Date.now): Apart {
  const kinds = new Map<string, Map<string, Failure>>();
  const failuresOf = (what: string): Map<string, Failure> => {
    const failures = kinds.get(what) ?? new Map<string, Failure>();
    kinds.set(what, failures);
    return failures;
  };
  const apart = async <Item>({ what, items, idsOf }: Lot<Item>, work: (item: Item) => Promise<unknown>) => {
    const failures = failuresOf(what);
    for (const item of items) {
      const ids = idsOf(item);
      const key = keyOf(ids);
      try {
        await work(item);
        failures.delete(key);
      } catch (error) {
        const before = failures.get(key);
        if (!before) log.warn('left to the next pass', { what, ...ids, ...faultOf(error) });
        if (before || failures.size < RESTING_MAX) failures.set(key, failedAgain(before, error, clock()));
      }
    }
  };
  return Object.assign(apart, { resting: (what: string) => restingOf(failuresOf(what), clock()) });
}
