/** Row → event catalog: what a resource's events are called, what they carry and what agents can filter them by. */
import type { EventCatalogEntry, FieldType, FilterableField } from '../contracts/event';
import { difference } from './difference';
import { countedValue, type Field } from './field';
import { sentenceCase, snakeCase } from './names';
import { ROWS, resourceOf } from './registry';
import type { AnyRecord, EventRule, Firing, Labels, Resource } from './resource';
import { exampleId } from './rules';

const CREATED_AT = '2026-11-20T22:40:00.000Z';
const UPDATED_AT = '2026-11-20T23:10:00.000Z';
const LINE_MAX = 255;

/** A value such as the field could hold, where the row's own example names none. */
function sampleOf({ traits }: Field): unknown {
  if (traits.target) return exampleId(resourceOf(traits.target).prefix);
  if (traits.kind === 'id') return exampleId('usr');
  if (traits.kind === 'datetime') return UPDATED_AT;
  return traits.countsFrom === null ? traits.fallback : countedValue(traits, traits.countsFrom);
}

/** A record such as the resource could hold. */
function sampleRecord(row: Resource, given: Readonly<Record<string, unknown>>): AnyRecord {
  const sampled = Object.entries(row.fields).map(([name, declared]) => [name, sampleOf(declared)]);
  const record: AnyRecord = {
    id: exampleId(row.prefix),
    version: 1,
    ...(Object.fromEntries(sampled) as Record<string, unknown>),
    ...row.examples.create,
    ...given,
    externalRefs: [{ system: 'halo', id: '4711' }],
    customFields: {},
    createdAt: CREATED_AT,
    updatedAt: CREATED_AT,
    createdBy: exampleId('usr'),
    deletedAt: null,
  };
  return { ...record, ...row.computed(record, null, CREATED_AT) };
}

/** The write that makes an event: the event's own, the one its predicate knows, or the row's examples. */
export function firingOf(
  row: Resource,
  { fires, when }: EventRule<AnyRecord>,
): Required<Pick<Firing, 'given' | 'change'>> & Firing {
  const firing = fires ?? when?.fires ?? {};
  const example = firing.act ? row.actions[firing.act]?.example : row.examples.update;
  return { ...firing, given: firing.given ?? {}, change: firing.change ?? example ?? {} };
}

/** What the write makes of the record. */
function sampleChange(row: Resource, before: AnyRecord, { act, change }: ReturnType<typeof firingOf>): AnyRecord {
  const values = act ? row.actions[act]?.change(before, change, UPDATED_AT) : change;
  const after: AnyRecord = { ...before, ...values, updatedAt: UPDATED_AT };
  return { ...after, ...row.computed(after, before, UPDATED_AT) };
}

const sampleLabels = (row: Resource): Labels =>
  Object.fromEntries(
    row.labelled.map((path) => {
      const [name = '', of, last] = path.split('.');
      const named = resourceOf(row.fields[name]?.traits.target ?? '');
      const target = last === undefined ? named : resourceOf(named.fields[of ?? '']?.traits.target ?? '');
      const sample = sampleRecord(target, {})[last ?? of ?? target.label];
      return [path, typeof sample === 'string' ? sample : null];
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
  if (Array.isArray(sample)) return sample.some((entry) => typeof entry === 'object') ? null : 'array';
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
  const firing = firingOf(row, rule);
  const before = sampleRecord(row, firing.given);
  const after = rule.on === 'update' ? sampleChange(row, before, firing) : before;
  const labels = sampleLabels(row);
  const payload = row.payload(after, labels);
  return {
    ...payload,
    ...(rule.on === 'update' ? difference(row.payload(before, labels), payload) : {}),
    actor: firing.by ? { type: 'system', id: firing.by } : { type: 'user', id: exampleId('usr') },
    ...rule.facts?.(before, after, labels),
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
export const resourceEvents: readonly EventCatalogEntry[] = ROWS.flatMap(eventEntriesOf);
