/** What a row of the registry may declare. Everything else about a resource follows from it. */
import type { EVENT_CATEGORIES } from '../contracts/event';
import type { ServiceName } from '../contracts/operation';
import { clientBy, clientLabels, clientNameBy } from './client';
import type { CustomFields } from './custom-fields';
import type { Field, Fields } from './field';
import { pascalCase, snakeCase } from './names';
import { defaultPayload, withCommonFields } from './payload';
import type { PortalReach } from './portal-reach';

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
  customFields: CustomFields;
  createdAt: string;
  updatedAt: string;
  createdBy: string;
  /** What is deleted is no record any more: lists show its tombstone, which says when. */
  deletedAt: null;
}

/** A record as the API shows it; the store alone knows another form. */
export type RecordOf<Declared extends Fields> = BaseRecord & { [Name in keyof Declared]: Declared[Name]['value'] };

/** A record of any resource. */
export type AnyRecord = BaseRecord & Record<string, unknown>;

/**
 * What the records say that references name: by field their label (`boardId`), by path another text of theirs
 * (`endpointId.companyId`); null where it is not known.
 */
export type Labels = Readonly<Record<string, string | null>>;

/** A write that makes an event. The catalog's sample is of it, and a test sends it to the product. */
export interface Firing {
  /** What the row's example of a create says besides, or otherwise. */
  given?: Readonly<Record<string, unknown>>;
  /** What the change says, or what the action is told; the row's or the action's own example, when it is left out. */
  change?: Readonly<Record<string, unknown>>;
  /** The action that makes the change. */
  act?: string;
  /** What makes it, where no client does; `change` is then what becomes of the record. */
  by?: 'timer' | 'tally';
}

/** When an event is emitted and what it adds to the resource's payload. */
export interface EventRule<Row> {
  /** A change that a timer or a tally makes is an update like any other. */
  on: 'create' | 'update' | 'delete' | 'restore';
  text: string;
  /** Emitted when this holds; always, when it is left out. Without a change both are the record as it is. */
  when?: ((before: Row, after: Row) => boolean) & { fires?: Firing };
  /** Where neither the row's examples nor `when` say what makes it. */
  fires?: Firing;
  facts?: (before: Row, after: Row, labels: Labels) => Record<string, unknown>;
}

/** Where each state may lead; a state that is not named leads anywhere. */
export interface States<Row> {
  field: string;
  /** States a create may name; any, when it is left out. */
  initial?: readonly string[];
  /** Says why a state is not reached by a patch, and what reaches it. */
  hint?: string;
  from: Record<string, (record: Row, now: Date) => readonly string[]>;
}

/** Why a write is refused, beyond what its schema says. */
export interface Refusal {
  kind: 'conflict' | 'invalid';
  /** Names the field and the fix. */
  message: string;
  field: string;
}

/** A write beside the generic ones: `POST /:id/<name>`. It changes what a patch cannot. */
export interface Action<Row> {
  /** In operation ids: `reopen` → `reopenDeal`. */
  verb: string;
  summary: string;
  description: string;
  takes: Fields;
  change: (record: Row, body: Record<string, unknown>, now: string) => Partial<Row>;
  /** State moves that this action alone makes; the row's own otherwise. */
  from?: States<Row>['from'];
  example: Record<string, unknown>;
}

/** What becomes of a record when a moment passes and nobody changed it. */
export interface Timer<Row> {
  /** Reference whose record has a say in the moment. */
  reads?: string;
  /** Fields the moment follows from: a change of any of them has the record looked at again. */
  fields: readonly string[];
  /** Values of the records that can have a moment ahead, by field. */
  waits: Readonly<Record<string, readonly string[]>>;
  /** The next moment and what a look at `now` makes of the record then; null when there is none. */
  next: (record: Row, related: AnyRecord | null, now: Date) => { at: string; change: Partial<Row> } | null;
}

/** Records of another resource that name this one. */
export interface Naming {
  /** Key of the other resource. */
  from: string;
  /** Its field that names this record. */
  by: string;
  /** Records that count, by field and values. */
  where: Readonly<Record<string, readonly string[]>>;
}

/** Fields that do not change while other records name this one. */
export interface Held extends Naming {
  fields: readonly string[];
  /** What to do about those records. */
  fix: string;
}

/** A figure over the records of another resource that name this one. It is counted anew after each of their changes. */
export interface Tally<Row> extends Naming {
  /** Field that is summed up; the records are counted, when it is left out. */
  sum?: string;
  change: (record: Row, figure: number, now: string) => Partial<Row>;
}

/** What a record belongs to: it is served below that one, and gone while that one is. */
export interface Parent {
  row: Resource;
  /** The reference that names it. */
  field: string;
  /** The field that gets the id of whoever writes the record. */
  author: string;
}

