/** Product records. A change and its events are one document write; nothing here needs a transaction. */
import type { BusEvent } from '../contracts/event';
import type { Reference } from '../resources/registry';
import type { AnyRecord, ExternalRef, Resource } from '../resources/resource';
import { idsBut, isDuplicate, type Store } from './collection';
import { joinUpdates, marksOfChange, marksOfNew } from './resource-marks';
import { documentsOf, refKeysOf, storedValue, toDocument, toRecord, type ResourceDocument } from './resource-documents';

import { filterClause, type ResourceFilter } from './resource-pages';

export { countResources, listResources, type ListedRecord, type ResourceFilter } from './resource-pages';
export { nextNumber } from './resource-counters';

/** A resource inside a tenant: no function of this module reaches beyond it. */
export interface Place {
  row: Resource;
  tenantId: string;
  /** What every read and write is narrowed to beyond the tenant: a portal token's client. */
  only?: readonly ResourceFilter[];
  /** What records named by references are narrowed to. */
  refersTo?: (target: Resource) => readonly ResourceFilter[];
}

/** How a write ended: another record may hold an external reference, another request may have been first. */
export type WriteOutcome = 'written' | 'stale' | 'duplicate';

/** What every record of a place fulfils, and every tombstone there. */
export const placed = ({ row, tenantId, only = [] }: Place) => ({
  tenantId,
  ...(only.length > 0 ? { $and: only.map((filter) => filterClause(row, filter)) } : {}),
});

/** What every record of a place fulfils. */
export const live = (place: Place) => ({ ...placed(place), deletedAt: null });

/** Marks a document whose events are to be handed over. */
export const outboxOf = (events: readonly BusEvent[]) => (events.length > 0 ? { ob: true } : {});

/** What a failed write means, when it is that something must be unique. */
export const duplicateOr = (error: unknown): WriteOutcome => {
  if (isDuplicate(error)) return 'duplicate';
  throw error;
};

/** Stores a new record together with its events. */
export async function insertResource(
  store: Store,
  { row, tenantId }: Place,
  record: AnyRecord,
  events: BusEvent[],
): Promise<WriteOutcome> {
  const document = {
    ...toDocument(row, tenantId, record),
    ...marksOfNew(row, record),
    ...outboxOf(events),
    ...(events.length > 0 ? { _out: events } : {}),
  };
  return documentsOf(store, row)
    .collection.insertOne(document as never)
    .then(() => 'written' as const)
    .catch(duplicateOr);
}

/** The record, or null when the tenant has none with this id. */
export async function findResource(store: Store, place: Place, id: string): Promise<AnyRecord | null> {
  const document = await documentsOf(store, place.row)
    .findOne({ _id: id, ...live(place) } as never, { _out: 0 })
    .lean<ResourceDocument>()
    .exec();
  return document ? toRecord(place.row, document) : null;
}

/** The record of a resource that a tenant has once; the oldest, where there were several before that held. */
export async function findCurrent(store: Store, place: Place): Promise<AnyRecord | null> {
  const document = await documentsOf(store, place.row)
    .findOne(live(place) as never, { _out: 0 })
    .sort({ createdAt: 1, _id: 1 })
    .lean<ResourceDocument>()
    .exec();
  return document ? toRecord(place.row, document) : null;
}

/** Ids of the newest records of a place, at most `max`. */
export async function idsOf(store: Store, place: Place, max: number): Promise<string[]> {
  const documents = await documentsOf(store, place.row)
    .find(live(place) as never, { _id: 1 })
    .sort({ createdAt: -1, _id: -1 })
    .limit(max)
    .lean<ResourceDocument[]>()
    .exec();
  return documents.map(({ _id }) => _id);
}

/** The records of these ids that the tenant has, in no particular order. */
export async function findResources(store: Store, place: Place, ids: readonly string[]): Promise<AnyRecord[]> {
  const documents = await documentsOf(store, place.row)
    .find({ _id: { $in: [...ids] }, ...live(place) } as never, { _out: 0 })
    .lean<ResourceDocument[]>()
    .exec();
  return documents.map((document) => toRecord(place.row, document));
}

/** The other record of the tenant that has one of this record's external references, and which one. */
export async function findHolder(
  store: Store,
  { row, tenantId }: Place,
  { id, externalRefs }: AnyRecord,
): Promise<{ id: string; externalRef: ExternalRef } | null> {
  const wanted = refKeysOf(externalRefs);
  const document = await documentsOf(store, row)
    .findOne({ tenantId, refKeys: { $in: wanted }, _id: { $ne: id } }, { refKeys: 1, externalRefs: 1 })
    .lean<ResourceDocument>()
    .exec();
  const externalRef = document?.externalRefs.find((ref) => wanted.includes(refKeysOf([ref])[0] ?? ''));
  return document && externalRef ? { id: document._id, externalRef } : null;
}

