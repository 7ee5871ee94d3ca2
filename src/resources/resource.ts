/** What a row of the registry may declare. Everything else about a resource follows from it. */
import type { EVENT_CATEGORIES } from '../contracts/event';
import type { ServiceName } from '../contracts/operation';
import type { Field, Fields } from './field';
import { pascalCase, snakeCase } from './names';

/** A service that offers product resources. */
export type Product = Exclude<ServiceName, 'agents' | 'mail'>;

/** The record's name in a system that is synchronised with ours. */
export interface ExternalRef {
  system: string;
  id: string;
}

/** What every record has besides its own fields. */
export interface BaseRecord {
  id: string;
  version: number;
  externalRefs: ExternalRef[];
  createdAt: string;
  updatedAt: string;
  createdBy: string;
}

/** A record as the API shows it; the store alone knows another form. */
export type RecordOf<Declared extends Fields> = BaseRecord & { [Name in keyof Declared]: Declared[Name]['value'] };

/** A record of any resource. */
export type AnyRecord = BaseRecord & Record<string, unknown>;

/** Labels of the records that references name, by field; null where they are not known. */
export type Labels = Readonly<Record<string, string | null>>;

/** When an event is emitted and what it adds to the resource's payload. */
export interface EventRule<Row> {
  /** `timer` events are emitted by a schedule; declaring them here puts them into the catalog. */
  on: 'create' | 'update' | 'delete' | 'timer';
  text: string;
  /** Emitted when this holds; always, when it is left out. Without a change both are the record as it is. */
  when?: (before: Row, after: Row) => boolean;
  facts?: (before: Row, after: Row) => Record<string, unknown>;
}

/** Where each state may lead; a state that is not named leads anywhere. */
export interface States<Row> {
  field: string;
  from: Record<string, (record: Row, now: Date) => readonly string[]>;
}

/** A row of the registry as it is written. */
export interface Declaration<Declared extends Fields> {
  /** Products that serve it from one shared collection; the first names the operations. */
  products: readonly [Product, ...Product[]];
  path: string;
  /** How references name it; the path unless two resources share one. */
  key?: string;
  /** One and many, in words; operation ids, schema names and event types are made of them. */
  nouns: readonly [string, string];
  /** The noun of its event types and payloads, where another product's resource has the same. */
  eventNoun?: string;
  /** Of record ids. */
  prefix: string;
  category: (typeof EVENT_CATEGORIES)[number];
  /** Product whose events these are, when it is not the first. */
  eventProduct?: Product;
  fields: Declared;
  /** The field that names a record to people. */
  label: keyof Declared & string;
  /** Fields whose one-value filter has its own index, the most selective first. */
  lists?: readonly (keyof Declared & string)[];
  states?: States<RecordOf<Declared>>;
  /** Server-set fields that follow from the others; `before` is null at create. */
  computed?: (after: RecordOf<Declared>, before: RecordOf<Declared> | null, now: string) => Partial<RecordOf<Declared>>;
  /** The MSP's client an event is about; `companyId` unless declared. */
  clientId?: (record: RecordOf<Declared>) => string | null;
  /** References whose labels the payload asks for. */
  labelled?: readonly (keyof Declared & string)[];
  /** Event payload; all fields in snake_case unless declared. */
  payload?: (record: RecordOf<Declared>, labels: Labels) => Record<string, unknown>;
  /** Added to the payload that is not declared: labels and names that agents ask for. */
  also?: (record: RecordOf<Declared>, labels: Labels) => Record<string, unknown>;
  events: Readonly<Record<string, EventRule<RecordOf<Declared>>>>;
  /** Refuses the deletion of a record that others still name. */
  isKeptWhileReferenced?: boolean;
  /** Request bodies shown in the documentation and validated by a test. */
  examples: { create: Record<string, unknown>; update: Record<string, unknown> };
}

/** A row as the generic code sees it. */
export interface Resource extends Omit<
  Declaration<Fields>,
  'label' | 'lists' | 'labelled' | 'states' | 'computed' | 'clientId' | 'payload' | 'also' | 'events'
> {
  key: string;
  eventProduct: Product;
  collection: string;
  /** `Ticket`, `Tickets`: in operation ids and schema names. */
  typeName: string;
  typeNames: string;
  /** `ticket`: in event types and payloads. */
  singular: string;
  label: string;
  lists: readonly string[];
  labelled: readonly string[];
  states: States<AnyRecord> | null;
  computed: (after: AnyRecord, before: AnyRecord | null, now: string) => Partial<AnyRecord>;
  clientId: (record: AnyRecord) => string | null;
  payload: (record: AnyRecord, labels: Labels) => Record<string, unknown>;
  events: Readonly<Record<string, EventRule<AnyRecord>>>;
  isKeptWhileReferenced: boolean;
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const companyOf = (record: AnyRecord): string | null => textOrNull(record['companyId']);

function collectionOf({ products, path }: Pick<Resource, 'products' | 'path'>): string {
  const name = snakeCase(path);
  return products.length > 1 ? name : `${products[0]}_${name}`;
}

type Payload = (record: AnyRecord, labels: Labels) => Record<string, unknown>;

function defaultPayload(row: Pick<Resource, 'singular' | 'fields' | 'clientId'>, also: Payload): Payload {
  return (record, labels) => ({
    [`${row.singular}_id`]: record.id,
    client_id: row.clientId(record),
    ...Object.fromEntries(Object.keys(row.fields).map((name) => [snakeCase(name), record[name]])),
    ...also(record, labels),
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  });
}

const none = (): Record<string, unknown> => ({});

/** Declares a row. Its functions see the record's exact type; generic code sees any record. */
export function resource<const Declared extends Fields>(declared: Declaration<Declared>): Resource {
  // The one place where a row's own record type is given up: each function only ever gets records of its own row.
  const { also, ...row } = declared as unknown as Declaration<Record<string, Field>> & Partial<Resource>;
  const names = {
    singular: snakeCase(row.eventNoun ?? row.nouns[0]),
    typeName: pascalCase(row.nouns[0]),
    typeNames: pascalCase(row.nouns[1]),
  };
  const clientId = row.clientId ?? companyOf;
  return {
    ...row,
    ...names,
    key: row.key ?? row.path,
    eventProduct: row.eventProduct ?? row.products[0],
    collection: collectionOf(row),
    lists: row.lists ?? [],
    labelled: row.labelled ?? [],
    states: row.states ?? null,
    computed: row.computed ?? none,
    clientId,
    payload: row.payload ?? defaultPayload({ singular: names.singular, fields: row.fields, clientId }, also ?? none),
    events: row.events,
    isKeptWhileReferenced: row.isKeptWhileReferenced ?? false,
  };
}
