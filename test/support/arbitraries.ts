/** Values and bodies such as a row of the registry declares them: a new row, or a new field, is generated without a word here. */
import {
  array,
  boolean,
  constant,
  constantFrom,
  date,
  dictionary,
  double,
  integer,
  oneof,
  option,
  record,
  string,
  stringMatching,
  uniqueArray,
  type Arbitrary,
} from 'fast-check';
import { LINE_PATTERN } from '../../src/contracts/patterns';
import type { Field, ValueSchema } from '../../src/resources/field';
import type { Resource } from '../../src/resources/resource';

export type Values = Record<string, unknown>;

const LENGTH_MAX = 24;
const ITEMS_MAX = 3;
/** The range of moments that records are about. */
const FROM = new Date('2001-01-01T00:00:00.000Z');
const TO = new Date('2099-12-31T23:59:59.999Z');
/** Timers leave moments alone that are this far off. */
const FAR = new Date('2090-01-01T00:00:00.000Z');

type Schema = ValueSchema;
const at = (schema: Schema, name: string): Schema => (schema[name] ?? {}) as Schema;
const numberAt = (schema: Schema, name: string, fallback: number): number =>
  (schema[name] as number | undefined) ?? fallback;

const moments = (from: Date): Arbitrary<string> =>
  oneof(
    date({ min: from, max: TO, noInvalidDate: true }).map((moment) => moment.toISOString()),
    // The same moments as they are written elsewhere: with an offset, and without milliseconds.
    date({ min: from, max: new Date('2099-12-30T00:00:00.000Z'), noInvalidDate: true }).map(
      (moment) => `${moment.toISOString().slice(0, 19)}+05:30`,
    ),
  );

const FORMATS: Record<string, (from: Date) => Arbitrary<string>> = {
  'date-time': moments,
  date: (from) => date({ min: from, max: TO, noInvalidDate: true }).map((day) => day.toISOString().slice(0, 10)),
  email: () => stringMatching(/^[a-z]{1,8}[.][a-z]{1,8}$/).map((name) => `${name}@records.example`),
  uri: () => stringMatching(/^[a-z]{1,8}$/).map((path) => `https://records.example/${path}?q=%20`),
};

/** Any code point but the halves of one: JSON and the store hold them all. */
function texts(schema: Schema): Arbitrary<string> {
  const minLength = numberAt(schema, 'minLength', 0);
  const maxLength = Math.min(numberAt(schema, 'maxLength', LENGTH_MAX), LENGTH_MAX);
  return oneof(
    { weight: 3, arbitrary: constantFrom('Alpha', 'alpha', 'beta 2', 'Ünïcode 🦊') },
    { weight: 1, arbitrary: string({ minLength, maxLength, unit: 'binary' }) },
  );
}

function stringOf(schema: Schema, from: Date): Arbitrary<unknown> {
  const values = schema['enum'] as unknown[] | undefined;
  if (values) return constantFrom(...values);
  const format = FORMATS[String(schema['format'])];
  if (format) return format(from);
  const pattern = schema['pattern'] as string | undefined;
  if (pattern === undefined) return texts(schema);
  const wanted = new RegExp(pattern);
  if (pattern === LINE_PATTERN) return texts(schema).filter((text) => wanted.test(text));
  const [min, max] = [numberAt(schema, 'minLength', 0), numberAt(schema, 'maxLength', Number.MAX_SAFE_INTEGER)];
  return stringMatching(wanted).filter(({ length }) => length >= min && length <= max);
}

/** JSON that no schema says anything of, in names too. */
const FREE = [null, true, 12, 'text', [], {}, [[1], { $in: ['a'] }], { 'a.b': { '': [1.5, null] } }];

function objectOf(schema: Schema, from: Date): Arbitrary<unknown> {
  const properties = schema['properties'] as Record<string, Schema> | undefined;
  if (!properties) {
    const names = stringMatching(new RegExp(String(at(schema, 'propertyNames')['pattern']))).filter(
      (name) => !(name in Object.prototype),
    );
    const value =
      schema['additionalProperties'] === true
        ? constantFrom<unknown>(...FREE)
        : valueOf(at(schema, 'additionalProperties'), from);
    return dictionary(names, value, { maxKeys: ITEMS_MAX, noNullPrototype: true });
  }
  const parts = Object.entries(properties).map(([name, part]) => [name, valueOf(part, from)]);
  return record(Object.fromEntries(parts) as Record<string, Arbitrary<unknown>>, {
    requiredKeys: schema['required'] as string[],
    noNullPrototype: true,
  });
}

