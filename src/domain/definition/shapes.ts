/** What is known about data before it exists: the payload of an event, the output of a step, the variables so far. */
import type { EventCatalogEntry, FieldType, FilterableField } from '../../contracts/event';
import type { LeafStep, Step } from '../../contracts/step';

/** `any` has members nobody knows, a value has none, an object has the listed ones, a list has numbered ones. */
export type Shape =
  | { kind: 'any' }
  | { kind: 'value'; type?: FieldType; enumValues?: readonly string[] }
  | { kind: 'object'; members: Readonly<Record<string, Shape>> }
  | { kind: 'list'; element: Shape };

export const ANY: Shape = { kind: 'any' };
const DEPTH_MAX = 12;
const PATHS_MAX = 300;

export const object = (members: Record<string, Shape>): Shape => ({ kind: 'object', members });
export const value = (type?: FieldType, enumValues?: readonly string[]): Shape => ({
  kind: 'value',
  ...(type ? { type } : {}),
  ...(enumValues ? { enumValues } : {}),
});
export const list = (element: Shape = ANY): Shape => ({ kind: 'list', element });

const isRecord = (data: unknown): data is Record<string, unknown> =>
  typeof data === 'object' && data !== null && !Array.isArray(data);

/** The shape at a path, or `undefined` when there is known to be none. */
export function shapeAt(shape: Shape, segments: readonly string[]): Shape | undefined {
  const [segment, ...rest] = segments;
  if (segment === undefined || shape.kind === 'any') return shape;
  if (shape.kind === 'value') return undefined;
  if (shape.kind === 'list') return /^\d+$/.test(segment) ? shapeAt(shape.element, rest) : undefined;
  const inner = Object.hasOwn(shape.members, segment) ? shape.members[segment] : undefined;
  return inner && shapeAt(inner, rest);
}

/** Paths worth suggesting, shallow ones first. */
export function pathsIn(shape: Shape): string[] {
  const paths: string[] = [];
  let level: { path: string; shape: Shape }[] = [{ path: '', shape }];
  for (let depth = 0; depth < DEPTH_MAX && level.length > 0 && paths.length < PATHS_MAX; depth += 1) {
    level = level.flatMap(({ path, shape: outer }) =>
      outer.kind === 'object'
        ? Object.entries(outer.members).map(([name, inner]) => ({
            path: path === '' ? name : `${path}.${name}`,
            shape: inner,
          }))
        : [],
    );
    paths.push(...level.map(({ path }) => path));
  }
  return paths.slice(0, PATHS_MAX);
}

/** What an example shows. An absent or empty example value says nothing about its inside. */
function shapeOfSample(sample: unknown, depth = 0): Shape {
  if (sample === null || depth >= DEPTH_MAX) return ANY;
  if (Array.isArray(sample)) return list(sample.length === 0 ? ANY : shapeOfSample(sample[0], depth + 1));
  if (!isRecord(sample)) return value();
  if (Object.keys(sample).length === 0) return ANY;
  return object(mapValues(sample, (inner) => shapeOfSample(inner, depth + 1)));
}

const mapValues = (record: Record<string, unknown>, shape: (inner: unknown) => Shape): Record<string, Shape> =>
  Object.fromEntries(Object.entries(record).map(([name, inner]) => [name, shape(inner)]));

const shapeOfField = ({ type, enum_values: enumValues }: FilterableField, known: Shape | undefined): Shape => {
  if (type !== 'array') return value(type, enumValues);
  return known?.kind === 'list' ? known : list();
};

function withField(shape: Shape, segments: readonly string[], field: FilterableField): Shape {
  const [segment, ...rest] = segments;
  if (segment === undefined) return shapeOfField(field, shape);
  const members = shape.kind === 'object' ? shape.members : {};
  const inner = Object.hasOwn(members, segment) ? members[segment] : undefined;
  return object({ ...members, [segment]: withField(inner ?? ANY, rest, field) });
}

/** The objects of a payload that we make ourselves. */
const OF_OURS: ReadonlySet<string> = new Set(['actor', 'previous']);

