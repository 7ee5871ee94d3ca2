/**
 * What happens because time passed: a service level is missed, an invoice is overdue, a device fell silent. One
 * document write moves the state and holds the event, so that any number of looks at once make one event.
 */
import type { Context } from '../context';
import { RESOURCES, resourceOf } from '../resources/registry';
import type { AnyRecord, Product, Resource } from '../resources/resource';
import { dueRecords, lookAgain, type DueRecord } from '../store/resource-due';
import { isStoreDown } from '../store/outages';
import { findResource } from '../store/resources';
import { changeBySystem } from './system-change';

const BATCH = 200;
/** A backlog is worked off over several passes, so that one pass has an end. */
const BATCHES_MAX = 25;

const timed = RESOURCES.filter(({ timer }) => timer !== null);

/** Products with records that change because time passes. */
export const TIMED_PRODUCTS: readonly Product[] = [...new Set(timed.map(({ products }) => products[0]))];

type Related = (id: string, target: Resource, tenantId: string) => Promise<AnyRecord | null>;

/** Reads each record that others ask once per batch. */
function relatedReader(context: Context): Related {
  const known = new Map<string, Promise<AnyRecord | null>>();
  return (id, row, tenantId) => {
    const key = `${tenantId}:${id}`;
    const found = known.get(key) ?? findResource(context.store, { row, tenantId }, id);
    known.set(key, found);
    return found;
  };
}

/** Looks at one record: changes it, notes when to look again, or notes that there is nothing to wait for. */
async function look(context: Context, found: DueRecord, related: Related): Promise<boolean> {
  const { row, tenantId } = found.place;
  const { timer } = row;
  if (!timer) return false;
  const named = timer.reads ? found.record[timer.reads] : null;
  const target = timer.reads ? row.fields[timer.reads]?.traits.target : null;
  const other = target && typeof named === 'string' ? await related(named, resourceOf(target), tenantId) : null;
  const isWaiting = Object.entries(timer.waits).every(([name, values]) => values.includes(String(found.record[name])));
  const now = context.clock.now();
  const next = isWaiting ? timer.next(found.record, other, now) : null;
  const at = next ? new Date(next.at) : null;
  if (!next || !at || at > now) {
    await lookAgain(context.store, found, at);
    return false;
  }
  return changeBySystem(context, found.place, { before: found.record, change: next.change, by: 'timer' });
}

/** Looks at one record of many. False when that failed: then it must not hold up the others. */
async function lookApart(context: Context, found: DueRecord, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    // Without the store the others would fail as well, each after a while.
    if (isStoreDown(error)) throw error;
    const { place, record } = found;
    context.log.warn('moment left to the next pass', {
      org: place.tenantId,
      resource: place.row.key,
      id: record.id,
      error,
    });
    return false;
  }
}

async function passOf(context: Context, row: Resource, beat: () => void): Promise<number> {
  let changed = 0;
  const failed: string[] = [];
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const found = await dueRecords(context.store, row, context.clock.now(), { limit: BATCH, except: failed });
    const related = relatedReader(context);
    for (const record of found) {
      beat();
      const isLookedAt = await lookApart(context, record, async () => {
        if (await look(context, record, related)) changed += 1;
      });
      if (!isLookedAt) failed.push(record.record.id);
    }
    if (found.length < BATCH) break;
  }
  return changed;
}

/** One pass over a product's records; answers how many changed per resource. A quiet product costs one query each. */
export async function emitDue(context: Context, product: string, beat: () => void): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const row of timed.filter(({ products }) => products[0] === product)) {
    const changed = await passOf(context, row, beat);
    if (changed > 0) counts[row.key] = changed;
  }
  return counts;
}
