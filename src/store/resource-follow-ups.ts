/** Figures over other records, and what a change leaves owed to them. A debt is cleared only when it has been paid. */
import type { AnyRecord, Naming, Resource } from '../resources/resource';
import { idsBut, type Store } from './collection';
import { documentsOf, toRecord, type ResourceDocument } from './resource-documents';
import { canOwe, wokenBy } from './resource-marks';
import type { Place } from './resources';

/** A record whose change others must follow. */
export interface Owed {
  place: Place;
  id: string;
  version: number;
  owes: string[];
}

const owedIn = (row: Resource, document: ResourceDocument): Owed => ({
  place: { row, tenantId: document.tenantId },
  id: document._id,
  version: document.version,
  owes: document.owes ?? [],
});

/** What this record owes; null when it owes nothing, as most do. Asked only of rows that can. */
export async function owedBy(store: Store, { row, tenantId }: Place, id: string): Promise<Owed | null> {
  if (!canOwe(row)) return null;
  const document = await documentsOf(store, row)
    .findOne({ _id: id, tenantId, owes: { $exists: true } }, { tenantId: 1, version: 1, owes: 1 })
    .lean<ResourceDocument>()
    .exec();
  return document ? owedIn(row, document) : null;
}

/** Debts of these resources, of all tenants, that a crash left; none of the records in `except`. */
export async function pendingOwed(
  store: Store,
  rows: readonly Resource[],
  limit: number,
  except: readonly string[] = [],
): Promise<Owed[]> {
  const found = await Promise.all(
    rows.filter(canOwe).map(async (row) => {
      const documents = await documentsOf(store, row)
        .find({ owes: { $exists: true }, ...idsBut(except) }, { tenantId: 1, version: 1, owes: 1 })
        .limit(limit)
        .lean<ResourceDocument[]>()
        .exec();
      return documents.map((document) => owedIn(row, document));
    }),
  );
  return found.flat().slice(0, limit);
}

/** Clears a debt, unless the record changed since it was read: then more may be owed. */
export async function clearOwed(store: Store, { place, id, version }: Owed): Promise<void> {
  await documentsOf(store, place.row).collection.updateOne({ _id: id, version } as never, { $unset: { owes: '' } });
}

/**
 * Announces a count: whoever counted before can no longer write what they found. Answers the record and the number of
 * the count; null when the tenant has no such record.
 */
export async function beginCount(
  store: Store,
  { row, tenantId }: Place,
  id: string,
): Promise<{ record: AnyRecord; tick: number } | null> {
  const document = await documentsOf(store, row)
    .findOneAndUpdate({ _id: id, tenantId, deletedAt: null }, { $inc: { tick: 1 } }, { returnDocument: 'after' })
    .lean<ResourceDocument>()
    .exec();
  return document ? { record: toRecord(row, document), tick: document.tick ?? 0 } : null;
}

/** The figure over the live records of `place` that name `id`: how many there are, or the sum of a field of theirs. */
export async function countFigure(
  store: Store,
  { row, tenantId }: Place,
  tally: Naming & { sum?: string },
  id: string,
): Promise<number> {
  const where = Object.entries(tally.where).map(([name, values]) => [name, { $in: values }]);
  const filter = { tenantId, [tally.by]: id, deletedAt: null, ...(Object.fromEntries(where) as object) };
  const model = documentsOf(store, row);
  if (!tally.sum) return model.countDocuments(filter).exec();
  const [found] = await model
    .aggregate<{ sum: number }>([{ $match: filter }, { $group: { _id: null, sum: { $sum: `$${tally.sum}` } } }])
    .exec();
  return found?.sum ?? 0;
}

/** Has the timers look at every record whose moments follow from this one. */
export async function wakeDependents(store: Store, { row, tenantId }: Place, id: string, at: Date): Promise<void> {
  for (const dependent of wokenBy(row)) {
    const { timer } = dependent;
    if (!timer?.reads) continue;
    const waits = Object.entries(timer.waits).map(([name, values]) => [name, { $in: values }]);
    const filter = { tenantId, [timer.reads]: id, deletedAt: null, ...(Object.fromEntries(waits) as object) };
    await documentsOf(store, dependent).updateMany(filter, { $set: { due: at } });
  }
}
