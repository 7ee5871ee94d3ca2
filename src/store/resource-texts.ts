/** Texts of records that other records name: labels for events, and what a rule asks about the record beside it. */
import type { Store } from './collection';
import { documentsOf, type ResourceDocument } from './resource-documents';
import { placed, type Place } from './resources';

export type { Place } from './resources';

/** What a record says; a deleted one still says whose it was until its tombstone is gone. */
interface Said {
  isLive: boolean;
  /** By field; null where the record has no text there. */
  texts: Readonly<Record<string, string | null>>;
}

/** By record id. */
export type Texts = Readonly<Record<string, Said>>;

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** These texts of the records and tombstones with these ids; ids that the tenant does not have are left out. */
export async function findTexts(
  store: Store,
  place: Place,
  ids: readonly string[],
  names: readonly string[],
): Promise<Texts> {
  const documents = await documentsOf(store, place.row)
    .find(
      { _id: { $in: [...ids] }, ...placed(place) } as never,
      Object.fromEntries([...names, 'deletedAt'].map((name) => [name, 1])),
    )
    .lean<ResourceDocument[]>()
    .exec();
  return Object.fromEntries(
    documents.map((document) => [
      document._id,
      {
        isLive: document.deletedAt === null,
        texts: Object.fromEntries(names.map((name) => [name, textOrNull(document[name])])),
      },
    ]),
  );
}
