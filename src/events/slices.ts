/** Computing for many things of one tenant, a slice of time at a time: other callers have their turn in between. */
import { setImmediate } from 'node:timers/promises';

const SLICE_MS = 10;

/** As `items.map(work)`. A single item is not interrupted, so each has to be bounded by itself. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  let since = performance.now();
  for (const item of items) {
    if (performance.now() - since > SLICE_MS) {
      await setImmediate();
      since = performance.now();
    }
    results.push(work(item));
  }
  return results;
}
