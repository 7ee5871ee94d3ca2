/** Product records. A change and its events are one document write; nothing here needs a transaction. */
import type { BusEvent } from '../contracts/event';
import { RESOURCES, type Reference } from '../resources/registry';
import type { AnyRecord, Labels, Resource } from '../resources/resource';
import { isDuplicate, type Store } from './collection';
import { documentsOf, refKeysOf, storedValue, toDocument, toRecord, type ResourceDocument } from './resource-documents';

export { listResources, type ResourceFilter } from './resource-pages';
export { nextNumber } from './resource-counters';

/** A resource inside a tenant: no function of this module reaches beyond it. */
export interface Place {
  row: Resource;
  tenantId: string;
}

/** How a write ended: another record may hold an external reference, another request may have been first. */
export type WriteOutcome = 'written' | 'stale' | 'duplicate';

const live = (tenantId: string) => ({ tenantId, deletedAt: null });

const outboxOf = (events: readonly BusEvent[]) => (events.length > 0 ? { ob: true } : {});

const duplicateOr = (error: unknown): WriteOutcome => {
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
    ...outboxOf(events),
    ...(events.length > 0 ? { _out: events } : {}),
  };
  return documentsOf(store, row)
    .collection.insertOne(document as never)
    .then(() => 'written' as const)
    .catch(duplicateOr);
}

/** The record, or null when the tenant has none with this id. */
export async function findResource(store: Store, { row, tenantId }: Place, id: string): Promise<AnyRecord | null> {
  const document = await documentsOf(store, row)
    .findOne({ _id: id, ...live(tenantId) }, { _out: 0 })
    .lean<ResourceDocument>()
    .exec();
  return document ? toRecord(row, document) : null;
}

/** The records of these ids that the tenant has, in no particular order. */
export async function findResources(
  store: Store,
  { row, tenantId }: Place,
  ids: readonly string[],
): Promise<AnyRecord[]> {
  const documents = await documentsOf(store, row)
    .find({ _id: { $in: [...ids] }, ...live(tenantId) }, { _out: 0 })
    .lean<ResourceDocument[]>()
    .exec();
  return documents.map((document) => toRecord(row, document));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The labels of these records by id; ids that the tenant does not have are left out. */
export async function findLabels(store: Store, { row, tenantId }: Place, ids: readonly string[]): Promise<Labels> {
  const documents = await documentsOf(store, row)
    .find({ _id: { $in: [...ids] }, ...live(tenantId) }, { [row.label]: 1 })
    .lean<ResourceDocument[]>()
    .exec();
  return Object.fromEntries(documents.map((document) => [document._id, textOf(document[row.label])]));
}

/** True when a live record of the tenant names `id` in this reference. */
export async function isReferenced(
  store: Store,
  tenantId: string,
  { from, field }: Reference,
  id: string,
): Promise<boolean> {
  const found = await documentsOf(store, from)
    .findOne({ [field]: id, ...live(tenantId) }, { _id: 1 })
    .lean()
    .exec();
  return found !== null;
}

async function compareAndSet(
  store: Store,
  { row, tenantId }: Place,
  before: AnyRecord,
  update: Record<string, unknown>,
): Promise<WriteOutcome> {
  return documentsOf(store, row)
    .collection.updateOne({ _id: before.id, version: before.version, ...live(tenantId) } as never, update)
    .then(({ matchedCount }) => (matchedCount === 1 ? ('written' as const) : ('stale' as const)))
    .catch(duplicateOr);
}

const pushed = (events: BusEvent[]) => (events.length > 0 ? { $push: { _out: { $each: events } } } : {});

/** Replaces `before` by `after` and appends the events, unless the record changed since `before` was read. */
export async function changeResource(
  store: Store,
  place: Place,
  { before, after }: { before: AnyRecord; after: AnyRecord },
  events: BusEvent[],
): Promise<WriteOutcome> {
  const changed = Object.entries(place.row.fields)
    .filter(([name]) => after[name] !== before[name])
    .map(([name, declared]) => [name, storedValue(declared, after[name]) ?? null]);
  const refKeys = refKeysOf(after.externalRefs);
  const set = {
    ...(Object.fromEntries(changed) as Record<string, unknown>),
    externalRefs: after.externalRefs,
    ...(refKeys.length > 0 ? { refKeys } : {}),
    version: after.version,
    updatedAt: new Date(after.updatedAt),
    ...outboxOf(events),
  };
  return compareAndSet(store, place, before, {
    $set: set,
    ...(refKeys.length > 0 ? {} : { $unset: { refKeys: '' } }),
    ...pushed(events),
  });
}

/** Leaves a tombstone in place of the record. Its external references become free for others. */
export async function removeResource(
  store: Store,
  place: Place,
  { before, at }: { before: AnyRecord; at: Date },
  events: BusEvent[],
): Promise<WriteOutcome> {
  return compareAndSet(store, place, before, {
    $set: { deletedAt: at, updatedAt: at, version: before.version + 1, ...outboxOf(events) },
    $unset: { refKeys: '' },
    ...pushed(events),
  });
}

/** The events of one document, and how to mark them handed over. */
export interface PendingEvents {
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
  events,
  clear: () =>
    clearOutbox(
      store,
      row,
      id,
      events.map((event) => event.id),
    ),
});

/** Events that were never handed over, of all resources and tenants, oldest document first. */
export async function pendingOutbox(store: Store, limit: number): Promise<PendingEvents[]> {
  const perResource = await Promise.all(
    RESOURCES.map(async (row) => {
      const documents = await documentsOf(store, row)
        .find({ ob: true }, { _out: 1, updatedAt: 1 })
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
