/** Product records as MongoDB holds them: one collection per resource, moments as dates, events inside the document. */
import type { BusEvent } from '../contracts/event';
import { Json, Nullable, Type, type TObject, type TSchema } from '../contracts/schema';
import type { CustomFields } from '../resources/custom-fields';
import type { Field } from '../resources/field';
import { sortFields } from '../resources/filters';
import { ROWS } from '../resources/registry';
import type { AnyRecord, ExternalRef, Resource } from '../resources/resource';
import { canOwe } from './resource-marks';
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
  customFields?: CustomFields;
  /** `<system>:<id>` of each external reference while the record lives; absent when there is none. */
  refKeys?: string[];
  deletedAt: Date | null;
  /** True on the one live record of a resource that a tenant has once. */
  single?: true;
  /** True while `_out` holds events that were not handed over yet. */
  ob?: true;
  _out?: BusEvent[];
  /** When a timer has to look at the record; see resource-marks.ts. */
  due?: Date;
  /** Ids of records whose figures must be counted anew. */
  owes?: string[];
  /** Rises with every count of the record's figure, so that an older count cannot overwrite a newer one. */
  tick?: number;
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
    customFields: Type.Optional(Json()),
    refKeys: Type.Optional(Type.Array(Type.String())),
    deletedAt: Nullable(Instant()),
    single: Type.Optional(Type.Boolean()),
    ob: Type.Optional(Type.Boolean()),
    _out: Type.Optional(Type.Array(Json())),
    due: Type.Optional(Instant()),
    owes: Type.Optional(Type.Array(Type.String())),
    tick: Type.Optional(Type.Integer()),
  });

/** The index that finds a record by its name in another system, and keeps that name unique in the tenant. */
export const EXTERNAL_REFS_INDEX = 'external_refs';

const TOMBSTONES_INDEX = 'tombstones';
/** The index that finds what is due, of all tenants. */
export const DUE_INDEX = 'due';
export const OUTBOX_INDEX = 'outbox';
export const OWES_INDEX = 'owes';

/** The index that finds tombstones by age: records with a moment to come have one that begins with it. */
export const tombstonesIndex = (row: Resource): string => (row.timer ? DUE_INDEX : TOMBSTONES_INDEX);

/** The moment tombstones begin with: partial indexes know no "not null". */
export const TOMBSTONES_FROM = new Date(0);

/** The index a list uses that has one value for `filter` (or none) and is ordered by `orderBy`. */
export const listIndex = (orderBy: string, filter?: string): string =>
  filter ? `${filter}_by_${orderBy}` : `by_${orderBy}`;

/** The orders in which a list by one value has its own index; below a parent every list is one. */
export const ordersWithin = (row: Resource): readonly string[] =>
  row.parent ? [...sortFields(row).keys()] : ['createdAt'];

/** Keeps a second live record out, whoever writes it at the same time. */
const SINGLE_INDEX: Index = {
  name: 'single',
  keys: { tenantId: 1, single: 1 },
  unique: true,
  where: { single: true },
};

function indexesOf(row: Resource): Index[] {
  const sorted = [...sortFields(row).keys()].map((name) => ({
    name: listIndex(name),
    keys: { tenantId: 1, [name]: 1, _id: 1 } as const,
  }));
  const filtered = row.lists.flatMap((name) =>
    ordersWithin(row).map((orderBy) => ({
      name: listIndex(orderBy, name),
      keys: { tenantId: 1, [name]: 1, [orderBy]: 1, _id: 1 } as const,
    })),
  );
  return [
    ...sorted,
    ...filtered,
    {
      name: EXTERNAL_REFS_INDEX,
      keys: { tenantId: 1, refKeys: 1 },
      unique: true,
      where: { refKeys: { $exists: true } },
    },
    ...(row.isSingleton ? [SINGLE_INDEX] : []),
    { name: OUTBOX_INDEX, keys: { ob: 1, updatedAt: 1 }, where: { ob: true } },
    // Over all tenants: a timer asks once per resource, whoever the records belong to.
    row.timer
      ? { name: DUE_INDEX, keys: { deletedAt: 1, due: 1 } as const }
      : {
          name: TOMBSTONES_INDEX,
          keys: { deletedAt: 1 } as const,
          where: { deletedAt: { $gt: TOMBSTONES_FROM } },
        },
    ...(canOwe(row) ? [{ name: OWES_INDEX, keys: { owes: 1 } as const, where: { owes: { $exists: true } } }] : []),
  ];
}

const collections = new Map(
  ROWS.map((row) => [
    row.key,
    collection(row.collection, shapeOf(row), indexesOf(row)) as unknown as Collection<ResourceDocument>,
  ]),
);

/** The collection of a resource. */
export function collectionOf(row: Resource): Collection<ResourceDocument> {
  const found = collections.get(row.key);
  if (!found) throw new Error(`No collection is declared for ${row.key}`);
  return found;
}

/** The Mongoose model of a resource on this store. */
export const documentsOf = (store: Store, row: Resource) => collectionOf(row).in(store);

const isMoment = (declared: Field | undefined): boolean => declared?.traits.kind === 'datetime';

/** A record's value as it is stored. */
export const storedValue = (declared: Field | undefined, value: unknown): unknown =>
  isMoment(declared) && typeof value === 'string' ? new Date(value) : value;

const shownValue = (value: unknown): unknown => (value instanceof Date ? value.toISOString() : (value ?? null));

/** What a set of external references is found and kept unique by. */
export const refKeysOf = (refs: readonly ExternalRef[]): string[] => [
  ...new Set(refs.map(({ system, id }) => `${system}:${id}`)),
];

/** What marks a live record of the row as the only one of its tenant. */
export const singleOf = ({ isSingleton }: Resource): { single?: true } => (isSingleton ? { single: true } : {});

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
    customFields: record.customFields,
    ...(refKeys.length > 0 ? { refKeys } : {}),
    deletedAt: null,
    ...singleOf(row),
  };
}

/** Document → record. Only declared fields leave the store. */
export function toRecord(row: Resource, document: ResourceDocument): AnyRecord {
  const record: Record<string, unknown> = { id: document._id, version: document.version };
  for (const name of Object.keys(row.fields)) record[name] = shownValue(document[name]);
  record['externalRefs'] = document.externalRefs;
  record['customFields'] = document.customFields ?? {};
  record['createdAt'] = document.createdAt.toISOString();
  record['updatedAt'] = document.updatedAt.toISOString();
  record['createdBy'] = document.createdBy;
  record['deletedAt'] = null;
  return record as AnyRecord;
}
