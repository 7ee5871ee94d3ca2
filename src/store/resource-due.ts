/** Records whose moment has come, over all tenants: one indexed query per resource, however many tenants there are. */
import type { AnyRecord, Resource } from '../resources/resource';
import { idsBut, type Store } from './collection';
import { documentsOf, DUE_INDEX, toRecord, type ResourceDocument } from './resource-documents';
import type { Place } from './resources';

/** A record a timer has to look at. */
export interface DueRecord {
  place: Place;
  record: AnyRecord;
  due: Date;
}

interface Asked {
  limit: number;
  except: readonly string[];
}

/** Asks for what is due. A store left to choose may read all of a collection as long as it is small, and sort it. */
export const dueQuery = (store: Store, row: Resource, now: Date, { limit, except }: Asked) =>
  documentsOf(store, row)
    .find({ deletedAt: null, due: { $lte: now }, ...idsBut(except) }, { _out: 0 })
    .sort({ deletedAt: 1, due: 1 })
    .hint(DUE_INDEX)
    .limit(limit);

/** The records that are due, the longest due first; none of those in `except`. */
export async function dueRecords(store: Store, row: Resource, now: Date, asked: Asked): Promise<DueRecord[]> {
  const documents = await dueQuery(store, row, now, asked).lean<ResourceDocument[]>().exec();
  return documents.map((document) => ({
    place: { row, tenantId: document.tenantId },
    record: toRecord(row, document),
    due: document.due ?? now,
  }));
}

/** Sets when to look again, or never; a change or another look in the meantime knows better. */
export async function lookAgain(store: Store, { place, record, due }: DueRecord, at: Date | null): Promise<void> {
  await documentsOf(store, place.row).collection.updateOne(
    { _id: record.id, version: record.version, due } as never,
    at ? { $set: { due: at } } : { $unset: { due: '' } },
  );
}
