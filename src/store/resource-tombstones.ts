/** What is left of deleted records: they can be restored for a while, then they are removed for good. */
import type { BusEvent } from '../contracts/event';
import { marksOfRestored } from './resource-marks';
import { notesOf } from '../resources/notes';
import { ROWS } from '../resources/registry';
import type { AnyRecord, Resource } from '../resources/resource';
import type { Store } from './collection';
import {
  documentsOf,
  refKeysOf,
  singleOf,
  TOMBSTONES_FROM,
  tombstonesIndex,
  type ResourceDocument,
} from './resource-documents';
import { toListed, type ListedRecord } from './resource-pages';
import { duplicateOr, outboxOf, pushed, type Place, type WriteOutcome } from './resources';

const PURGE_BATCH = 500;

/** A record, or what is left of it unless it was deleted at `goneUpTo` or before. One read: it may be restored meanwhile. */
export async function findLeft(
  store: Store,
  { row, tenantId }: Place,
  id: string,
  goneUpTo: Date,
): Promise<ListedRecord | null> {
  const document = await documentsOf(store, row)
    .findOne({ _id: id, tenantId, $nor: [{ deletedAt: { $lte: goneUpTo } }] }, { _out: 0 })
    .lean<ResourceDocument>()
    .exec();
  return document ? toListed(row, document) : null;
}

/** Brings a deleted record back, unless somebody was faster or another record has what must be unique. */
export async function restoreResource(
  store: Store,
  { row, tenantId }: Place,
  after: AnyRecord,
  events: BusEvent[],
): Promise<WriteOutcome> {
  const refKeys = refKeysOf(after.externalRefs);
  const set = {
    deletedAt: null,
    version: after.version,
    updatedAt: new Date(after.updatedAt),
    ...(refKeys.length > 0 ? { refKeys } : {}),
    ...singleOf(row),
    ...outboxOf(events),
    ...marksOfRestored(row, after),
  };
  return documentsOf(store, row)
    .collection.updateOne(
      { _id: after.id, tenantId, version: after.version - 1, deletedAt: { $ne: null } } as never,
      { $set: set, ...pushed(events) } as never,
    )
    .then(({ matchedCount }) => (matchedCount === 1 ? ('written' as const) : ('stale' as const)))
    .catch(duplicateOr);
}

/** The notes of records that are removed for good go first: without their record nothing would find them again. */
async function purgeNotes(store: Store, row: Resource, gone: readonly { _id: string; tenantId: string }[]) {
  const notes = notesOf(row);
  if (!notes?.parent) return;
  const tenantIds = [...new Set(gone.map(({ tenantId }) => tenantId))];
  const ofThem = { tenantId: { $in: tenantIds }, [notes.parent.field]: { $in: gone.map(({ _id }) => _id) } };
  await documentsOf(store, notes).collection.deleteMany(ofThem);
}

/** Those whose events were not all handed over wait for the relay. */
async function purgeRow(store: Store, row: Resource, goneUpTo: Date): Promise<number> {
  const old = { deletedAt: { $gt: TOMBSTONES_FROM, $lte: goneUpTo } };
  const found = await documentsOf(store, row)
    .find({ ...old, ob: { $ne: true } }, { _id: 1, tenantId: 1 })
    .hint(tombstonesIndex(row))
    .limit(PURGE_BATCH)
    .lean<{ _id: string; tenantId: string }[]>()
    .exec();
  if (found.length === 0) return 0;
  const ids = found.map(({ _id }) => _id);
  await purgeNotes(store, row, found);
  const { deletedCount } = await documentsOf(store, row).collection.deleteMany({ _id: { $in: ids }, ...old } as never);
  return deletedCount;
}

/** Removes what was deleted at `goneUpTo` or before, of all tenants, up to 500 of each resource; answers how many. */
export async function purgeTombstones(store: Store, goneUpTo: Date): Promise<number> {
  let purged = 0;
  for (const row of ROWS) purged += await purgeRow(store, row, goneUpTo);
  return purged;
}
