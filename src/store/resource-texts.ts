/** Texts of records that other records name: labels for events, and what a rule asks about the record beside it. */
import type { Store } from './collection';
import { documentsOf, type ResourceDocument } from './resource-documents';
import { live, type Place } from './resources';

export type { Place } from './resources';

/** By record id, then by field; null where the record has no text there. */
export type Texts = Readonly<Record<string, Readonly<Record<string, string | null>>>>;

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** These texts of the live records with these ids; ids that the tenant does not have are left out. */
export async function findTexts(
  store: Store,
  place: Place,
  ids: readonly string[],
  names: readonly string[],
): Promise<Texts> {
  const documents = await documentsOf(store, place.row)
    .find({ _id: { $in: [...ids] }, ...live(place) } as never, Object.fromEntries(names.map((name) => [name, 1])))
    .lean<ResourceDocument[]>()
    .exec();
  return Object.fromEntries(
    documents.map((document) => [
      document._id,
      Object.fromEntries(names.map((name) => [name, textOrNull(document[name])])),
    ]),
  );
}