function arrayOf(schema: Schema, from: Date): Arbitrary<unknown> {
  const items = valueOf(at(schema, 'items'), from);
  const minLength = numberAt(schema, 'minItems', 0);
  const bounds = { minLength, maxLength: Math.max(minLength, ITEMS_MAX) };
  return schema['uniqueItems'] ? uniqueArray(items, bounds) : array(items, bounds);
}

const KINDS: Record<string, (schema: Schema, from: Date) => Arbitrary<unknown>> = {
  string: stringOf,
  object: objectOf,
  array: arrayOf,
  boolean: () => boolean(),
  null: () => constant(null),
  integer: (schema) => {
    const min = numberAt(schema, 'minimum', Number.MIN_SAFE_INTEGER);
    const max = numberAt(schema, 'maximum', Number.MAX_SAFE_INTEGER);
    return oneof(integer({ min: Math.max(min, -9), max: Math.min(max, 99) }), constantFrom(min, max));
  },
  number: (schema) =>
    double({ min: numberAt(schema, 'minimum', -1e9), max: numberAt(schema, 'maximum', 1e9), noNaN: true })
      // JSON has no negative zero.
      .map((value) => value + 0),
};

/** Any value that a schema of the registry allows. */
function valueOf(schema: Schema, from: Date): Arbitrary<unknown> {
  const alternatives = schema['anyOf'] as Schema[] | undefined;
  if (alternatives) return oneof(...alternatives.map((part) => valueOf(part, from)));
  const types = [schema['type']].flat() as string[];
  const known = types.map((type) => {
    const make = KINDS[type];
    if (!make) throw new Error(`No values are known for ${JSON.stringify(schema)}`);
    return make(schema, from);
  });
  return oneof(...known);
}

/** Ids that a reference may name, by key of the resource. */
export type Known = Readonly<Record<string, readonly string[]>>;

/** Any value of a field that is set. Moments that a timer waits for are far off: what time does has its own tests. */
export function valuesOfField(row: Resource, name: string, declared: Field, known: Known): Arbitrary<unknown> {
  const { target, schema } = declared.traits;
  if (target) return constantFrom(...(known[target] ?? []));
  return valueOf(schema, row.timer?.fields.includes(name) ? FAR : FROM);
}

const writable = (row: Resource): [string, Field][] =>
  Object.entries(row.fields).filter(([, { traits }]) => !traits.isServerSet);

const mayBeNull = (row: Resource, [name, declared]: [string, Field], known: Known): Arbitrary<unknown> => {
  const isEmpty = declared.traits.target !== null && (known[declared.traits.target] ?? []).length === 0;
  if (isEmpty) return constant(null);
  const value = valuesOfField(row, name, declared, known);
  return declared.isNullable ? option(value, { freq: 4 }) : value;
};

const externalRefs = array(record({ system: constantFrom('halo', 'cw'), id: constantFrom('1', '2', '3') }), {
  maxLength: 2,
}).map((refs) => refs.map((ref) => ({ ...ref })));

/** Few names, so that changes meet what is there; null takes one away. */
const customFields = record(
  { region: constantFrom('north', 'south', null), seats: constantFrom(12, 13.5, null), vip: constantFrom(true, null) },
  { requiredKeys: [], noNullPrototype: true },
);

const fieldsOf = (row: Resource, known: Known): Record<string, Arbitrary<unknown>> => ({
  ...(Object.fromEntries(writable(row).map((entry) => [entry[0], mayBeNull(row, entry, known)])) as Record<
    string,
    Arbitrary<unknown>
  >),
  externalRefs,
  customFields,
});

/** Any body that a create's schema takes. */
export const creates = (row: Resource, known: Known): Arbitrary<Values> =>
  record(fieldsOf(row, known), {
    requiredKeys: writable(row)
      .filter(([, { traits }]) => traits.isRequired)
      .map(([name]) => name),
    noNullPrototype: true,
  });

/** Any body that a patch's schema takes: few fields at a time, as clients send them. */
export const patches = (row: Resource, known: Known): Arbitrary<Values> => {
  const fields = fieldsOf(row, known);
  return uniqueArray(constantFrom(...Object.keys(fields)), { minLength: 1, maxLength: 3 }).chain((names) =>
    record(Object.fromEntries(names.map((name) => [name, fields[name] ?? constant(null)])), { noNullPrototype: true }),
  );
};

/** Any body that an action takes. */
export const actionBodies = (row: Resource, act: string): Arbitrary<Values> => {
  const takes = Object.entries(row.actions[act]?.takes ?? {});
  return record(Object.fromEntries(takes.map(([name, declared]) => [name, valueOf(declared.traits.schema, FROM)])), {
    requiredKeys: takes.filter(([, { traits }]) => traits.isRequired).map(([name]) => name),
    noNullPrototype: true,
  });
};