/** What writes are held to, and what follows from them. */
interface Rules<Row> {
  states: States<Row> | null;
  /** Server-set fields that follow from the others; `before` is null at create. */
  computed: (after: Row, before: Row | null, now: string) => Partial<Row>;
  /** Refuses a create (`before` is null) or a change for what other fields and the records it names say. */
  refuse: (after: Row, before: Row | null, labels: Labels) => Refusal | null;
  /** Why nothing of this record changes any more; null while it may. External references always may. */
  frozen: (record: Row) => string | null;
  /** Why this record is not deleted; null when it may be. */
  kept: (record: Row) => string | null;
  actions: Readonly<Record<string, Action<Row>>>;
  timer: Timer<Row> | null;
  tally: Tally<Row> | null;
  held: Held | null;
  /** Refuses the deletion of a record that others still name. */
  isKeptWhileReferenced: boolean;
  /** A tenant has one such record at most. It is also served as `/current`, before it exists, too. */
  isSingleton: boolean;
}

/** A row of the registry as it is written; of the rules it names those it has. */
export interface Declaration<Declared extends Fields> extends Partial<Rules<RecordOf<Declared>>> {
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
  /** The MSP's client an event is about; `companyId` unless declared. */
  clientId?: (record: RecordOf<Declared>) => string | null;
  /** Reference through which a record has its client, where it names none itself. */
  clientThrough?: keyof Declared & string;
  /**
   * References whose labels the payload asks for, or texts of the records they name: `boardId`, `boardId.name`. The
   * client's name is always asked for.
   */
  labelled?: readonly ((keyof Declared & string) | `${keyof Declared & string}.${string}`)[];
  /** Event payload; all fields in snake_case unless declared. */
  payload?: (record: RecordOf<Declared>, labels: Labels) => Record<string, unknown>;
  /** Added to the payload that is not declared: labels and names that agents ask for. */
  also?: (record: RecordOf<Declared>, labels: Labels) => Record<string, unknown>;
  events: Readonly<Record<string, EventRule<RecordOf<Declared>>>>;
  /** People write notes to its records: `/:id/notes`, in a collection of their own. */
  hasNotes?: boolean;
  /** The record that every record of this row belongs to and is reached through. */
  parent?: Parent;
  /** What portal tokens reach at the first product's mount; nothing unless declared. */
  portal?: PortalReach;
  /** Request bodies shown in the documentation and validated by a test. */
  examples: { create: Record<string, unknown>; update: Record<string, unknown> };
}

/** What generic code sees in another form, or not at all. */
type Reworked = 'label' | 'lists' | 'labelled' | 'clientId' | 'clientThrough' | 'payload' | 'also' | 'events';

/** A row as the generic code sees it. */
export interface Resource extends Omit<Declaration<Fields>, keyof Rules<AnyRecord> | Reworked>, Rules<AnyRecord> {
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
  clientId: (record: AnyRecord, labels: Labels) => string | null;
  /** What people call that client; nothing for rows that have none. */
  clientName: ((record: AnyRecord, labels: Labels) => string | null) | null;
  payload: (record: AnyRecord, labels: Labels) => Record<string, unknown>;
  events: Readonly<Record<string, EventRule<AnyRecord>>>;
}

function collectionOf({ products, path }: Pick<Resource, 'products' | 'path'>): string {
  const name = snakeCase(path);
  return products.length > 1 ? name : `${products[0]}_${name}`;
}

const none = (): Record<string, unknown> => ({});
const never = (): null => null;

/** The rules of a row; what it leaves out allows everything and changes nothing. */
const rulesOf = (row: Partial<Rules<AnyRecord>>): Rules<AnyRecord> => ({
  states: row.states ?? null,
  computed: row.computed ?? none,
  refuse: row.refuse ?? never,
  frozen: row.frozen ?? never,
  kept: row.kept ?? never,
  actions: row.actions ?? {},
  timer: row.timer ?? null,
  tally: row.tally ?? null,
  held: row.held ?? null,
  isKeptWhileReferenced: row.isKeptWhileReferenced ?? false,
  isSingleton: row.isSingleton ?? false,
});

type EventRules = Resource['events'];

/** Who hears of a deletion hears of the return, too. */
function withRestored(events: EventRules, noun: string): EventRules {
  const isTold = Object.values(events).some(({ on }) => on === 'delete');
  return isTold ? { ...events, restored: { on: 'restore', text: `A deleted ${noun} was restored.` } } : events;
}

/** Declares a row. Its functions see the record's exact type; generic code sees any record. */
export function resource<const Declared extends Fields>(declared: Declaration<Declared>): Resource {
  // The one place where a row's own record type is given up: each function only ever gets records of its own row.
  const { also, ...row } = declared as unknown as Declaration<Record<string, Field>> & Partial<Resource>;
  const names = {
    singular: snakeCase(row.eventNoun ?? row.nouns[0]),
    typeName: pascalCase(row.nouns[0]),
    typeNames: pascalCase(row.nouns[1]),
  };
  const clientId = row.clientId ?? clientBy(row.clientThrough);
  const clientName = clientNameBy(row);
  return {
    ...row,
    ...names,
    key: row.key ?? row.path,
    eventProduct: row.eventProduct ?? row.products[0],
    collection: collectionOf(row),
    lists: row.lists ?? [],
    labelled: [...new Set([...(row.labelled ?? []), ...clientLabels(row)])],
    ...rulesOf(row),
    clientId,
    clientName,
    payload: withCommonFields(
      row.payload ?? defaultPayload({ singular: names.singular, fields: row.fields, clientId }, also ?? none),
      clientName,
    ),
    events: withRestored(row.events, row.nouns[0]),
  };
}
