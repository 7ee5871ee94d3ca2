/** Changes that the product makes by itself: a moment passed, or a figure follows from other records. */
import type { Context } from '../context';
import type { AnyRecord } from '../resources/resource';
import { changeResource, pendingOf, type Place } from '../store/resources';
import { eventsOf } from './record-events';
import { labelsFor } from './record-labels';

interface SystemChange {
  before: AnyRecord;
  change: Partial<AnyRecord>;
  /** What made the change, as the events' `actor` names it. */
  by: 'timer' | 'tally';
  /** Must still hold of the document. */
  guard?: Record<string, unknown>;
}

/** Writes the change with its events in one document write; false when somebody else was faster. */
export async function changeBySystem(
  context: Context,
  place: Place,
  { before, change, by, guard }: SystemChange,
): Promise<boolean> {
  const { row, tenantId } = place;
  const now = context.clock.now().toISOString();
  const wanted = { ...before, ...change };
  const after: AnyRecord = {
    ...wanted,
    ...row.computed(wanted, before, now),
    version: before.version + 1,
    updatedAt: now,
  };
  const labels = await labelsFor(context.store, place, after);
  const actor = { type: 'system', id: by } as const;
  const both = { before: labels, after: labels };
  const events = eventsOf(row, { kind: 'update', tenantId, before, after, actor, labels: both });
  const outcome = await changeResource(context.store, place, { before, after, guard }, events);
  if (outcome !== 'written') return false;
  if (events.length > 0) context.outbox.publishSoon(pendingOf(context.store, row, after.id, events));
  return true;
}
