/** Row → event catalog: what a resource's events are called, what they carry and what agents can filter them by. */
import type { EventCatalogEntry, FieldType, FilterableField } from '../contracts/event';
import type { Field } from './field';
import { sentenceCase, snakeCase } from './names';
import { RESOURCES, resourceOf } from './registry';
import type { AnyRecord, EventRule, Labels, Resource } from './resource';
import { exampleId } from './rules';

const CREATED_AT = '2026-11-20T22:40:00.000Z';
const UPDATED_AT = '2026-11-20T23:10:00.000Z';
const LINE_MAX = 255;

/** A value such as the field could hold, where the row's own example names none. */
function sampleOf({ traits }: Field): unknown {
  if (traits.target) return exampleId(resourceOf(traits.target).prefix);
  if (traits.kind === 'id') return exampleId('usr');
  if (traits.kind === 'datetime') return UPDATED_AT;
  return traits.countsFrom ?? traits.fallback;
}

/** A record such as the resource could hold. */
function sampleRecord(row: Resource): AnyRecord {
  const sampled = Object.entries(row.fields).map(([name, declared]) => [name, sampleOf(declared)]);
  return {
    id: exampleId(row.prefix),
    version: 1,
    ...(Object.fromEntries(sampled) as Record<string, unknown>),
    ...row.examples.create,
    externalRefs: [],
    createdAt: CREATED_AT,
    updatedAt: UPDATED_AT,
    createdBy: exampleId('usr'),
  };
}

const sampleLabels = (row: Resource): Labels =>
  Object.fromEntries(
    row.labelled.map((name) => {
      const { examples, label } = resourceOf(row.fields[name]?.traits.target ?? '');
      return [name, String(examples.create[label])];
    }),
  );

const TYPES: Record<Field['traits']['kind'], FieldType | null> = {
  string: 'string',
  choice: 'enum',
  id: 'id',
  integer: 'integer',
  boolean: 'boolean',
  datetime: 'datetime',
  date: 'datetime',
  strings: 'array',
  json: null,
};

/** The type of a payload field that is no field of the row by that name. */
function guessedType(path: string, sample: unknown): FieldType | null {
  if (path.endsWith('_id')) return 'id';
  if (path.endsWith('_at')) return 'datetime';
  if (Array.isArray(sample)) return 'array';
  if (typeof sample === 'number') return 'integer';
  return typeof sample === 'string' ? 'string' : null;
}

/** Paragraphs and objects are for texts and conditions; as a filter they would never match. */
function typeOf(declared: Field | undefined, path: string, sample: unknown): FieldType | null {
  // A field that a resource never has, such as the client of a board, is nothing to filter by.
  if (!declared) return sample === null ? null : guessedType(path, sample);
  const { kind, schema } = declared.traits;
  if (kind === 'string' && Number(schema['maxLength'] ?? 0) > LINE_MAX) return null;
  return TYPES[kind];
}

const label = (path: string): string => sentenceCase(path).replace(/\bid\b/i, 'ID');

function filterable(row: Resource, payload: Record<string, unknown>): FilterableField[] {
  const fields = new Map(Object.entries(row.fields).map(([name, declared]) => [snakeCase(name), declared]));
  return Object.entries(payload).flatMap(([path, sample]) => {
    const declared = fields.get(path);
    const type = typeOf(declared, path, sample);
    const values = declared?.traits.schema['enum'] as string[] | undefined;
    return type === null ? [] : [{ path, label: label(path), type, ...(values ? { enum_values: values } : {}) }];
  });
}

function samplePayload(row: Resource, rule: EventRule<AnyRecord>): Record<string, unknown> {
  const before = sampleRecord(row);
  const after = rule.on === 'update' ? { ...before, ...row.examples.update } : before;
  const names = Object.keys(row.examples.update);
  const change = {
    changed: names.map(snakeCase),
    previous: Object.fromEntries(names.map((name) => [snakeCase(name), before[name] ?? null])),
  };
  return {
    ...row.payload(after, sampleLabels(row)),
    ...(rule.on === 'update' ? change : {}),
    ...(rule.on === 'timer' ? {} : { actor: { type: 'user', id: exampleId('usr') } }),
    ...rule.facts?.(before, after),
  };
}

function entryOf(row: Resource, name: string, rule: EventRule<AnyRecord>): EventCatalogEntry {
  const type = `${row.singular}.${name}`;
  const payload = samplePayload(row, rule);
  return {
    id: `${row.eventProduct}:${type}`,
    source_product: row.eventProduct,
    event_type: type,
    category: row.category,
    display_name: sentenceCase(`${row.singular} ${name}`),
    description: rule.text,
    filterable_fields: filterable(row, payload),
    sample_payload: payload,
  };
}

/** Catalog entries of the events of one row. */
export const eventEntriesOf = (row: Resource): EventCatalogEntry[] =>
  Object.entries(row.events).map(([name, rule]) => entryOf(row, name, rule));

/** Catalog entries of every event the registry's resources emit. */
export const resourceEvents: readonly EventCatalogEntry[] = RESOURCES.flatMap(eventEntriesOf);
