/** The generic restore: a deleted record comes back as it was, while its tombstone is kept. */
import type { ProductRoute } from '../../contracts/operations/products';
import { Problem, problem } from '../../contracts/problem';
import { goneUpTo } from '../../domain/tombstones';
import type { AnyRecord } from '../../resources/resource';
import { findLeft, restoreResource } from '../../store/resource-tombstones';
import { findResource, type Place } from '../../store/resources';
import { checkPrecondition, noSuchRecord, placeOf, type ProductCall, type ProductReply } from './call';
import { eventsOf, type ChangeLabels } from '../../events/record-events';
import { checkRule } from './changes';
import { endLeftSessions, fencePortal } from './portal-fence';
import { checkReferences } from './references';
import { checkAlone } from './singleton';
import { actorOf, handOver, shown, stands, untilWritten } from './writing';

/**
 * What comes back must be a record that could be created now. What it names may have been deleted or changed in the
 * meantime: no fault of this request, so it is a conflict.
 */
async function checkAsNew({ context }: ProductCall, place: Place, tombstone: AnyRecord): Promise<ChangeLabels> {
  const { row } = place;
  try {
    const labels = await checkReferences(context.store, place, null, tombstone);
    checkRule(row, tombstone, null, labels.after);
    return labels;
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'validation_error') throw error;
    const isGone = error.findings.some(({ code }) => code === 'ref');
    throw problem('conflict', {
      message: isGone
        ? `What this ${row.nouns[0]} names is gone: ${error.message}. Restore that first.`
        : `This ${row.nouns[0]} could not be created now: ${error.message}.`,
      findings: error.findings,
      cause: error,
    });
  }
}

/** Brings a deleted record back. One that is not deleted is answered as it is, so a repeat does no harm. */
export async function restoreRecord(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const { context } = call;
  const place = placeOf(route, call);
  const { row, tenantId } = place;
  return untilWritten(row, async () => {
    const now = context.clock.now();
    const found = await findLeft(context.store, place, call.params.id, goneUpTo(now));
    if (!found) throw noSuchRecord(row);
    const { record: before, deletedAt } = found;
    // An earlier run of this request has restored it already, so the version it was meant for is gone.
    if (deletedAt !== null || !call.isRepeat) checkPrecondition(call, before);
    if (deletedAt === null) {
      await fencePortal(call, place, null, before);
      return shown(200, before);
    }
    await checkAlone(call, place, before.id);
    const labels = await checkAsNew(call, place, before);
    const after: AnyRecord = { ...before, version: before.version + 1, updatedAt: now.toISOString() };
    const events = eventsOf(row, { kind: 'restore', tenantId, before, after, actor: actorOf(call), labels });
    await endLeftSessions(call, place, before.id);
    const outcome = await restoreResource(context.store, place, after, events);
    if (!(await stands(call, place, { after, outcome }))) return null;
    await fencePortal(call, place, null, after);
    await handOver(call, place, after.id, events);
    // Its figure was counted anew just now, which may have made another version of it.
    const counted = row.tally ? await findResource(context.store, place, after.id) : null;
    return shown(200, counted ?? after);
  });
}
