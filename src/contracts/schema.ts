/** The only file that names the schema library; every contract is plain JSON Schema 2020-12 underneath. */
import { Type, type Static, type TObject, type TSchema } from '@sinclair/typebox';

export { Type, type Static, type TObject, type TSchema };

/** A closed set of strings. One `enum` instead of a union keeps documents and messages short. */
export const Enum = <const Values extends readonly string[]>(values: Values, options: { description?: string } = {}) =>
  Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], ...options });

/** A value or `null`; on the wire `null` clears an optional field. */
export const Nullable = <Schema extends TSchema>(schema: Schema) =>
  Type.Unsafe<Static<Schema> | null>({ anyOf: [schema, { type: 'null' }] });

/** ISO 8601 in UTC with milliseconds, for example `2026-11-20T22:40:00.000Z`. */
export const Timestamp = (options: { description?: string } = {}) => Type.String({ format: 'date-time', ...options });

const MOMENT_OR_DAY = [Timestamp(), Type.String({ format: 'date' })];

/** A moment, or a whole day of UTC. */
export const TimestampOrDay = (options: { description?: string } = {}) =>
  Type.Unsafe<string>({ anyOf: MOMENT_OR_DAY, ...options });

/** The same, or null. */
export const NullableTimestampOrDay = (options: { description?: string } = {}) =>
  Type.Unsafe<string | null>({ anyOf: [...MOMENT_OR_DAY, Type.Null()], ...options });

/** A closed object: unknown fields are refused with a suggestion. Used for every request body and query. */
export const Closed = <Fields extends Parameters<typeof Type.Object>[0]>(fields: Fields, options: object = {}) =>
  Type.Object(fields, { additionalProperties: false, ...options });

/** Marks a closed object with the names that its reads have and only the server writes; ajv and JSON do not see symbols. */
export const SERVER_SET = Symbol('names that only the server writes');

/** Names a schema in the OpenAPI documents that is checked in its place; ajv and JSON do not see symbols. */
export const SHOWN_AS = Symbol('name in the documents');

/** An open JSON object, such as an event payload or a step's output. */
export const Json = (options: object = {}) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...options });

/** Any JSON value. */
export const Anything = (options: object = {}) => Type.Unsafe<unknown>({ ...options });

/**
 * A union told apart by one field. Members need `$id`s, so that OpenAPI can refer to them, and the wrapper declares
 * the field itself because ajv's strict mode asks for it.
 */
export const Tagged = <Union>(field: string, members: TSchema[], options: object = {}) =>
  Type.Unsafe<Union>({
    type: 'object',
    discriminator: { propertyName: field },
    required: [field],
    properties: { [field]: { type: 'string' } },
    oneOf: members,
    ...options,
  });

/** A reference to a schema by its `$id`, for definitions that contain themselves. */
export const Reference = <Value>(id: string) => Type.Unsafe<Value>({ $ref: id });

/** What every id fits. */
export const ID_PATTERN = '^[A-Za-z0-9_-]{1,64}$';

/** An opaque record identifier. */
export const Id = (options: object = {}) => Type.String({ pattern: ID_PATTERN, ...options });

/** A whole number and its unit. */
export const DURATION_PATTERN = '^[1-9][0-9]{0,5}(s|m|h|d)$';

/** A length of time such as `30s`, `15m`, `24h` or `7d`. */
export const Duration = (options: object = {}) => Type.String({ pattern: DURATION_PATTERN, ...options });