/** True when a live record of the tenant names `id` in this reference. */
export async function isReferenced(
  store: Store,
  tenantId: string,
  { from, field }: Reference,
  id: string,
): Promise<boolean> {
  const found = await documentsOf(store, from)
    .findOne({ [field]: id, ...live({ row: from, tenantId }) }, { _id: 1 })
    .lean()
    .exec();
  return found !== null;
}

async function compareAndSet(
  store: Store,
  place: Place,
  { before, guard = {} }: { before: AnyRecord; guard?: Record<string, unknown> | undefined },
  update: Record<string, unknown>,
): Promise<WriteOutcome> {
  return documentsOf(store, place.row)
    .collection.updateOne({ _id: before.id, version: before.version, ...live(place), ...guard } as never, update)
    .then(({ matchedCount }) => (matchedCount === 1 ? ('written' as const) : ('stale' as const)))
    .catch(duplicateOr);
}

/** The events appended to the document's outbox. */
export const pushed = (events: BusEvent[]) => (events.length > 0 ? { $push: { _out: { $each: events } } } : {});

/** Replaces `before` by `after` and appends the events, unless the record changed since `before` was read, or `guard` no longer holds. */
export async function changeResource(
  store: Store,
  place: Place,
  { before, after, guard }: { before: AnyRecord; after: AnyRecord; guard?: Record<string, unknown> | undefined },
  events: BusEvent[],
): Promise<WriteOutcome> {
  const changed = Object.entries(place.row.fields)
    .filter(([name]) => after[name] !== before[name])
    .map(([name, declared]) => [name, storedValue(declared, after[name]) ?? null]);
  const refKeys = refKeysOf(after.externalRefs);
  const set = {
    ...(Object.fromEntries(changed) as Record<string, unknown>),
    externalRefs: after.externalRefs,
    customFields: after.customFields,
    ...(refKeys.length > 0 ? { refKeys } : {}),
    version: after.version,
    updatedAt: new Date(after.updatedAt),
    ...outboxOf(events),
  };
  const update = { $set: set, ...(refKeys.length > 0 ? {} : { $unset: { refKeys: '' } }), ...pushed(events) };
  return compareAndSet(store, place, { before, guard }, joinUpdates(update, marksOfChange(place.row, before, after)));
}

/** Leaves a tombstone in place of the record. Its external references become free for others. */
export async function removeResource(
  store: Store,
  place: Place,
  { before, at }: { before: AnyRecord; at: Date },
  events: BusEvent[],
): Promise<WriteOutcome> {
  const update = {
    $set: { deletedAt: at, updatedAt: at, version: before.version + 1, ...outboxOf(events) },
    $unset: { refKeys: '', single: '' },
    ...pushed(events),
  };
  return compareAndSet(store, place, { before }, joinUpdates(update, marksOfChange(place.row, before, null)));
}

/** The events of one document, and how to mark them handed over. */
export interface PendingEvents {
  /** Of the document. */
  id: string;
  events: BusEvent[];
  clear(): Promise<void>;
}

/** Removes these events from a document's outbox; later ones stay and keep it marked. */
async function clearOutbox(store: Store, row: Resource, id: string, eventIds: readonly string[]): Promise<void> {
  const rest = { $filter: { input: '$_out', cond: { $not: [{ $in: ['$$this.id', eventIds] }] } } };
  await documentsOf(store, row).collection.updateOne({ _id: id, ob: true } as never, [
    { $set: { _out: rest } },
    { $set: { ob: { $cond: [{ $eq: [{ $size: '$_out' }, 0] }, '$$REMOVE', true] } } },
  ]);
}

/** What the write that just succeeded left to hand over. */
export const pendingOf = (store: Store, row: Resource, id: string, events: BusEvent[]): PendingEvents => ({
  id,
  events,
  clear: () =>
    clearOutbox(
      store,
      row,
      id,
      events.map((event) => event.id),
    ),
});

/** Events of these resources never handed over, of all tenants, oldest document first; none of those in `except`. */
export async function pendingOutbox(
  store: Store,
  rows: readonly Resource[],
  limit: number,
  except: readonly string[] = [],
): Promise<PendingEvents[]> {
  const perResource = await Promise.all(
    rows.map(async (row) => {
      const documents = await documentsOf(store, row)
        .find({ ob: true, ...idsBut(except) }, { _out: 1, updatedAt: 1 })
        .sort({ updatedAt: 1 })
        .limit(limit)
        .lean<ResourceDocument[]>()
        .exec();
      return documents.map((document) => ({ row, document }));
    }),
  );
  return perResource
    .flat()
    .sort((one, other) => one.document.updatedAt.getTime() - other.document.updatedAt.getTime())
    .slice(0, limit)
    .map(({ row, document }) => pendingOf(store, row, document._id, document._out ?? []));
}
