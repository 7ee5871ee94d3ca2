/** Row → contracts: what a create and a patch may hold, and what a record looks like. */
import { SYSTEM_PATTERN } from '../contracts/patterns';
import { Closed, Id, Nullable, SERVER_SET, Timestamp, Type, type TSchema } from '../contracts/schema';
import { sentCustomFields, shownCustomFields } from './custom-fields';
import type { Field, Fields, ValueSchema } from './field';
import type { Resource } from './resource';

const EXTERNAL_REFS_MAX = 20;

const ExternalRef = Closed(
  {
    system: Type.String({ pattern: SYSTEM_PATTERN, description: 'The other system, such as `halo`' }),
    id: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Name of the record there; one record of ours has it',
    }),
  },
  { $id: 'ExternalRef' },
);

const externalRefs = Type.Array(ExternalRef, { maxItems: EXTERNAL_REFS_MAX });

/** What every create and patch may hold besides the row's own fields. */
const shared = { externalRefs: Type.Optional(externalRefs), customFields: Type.Optional(sentCustomFields) };

/** The same values, or null. Types are listed together because `anyOf` would report every alternative it missed. */
function orNull(schema: ValueSchema): ValueSchema {
  const values = schema['enum'] as unknown[] | undefined;
  return { ...schema, type: [schema['type'], 'null'], ...(values ? { enum: [...values, null] } : {}) };
}

const asSchema = (schema: ValueSchema): TSchema => Type.Unsafe({ ...schema });

const valueSchema = (declared: Field): TSchema =>
  asSchema(declared.isNullable ? orNull(declared.traits.schema) : declared.traits.schema);

const withDefault = ({ traits, isNullable }: Field): TSchema =>
  asSchema(isNullable ? orNull(traits.schema) : { ...traits.schema, default: traits.fallback });

const writable = (row: Resource): [string, Field][] =>
  Object.entries(row.fields).filter(([, declared]) => !declared.traits.isServerSet);

const COMMON_NAMES = ['id', 'version', 'createdAt', 'updatedAt', 'createdBy', 'deletedAt'];

/** What a record has and no body may hold. */
const serverSet = (row: Resource): string[] => [
  ...COMMON_NAMES,
  ...Object.keys(row.fields).filter((name) => row.fields[name]?.traits.isServerSet),
];

/** What a create may hold. `null` stands for "not set" here too, so that a record can be sent back as it was read. */
function createSchema(row: Resource): TSchema {
  const fields = writable(row).map(([name, declared]) => [
    name,
    declared.traits.isRequired ? valueSchema(declared) : Type.Optional(withDefault(declared)),
  ]);
  return Closed(
    { ...(Object.fromEntries(fields) as Record<string, TSchema>), ...shared },
    { $id: `Create${row.typeName}`, [SERVER_SET]: serverSet(row) },
  );
}

/** What a patch may hold: any of the writable fields; `null` clears an optional one. */
function patchSchema(row: Resource): TSchema {
  const fields = writable(row).map(([name, declared]) => [name, Type.Optional(valueSchema(declared))]);
  return Closed(
    { ...(Object.fromEntries(fields) as Record<string, TSchema>), ...shared },
    { $id: `Update${row.typeName}`, minProperties: 1, [SERVER_SET]: serverSet(row) },
  );
}

const deletedAt = () =>
  Nullable(Timestamp({ description: 'Null; lists with `includeDeleted` show deleted records with this moment' }));

/** A record on the wire. Open, so that clients tolerate fields that are added later. */
function recordSchema(row: Resource): TSchema {
  const fields = Object.entries(row.fields).map(([name, declared]) => [name, valueSchema(declared)]);
  return Type.Object(
    {
      id: Id(),
      version: Type.Integer({ minimum: 1, description: 'Rises with every change; part of the entity tag' }),
      ...(Object.fromEntries(fields) as Record<string, TSchema>),
      externalRefs,
      customFields: shownCustomFields,
      createdAt: Timestamp(),
      updatedAt: Timestamp(),
      createdBy: Type.String({ description: 'The user or key that created it' }),
      deletedAt: deletedAt(),
    },
    { $id: row.typeName },
  );
}

/** The record of a resource that a tenant has once, or the defaults that hold while there is none. */
function currentSchema(row: Resource): TSchema {
  const fields = Object.entries(row.fields).map(([name, declared]) => [
    name,
    declared.traits.fallback === null ? asSchema(orNull(declared.traits.schema)) : valueSchema(declared),
  ]);
  return Type.Object(
    {
      id: Nullable(Id()),
      version: Type.Integer({
        minimum: 0,
        description: '0 while nothing was set: the defaults hold, and there is no id',
      }),
      ...(Object.fromEntries(fields) as Record<string, TSchema>),
      externalRefs,
      customFields: shownCustomFields,
      createdAt: Nullable(Timestamp()),
      updatedAt: Nullable(Timestamp()),
      createdBy: Nullable(Type.String()),
      deletedAt: deletedAt(),
    },
    { $id: `Current${row.typeName}` },
  );
}

/** What an action takes. */
export function actionSchema(id: string, takes: Fields): TSchema {
  const fields = Object.entries(takes).map(([name, declared]) => [
    name,
    declared.traits.isRequired ? valueSchema(declared) : Type.Optional(valueSchema(declared)),
  ]);
  return Closed(Object.fromEntries(fields) as Record<string, TSchema>, { $id: id });
}

/** The contracts of one row. */
export interface ResourceSchemas {
  create: TSchema;
  patch: TSchema;
  record: TSchema;
  /** Asked for only where the row is a singleton. */
  current: TSchema;
}

const made = new Map<Resource, ResourceSchemas>();

/** The contracts of a row; always the same objects, because validators know a schema by its `$id`. */
export function schemasOf(row: Resource): ResourceSchemas {
  const known = made.get(row);
  if (known) return known;
  const schemas = {
    create: createSchema(row),
    patch: patchSchema(row),
    record: recordSchema(row),
    current: currentSchema(row),
  };
  made.set(row, schemas);
  return schemas;
}
