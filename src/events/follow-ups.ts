/**
 * What follows in other records from the change of one: an invoice's balance from its payments, an endpoint's open
 * detections. A figure is counted anew from the records themselves, never added up, so that doing it twice, late or
 * after a crash comes to the same.
 */
import type { Context } from '../context';
import { resourceOf } from '../resources/registry';
import type { AnyRecord, Resource } from '../resources/resource';
import { beginCount, clearOwed, countFigure, owedBy, wakeDependents, type Owed } from '../store/resource-follow-ups';
import { talliesOver } from '../store/resource-marks';
import type { Place } from '../store/resources';
import { inLine } from './in-line';
import { changeBySystem } from './system-change';

/** Other writers of the record may come between this often; then the relay goes on. */
const ATTEMPTS_MAX = 10;

const isSame = (record: AnyRecord, change: Partial<AnyRecord>): boolean =>
  Object.entries(change).every(([name, value]) => record[name] === value);

async function recount(context: Context, target: Place, source: Resource, id: string): Promise<void> {
  const { tally } = target.row;
  if (!tally) return;
  for (let tries = 0; tries < ATTEMPTS_MAX; tries += 1) {
    const begun = await beginCount(context.store, target, id);
    if (!begun) return;
    const { record, tick } = begun;
    const figure = await countFigure(context.store, { row: source, tenantId: target.tenantId }, tally, id);
    const change = tally.change(record, figure, context.clock.now().toISOString());
    if (isSame(record, change)) return;
    if (await changeBySystem(context, target, { before: record, change, by: 'tally', guard: { tick } })) return;
  }
  throw new Error(`The figures of ${id} are being changed by many at once`);
}

/** Does what a record owes to others, then notes that it is done. Can be repeated. */
export async function settle(context: Context, owed: Owed): Promise<void> {
  const { row, tenantId } = owed.place;
  if (row.tally && owed.owes.includes(owed.id)) {
    const source = resourceOf(row.tally.from);
    await inLine(`${tenantId}:${row.key}:${owed.id}`, () => recount(context, owed.place, source, owed.id));
  }
  for (const target of talliesOver(row))
    for (const id of owed.owes)
      await inLine(`${tenantId}:${target.key}:${id}`, () => recount(context, { row: target, tenantId }, row, id));
  await wakeDependents(context.store, owed.place, owed.id, context.clock.now());
  await clearOwed(context.store, owed);
}

/** Settles what a write just left owed; a failure is logged and left to the relay. */
export async function settleSoon(context: Context, place: Place, id: string): Promise<void> {
  try {
    const owed = await owedBy(context.store, place, id);
    if (owed) await settle(context, owed);
  } catch (error) {
    context.log.warn('figures left to the relay', { resource: place.row.key, id, error });
  }
}