/** Other objects, such as the answers to a form, hold what somebody put there: a sample shows one of many. */
function withFreeObjects(members: Readonly<Record<string, Shape>>, { filterable_fields: named }: EventCatalogEntry) {
  const isFree = ([name, { kind }]: [string, Shape]): boolean =>
    kind === 'object' && !OF_OURS.has(name) && !named.some(({ path }) => path.startsWith(`${name}.`));
  return Object.fromEntries(Object.entries(members).map((member) => [member[0], isFree(member) ? ANY : member[1]]));
}

/** The payload of a catalogued event: its sample, with the declared types; old values have the fields of new ones. */
export function payloadShape(entry: EventCatalogEntry): Shape {
  const typed = entry.filterable_fields.reduce(
    (shape, field) => withField(shape, field.path.split('.'), field),
    shapeOfSample(entry.sample_payload),
  );
  if (typed.kind !== 'object') return typed;
  const members = withFreeObjects(typed.members, entry);
  if (!Object.hasOwn(members, 'previous')) return object(members);
  const { changed: _changed, previous: _previous, ...fields } = members;
  return object({ ...members, previous: object(fields) });
}

const SCALARS: Record<string, FieldType> = {
  string: 'string',
  number: 'number',
  integer: 'integer',
  boolean: 'boolean',
};

function scalarOfSchema(type: string, schema: Record<string, unknown>): Shape {
  if (type !== 'string') return SCALARS[type] ? value(SCALARS[type]) : ANY;
  const { enum: values, format } = schema;
  if (Array.isArray(values) && values.every((one) => typeof one === 'string')) return value('enum', values);
  return value(format === 'date-time' || format === 'date' ? 'datetime' : 'string');
}

/** What a JSON Schema promises. Anything but plain types says nothing here, and then every path is accepted. */
function shapeOfSchema(schema: unknown, depth = 0): Shape {
  if (!isRecord(schema) || depth >= DEPTH_MAX) return ANY;
  const { type: types, properties, items } = schema;
  const named: unknown[] = Array.isArray(types) ? types.filter((one) => one !== 'null') : [types];
  const [type] = named;
  if (typeof type !== 'string' || named.length !== 1) return ANY;
  if (type === 'array') return list(shapeOfSchema(items, depth + 1));
  if (type !== 'object') return scalarOfSchema(type, schema);
  return isRecord(properties) ? object(mapValues(properties, (inner) => shapeOfSchema(inner, depth + 1))) : ANY;
}

/** What a variable will hold; a text with placeholders can become anything. */
function shapeOfAssigned(assigned: unknown, depth = 0): Shape {
  if (typeof assigned === 'string') return assigned.includes('{{') ? ANY : value();
  if (isRecord(assigned) && depth < DEPTH_MAX) {
    return object(mapValues(assigned, (inner) => shapeOfAssigned(inner, depth + 1)));
  }
  return Array.isArray(assigned) ? list() : ANY;
}

/** The variables a step sets, by name. */
export const variablesOf = (step: Step): Record<string, Shape> =>
  step.type === 'set_variables' ? mapValues(step.values, (inner) => shapeOfAssigned(inner)) : {};

type OutputOf = { [Type in Step['type']]: (step: Extract<Step, { type: Type }>) => Shape };

const OUTPUT: OutputOf = {
  ai_reason: ({ output_schema: schema }) =>
    schema ? shapeOfSchema(schema) : object({ text: value('string'), truncated: value('boolean') }),
  notification: () => object({ deliveries: list() }),
  approval_gate: () =>
    object({
      decision: value('string'),
      decided_by: value('id'),
      decided_by_name: value('string'),
      decided_at: value('datetime'),
      note: value('string'),
    }),
  http_request: () => object({ status: value('integer'), headers: ANY, body: ANY, truncated: value('boolean') }),
  delay: () => object({ resumed_at: value('datetime') }),
  branch: () => object({ taken: value('string') }),
  set_variables: (step) => object(variablesOf(step)),
};

/** What a step's output holds once it completed. */
export const outputShape = (step: Step): Shape => (OUTPUT[step.type] as (step: Step | LeafStep) => Shape)(step);
