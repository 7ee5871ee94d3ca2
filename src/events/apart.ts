/** Work on many things, of many tenants: one that fails must not hold up the others. */
import { faultOf } from '../engine/outages';
import type { Log } from '../log';

interface Lot<Item> {
  /** What the items are, for the log. */
  what: string;
  items: readonly Item[];
  /** What the log says of an item that failed. */
  idsOf: (item: NoInfer<Item>) => Record<string, unknown>;
}

export type Apart = <Item>(lot: Lot<Item>, work: (item: NoInfer<Item>) => Promise<unknown>) => Promise<void>;

/** What the log says of records of a tenant. */
export const byId = ({ _id: id, org_id: org }: { _id: string; org_id: string }) => ({ org, id });

/**
 * Does the work for each item in turn. What fails is left for the next pass and logged; an item that fails pass after
 * pass is logged when it begins to, so that the log stays readable for as long as that lasts.
 */
export function createApart(log: Log): Apart {
  const failed = new Map<string, Set<string>>();
  return async ({ what, items, idsOf }, work) => {
    const before = failed.get(what);
    const now = new Set<string>();
    for (const item of items) {
      try {
        await work(item);
      } catch (error) {
        const ids = idsOf(item);
        const key = JSON.stringify(ids);
        now.add(key);
        if (!before?.has(key)) log.warn('left to the next pass', { what, ...ids, ...faultOf(error) });
      }
    }
    failed.set(what, now);
  };
}
