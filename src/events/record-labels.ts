/** What an event's payload needs of the records its own record names: their labels, and texts such as their client. */
import { resourceOf } from '../resources/registry';
import type { AnyRecord, Labels, Resource } from '../resources/resource';
import type { Store } from '../store/collection';
import { findTexts, type Place, type Texts } from '../store/resource-texts';

/** One reference of a record. */
export interface Named {
  field: string;
  target: Resource;
  id: string;
}

/** Asked of every record that has one: whose it is decides what may name it. */
export const COMPANY = 'companyId';

const fieldOf = (path: string): string => path.split('.')[0] ?? path;

/** The references of a record whose field is wanted. */
export function namedBy(row: Resource, record: AnyRecord | null, wanted: (field: string) => boolean): Named[] {
  return Object.entries(row.fields).flatMap(([field, { traits }]) => {
    const id = record?.[field];
    return traits.target && typeof id === 'string' && wanted(field)
      ? [{ field, id, target: resourceOf(traits.target) }]
      : [];
  });
}

/** The references whose records' texts the row asks for. */
export function labelledBy(row: Resource, record: AnyRecord | null): Named[] {
  const asked = new Set(row.labelled.map(fieldOf));
  return namedBy(row, record, (field) => asked.has(field));
}

/** The text a path asks for, in the record that is named first. */
const askedName = (path: string, target: Resource): string => path.split('.')[1] ?? target.label;

/** Names of the texts that the row asks of records of `target`. */
const namesAskedOf = (row: Resource, target: Resource): string[] => [
  target.label,
  ...(target.fields[COMPANY] ? [COMPANY] : []),
  ...row.labelled
    .filter((path) => row.fields[fieldOf(path)]?.traits.target === target.key)
    .map((path) => askedName(path, target)),
];

/** Records that the named ones name, where a path goes on to them. */
function namedFurther(row: Resource, named: readonly Named[], texts: Texts): Named[] {
  return row.labelled.flatMap((path) => {
    const [field, through, last] = path.split('.');
    if (through === undefined || last === undefined) return [];
    return named.flatMap((one) => {
      const id = one.field === field ? texts[one.id]?.texts[through] : null;
      const target = one.target.fields[through]?.traits.target;
      return id && target && !texts[id] ? [{ field: through, target: resourceOf(target), id }] : [];
    });
  });
}

/** Texts of the named records by id, deleted ones too; ids the tenant does not have are left out. */
export async function readTexts(store: Store, place: Place, named: readonly Named[]): Promise<Texts> {
  const texts = await readNamed(store, place, named);
  const further = namedFurther(place.row, named, texts);
  return further.length === 0 ? texts : { ...texts, ...(await readNamed(store, place, further)) };
}

/** One query per resource. */
async function readNamed(store: Store, { row, tenantId, refersTo }: Place, named: readonly Named[]): Promise<Texts> {
  const targets = new Map<Resource, Set<string>>();
  for (const { target, id } of named) targets.set(target, (targets.get(target) ?? new Set()).add(id));
  const found = await Promise.all(
    [...targets].map(([target, ids]) =>
      findTexts(store, { row: target, tenantId, only: refersTo?.(target) ?? [] }, [...ids], namesAskedOf(row, target)),
    ),
  );
  return Object.assign({}, ...found) as Texts;
}

/** What the row asks for, as its payload knows it. */
export function labelsOf(row: Resource, record: AnyRecord | null, texts: Texts): Labels {
  return Object.fromEntries(
    row.labelled.map((path) => {
      const target = resourceOf(row.fields[fieldOf(path)]?.traits.target ?? '');
      const said = texts[String(record?.[fieldOf(path)])]?.texts[askedName(path, target)] ?? null;
      const last = path.split('.')[2];
      return [path, last === undefined ? said : (texts[String(said)]?.texts[last] ?? null)];
    }),
  );
}

/** The labels of a record whose references nobody changes. */
export async function labelsFor(store: Store, place: Place, record: AnyRecord): Promise<Labels> {
  return labelsOf(place.row, record, await readTexts(store, place, labelledBy(place.row, record)));
}
