/** Product records as MongoDB holds them: one collection per resource, moments as dates, events inside the document. */
import type { BusEvent } from '../contracts/event';
import { Json, Nullable, Type, type TObject, type TSchema } from '../contracts/schema';
import type { Field } from '../resources/field';
import { sortFields } from '../resources/filters';
import { RESOURCES } from '../resources/registry';
import type { AnyRecord, ExternalRef, Resource } from '../resources/resource';
import { collection, Instant, type Collection, type Index, type Store } from './collection';

/** A stored record. Its own fields stand beside these. */
export interface ResourceDocument extends Record<string, unknown> {
  _id: string;
  tenantId: string;
  version: number;
  createdAt: Date;
  updatedAt: Date;
  createdBy: string;
  externalRefs: ExternalRef[];
  /** `<system>:<id>` of each external reference while the record lives; absent when there is none. */
  refKeys?: string[];
  deletedAt: Date | null;
  /** True while `_out` holds events that were not handed over yet. */
  ob?: true;
  _out?: BusEvent[];
}

const STORED: Record<Field['traits']['kind'], () => TSchema> = {
  string: () => Type.String(),
  choice: () => Type.String(),
  id: () => Type.String(),
  date: () => Type.String(),
  integer: () => Type.Integer(),
  boolean: () => Type.Boolean(),
  datetime: Instant,
  strings: () => Type.Array(Type.String()),
  json: () => Json(),
};

const shapeOf = (row: Resource): TObject =>
  Type.Object({
    ...Object.fromEntries(Object.entries(row.fields).map(([name, declared]) => [name, STORED[declared.traits.kind]()])),
    _id: Type.String(),
    tenantId: Type.String(),
    version: Type.Integer(),
    createdAt: Instant(),
    updatedAt: Instant(),
    createdBy: Type.String(),
    externalRefs: Type.Array(Json()),
    refKeys: Type.Optional(Type.Array(Type.String())),
    deletedAt: Nullable(Instant()),
    ob: Type.Optional(Type.Boolean()),
    _out: Type.Optional(Type.Array(Json())),
  });

/** The index that finds a record by its name in another system, and keeps that name unique in the tenant. */
export const EXTERNAL_REFS_INDEX = 'external_refs';

/** The index a list uses that has one value for `filter` (or none) and is ordered by `orderBy`. */
export const listIndex = (orderBy: string, filter?: string): string =>
  filter ? `${filter}_by_${orderBy}` : `by_${orderBy}`;

function indexesOf(row: Resource): Index[] {
  const sorted = [...sortFields(row).keys()].map((name) => ({
    name: listIndex(name),
    keys: { tenantId: 1, [name]: 1, _id: 1 } as const,
  }));
  const filtered = row.lists.map((name) => ({
    name: listIndex('createdAt', name),
    keys: { tenantId: 1, [name]: 1, createdAt: 1, _id: 1 } as const,
  }));
  return [
    ...sorted,
    ...filtered,
    {
      name: EXTERNAL_REFS_INDEX,
      keys: { tenantId: 1, refKeys: 1 },
      unique: true,
      where: { refKeys: { $exists: true } },
    },
    { name: 'outbox', keys: { ob: 1, updatedAt: 1 }, where: { ob: true } },
  ];
}

const collections = new Map(
  RESOURCES.map((row) => [
    row.key,
    collection(row.collection, shapeOf(row), indexesOf(row)) as unknown as Collection<ResourceDocument>,
  ]),
);

/** The Mongoose model of a resource on this store. */
export function documentsOf(store: Store, row: Resource) {
  const found = collections.get(row.key);
  if (!found) throw new Error(`No collection is declared for ${row.key}`);
  return found.in(store);
}

const isMoment = (declared: Field | undefined): boolean => declared?.traits.kind === 'datetime';

/** A record's value as it is stored. */
export const storedValue = (declared: Field | undefined, value: unknown): unknown =>
  isMoment(declared) && typeof value === 'string' ? new Date(value) : value;

const shownValue = (value: unknown): unknown => (value instanceof Date ? value.toISOString() : (value ?? null));

/** What a set of external references is found and kept unique by. */
export const refKeysOf = (refs: readonly ExternalRef[]): string[] => [
  ...new Set(refs.map(({ system, id }) => `${system}:${id}`)),
];

/** Record → document. Fields that are not set are stored as null, so that every index knows every record. */
export function toDocument(row: Resource, tenantId: string, record: AnyRecord): ResourceDocument {
  const fields = Object.entries(row.fields).map(([name, declared]) => [
    name,
    storedValue(declared, record[name]) ?? null,
  ]);
  const refKeys = refKeysOf(record.externalRefs);
  return {
    ...(Object.fromEntries(fields) as Record<string, unknown>),
    _id: record.id,
    tenantId,
    version: record.version,
    createdAt: new Date(record.createdAt),
    updatedAt: new Date(record.updatedAt),
    createdBy: record.createdBy,
    externalRefs: record.externalRefs,
    ...(refKeys.length > 0 ? { refKeys } : {}),
    deletedAt: null,
  };
}

/** Document → record. Only declared fields leave the store. */
export function toRecord(row: Resource, document: ResourceDocument): AnyRecord {
  const record: Record<string, unknown> = { id: document._id, version: document.version };
  for (const name of Object.keys(row.fields)) record[name] = shownValue(document[name]);
  record['externalRefs'] = document.externalRefs;
  record['createdAt'] = document.createdAt.toISOString();
  record['updatedAt'] = document.updatedAt.toISOString();
  record['createdBy'] = document.createdBy;
  return record as AnyRecord;
}
