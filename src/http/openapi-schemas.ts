/**
 * Contract schemas → components of an OpenAPI document. Every schema with an `$id` becomes a component of that name, and so
 * does one that says what it is shown as.
 */
import { SHOWN_AS, type TSchema } from '../contracts/schema';
import { LIST_ITEMS } from '../resources/filters';
import { SHARED_SCHEMAS } from './validate';

/** A piece of a JSON document. */
export type Json = { [name: string]: unknown };

/** Collects the components that a document's operations refer to. */
export interface SchemaRegister {
  /** The schema as the document shows it: a reference where it has a name, itself where it has none. */
  show(schema: unknown): unknown;
  /** Every component shown so far, by name. */
  components(): Json;
}

const refTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const sharedById = new Map(SHARED_SCHEMAS.map((schema) => [String(schema.$id), schema]));

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** Which member of a tagged union each value of its tag selects. */
function mappingOf(members: readonly unknown[], tag: string): Json {
  const names = members.flatMap((member) =>
    isObject(member) && typeof member['$ref'] === 'string' ? [member['$ref']] : [],
  );
  return Object.fromEntries(
    names.flatMap((name) => {
      const fields = sharedById.get(name)?.['properties'] as Record<string, { const?: unknown }> | undefined;
      const value = fields?.[tag]?.const;
      return typeof value === 'string' ? [[value, `#/components/schemas/${name}`]] : [];
    }),
  );
}

/** A tagged union repeats its tag beside the members for ajv alone, and needs a mapping for everybody else. */
function withMapping(schema: Json): Json {
  const { discriminator, oneOf, properties: _forAjv, ...rest } = schema;
  if (!isObject(discriminator) || !Array.isArray(oneOf)) return schema;
  const tag = String(discriminator['propertyName']);
  return { ...rest, oneOf, discriminator: { propertyName: tag, mapping: mappingOf(oneOf, tag) } };
}

/** Opens an empty register. */
export function schemaRegister(): SchemaRegister {
  const shown = new Map<string, unknown>();
  const declared = new Map<string, Json>();

  const body = (schema: Json): Json =>
    Object.fromEntries(
      Object.entries(withMapping(schema))
        .filter(([name]) => name !== '$id')
        .map(([name, value]) => [name, show(value)]),
    );

  const named = (name: string, schema: Json): Json => {
    const known = declared.get(name);
    if (known && known !== schema && JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(`Two different schemas are called ${name}: one of them would be shown for both`);
    if (!known) {
      declared.set(name, schema);
      // Entered before it is walked: a schema may contain itself.
      shown.set(name, null);
      shown.set(name, body(schema));
    }
    return refTo(name);
  };

  function show(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map(show);
    if (!isObject(schema)) return schema;
    const { $id, $ref } = schema;
    const name = $id ?? (schema as { [SHOWN_AS]?: string })[SHOWN_AS];
    if (typeof name === 'string') return named(name, schema);
    if (typeof $ref !== 'string' || $ref.startsWith('#')) return body(schema);
    const target = sharedById.get($ref);
    if (!target) throw new Error(`No shared schema is called ${$ref}; add it to SHARED_SCHEMAS`);
    return named($ref, target);
  }

  return {
    show,
    components: () => Object.fromEntries([...shown.entries()].toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
}

/** A query parameter's schema; one that takes several values is shown as the list it stands for. */
export function shownParameter(schema: TSchema, register: SchemaRegister): Json {
  const items = (schema as { [LIST_ITEMS]?: unknown })[LIST_ITEMS];
  if (items === undefined) return { schema: register.show(withoutDescription(schema)) };
  return {
    schema: { type: 'array', minItems: 1, maxItems: 100, items: withoutCommas(register.show(items) as Json) },
    style: 'form',
    explode: false,
  };
}

/** Commas are what values are told apart by, so a text that may be anything else has none. */
function withoutCommas(items: Json): Json {
  const isFree = items['type'] === 'string' && !('enum' in items) && !('pattern' in items) && !('format' in items);
  return isFree ? { ...items, pattern: '^[^,]+$' } : items;
}

/** The description is the parameter's own, beside its schema. */
function withoutDescription(schema: TSchema): Json {
  const { description: _description, ...rest } = schema as Json;
  return rest;
}
