/** Keyset paging over product records: every stable row exactly once, whatever is written between two pages. */
import type { mongo } from 'mongoose';
import type { Position } from '../domain/sealed-token';
import { choicesOf, sortFields, type FilterOperator, type SortField } from '../resources/filters';
import type { AnyRecord, Resource } from '../resources/resource';
import type { Store } from './collection';
import {
  documentsOf,
  EXTERNAL_REFS_INDEX,
  listIndex,
  ordersWithin,
  toRecord,
  type ResourceDocument,
} from './resource-documents';

/** One filter of a list, with the values it compares with. */
export interface ResourceFilter {
  field: string;
  operator: FilterOperator;
  values: (string | number | boolean)[];
}

export interface PageRequest {
  filters: readonly ResourceFilter[];
  orderBy: string;
  direction: 'asc' | 'desc';
  /** Where the page before ended. */
  after: Position | null;
  limit: number;
  /** Tombstones younger than this are listed with the rest; null for live records only. */
  deletedAfter: Date | null;
}

/** A record of a list; `deletedAt` is null while it lives. */
export interface ListedRecord {
  record: AnyRecord;
  deletedAt: string | null;
}

type Clause = Record<string, unknown>;

const READ_MS_MAX = 2_000;
/** Greater than every text that starts with the characters before it: the last code point there is. */
const LAST_CHARACTER = '\u{10FFFF}';
/** Every document has every field. Asked for null itself, DocumentDB would look for missing fields first, and not seek. */
const NOT_SET = { $type: 'null' };

const moment = (kind: string | undefined, value: unknown): unknown =>
  kind === 'datetime' && typeof value === 'string' ? new Date(value) : value;

/** Lists of texts count as "not set" when they are empty. */
const absence = (kind: string | undefined): unknown => (kind === 'strings' ? { $in: [null, []] } : null);
const presence = (kind: string | undefined): unknown => (kind === 'strings' ? { $nin: [null, []] } : { $ne: null });

type Comparison = (values: ResourceFilter['values'], kind: string | undefined) => unknown;

const bound =
  (operator: string): Comparison =>
  ([value], kind) => ({ [operator]: moment(kind, value) });

const COMPARISONS: Record<FilterOperator, Comparison> = {
  eq: (values, kind) => (values.length === 1 ? moment(kind, values[0]) : { $in: values }),
  ne: bound('$ne'),
  in: (values) => ({ $in: values }),
  nin: (values) => ({ $nin: values }),
  gt: bound('$gt'),
  gte: bound('$gte'),
  lt: bound('$lt'),
  lte: bound('$lte'),
  startsWith: ([value]) => ({ $gte: value, $lt: `${String(value)}${LAST_CHARACTER}` }),
  exists: ([wanted], kind) => (wanted === true ? presence(kind) : absence(kind)),
};

/** What a filter asks of the documents of a row. */
export function filterClause(row: Resource, filter: ResourceFilter): Clause {
  if (filter.field === 'externalRefs') return { refKeys: filter.values[0] };
  if (filter.field === 'externalRefs.system') return { 'externalRefs.system': filter.values[0] };
  if (filter.field.startsWith('customFields.'))
    return { [filter.field]: COMPARISONS[filter.operator](filter.values, 'string') };
  const kind = row.fields[filter.field]?.traits.kind ?? 'datetime';
  return { [filter.field]: COMPARISONS[filter.operator](filter.values, kind) };
}

const LEAST: Partial<Record<SortField['kind'], unknown>> = {
  integer: -Number.MAX_VALUE,
  datetime: new Date(-8_640_000_000_000_000),
};

/**
 * The rows behind a position, in order. In the midst of many rows of the very value those come first, by a query that
 * seeks to the id among them, and those beyond by one of their own. Elsewhere one query starts at the value, and of the
 * rows at it, a page at most, those up to the position are left out. Saying either with `$or` makes DocumentDB join two
 * index scans and sort everything behind the position.
 */
function keyset(field: string, value: unknown, { id, isTied }: Position, isRising: boolean): Clause[][] {
  const [beyond, from, seen] = isRising ? ['$gt', '$gte', '$lte'] : ['$lt', '$lte', '$gte'];
  return isTied
    ? [[{ [field]: value }, { _id: { [beyond]: id } }], [{ [field]: { [beyond]: value } }]]
    : [[{ [field]: { [from]: value } }, { $nor: [{ [field]: value, _id: { [seen]: id } }] }]];
}

/**
 * The rows of each value by themselves, as values such as priorities have an order that no index knows. A query a value
 * is also the exact place in the index to go on from.
 */
function byChoice(choices: readonly (string | null)[], { orderBy, direction, after }: PageRequest): Clause[][] {
  const values = direction === 'asc' ? choices : choices.toReversed();
  const rowsOf = (value: string | null): Clause => ({ [orderBy]: value ?? NOT_SET });
  if (!after) return values.map((value) => [rowsOf(value)]);
  const beyond = { _id: { [direction === 'asc' ? '$gt' : '$lt']: after.id } };
  return values
    .slice(values.indexOf(after.value as string | null))
    .map((value) => (value === after.value ? [rowsOf(value), beyond] : [rowsOf(value)]));
}

/**
 * What is still to be read, in order. No range holds both values and nulls, so a sort field that can be null has its
 * nulls read by a query of their own: first when rising, last when falling.
 */
function segments(sort: SortField, { orderBy, direction, after }: PageRequest): Clause[][] {
  if (!after) return [[]];
  const isRising = direction === 'asc';
  if (after.value === null) {
    const nulls = [{ [orderBy]: NOT_SET }, { _id: { [isRising ? '$gt' : '$lt']: after.id } }];
    return isRising ? [nulls, [{ [orderBy]: { $gte: LEAST[sort.kind] ?? '' } }]] : [nulls];
  }
  const rest = keyset(orderBy, moment(sort.kind, after.value), after, isRising);
  return sort.isNullable && !isRising ? [...rest, [{ [orderBy]: NOT_SET }]] : rest;
}

/** How a list is walked: its index, and the field that orders it there. */
interface Walk {
  hint: string;
  orderedBy: string;
}

function walkOf(row: Resource, { orderBy, filters }: Pick<PageRequest, 'orderBy' | 'filters'>): Walk {
  const single = new Set(
    filters.filter(({ operator, values }) => operator === 'eq' && values.length === 1).map(({ field }) => field),
  );
  // At most one record has an external reference: nothing beats going straight to it.
  if (single.has('externalRefs')) return { hint: EXTERNAL_REFS_INDEX, orderedBy: orderBy };
  // A number is given once in a tenant, and one record is in any order.
  const counted = [...single].find((name) => row.fields[name]?.traits.countsFrom);
  if (counted) return { hint: listIndex(counted), orderedBy: counted };
  const filter = ordersWithin(row).includes(orderBy) ? row.lists.find((name) => single.has(name)) : undefined;
  return { hint: listIndex(orderBy, filter), orderedBy: orderBy };
}

/** Where a list is read: a resource inside a tenant. */
interface ListPlace {
  row: Resource;
  tenantId: string;
  only?: readonly ResourceFilter[];
}

type Matched = Pick<PageRequest, 'filters' | 'deletedAfter'>;

/** What every record of a list fulfils. */
function matching({ row, tenantId }: ListPlace, { filters, deletedAfter }: Matched, more: Clause[] = []): Clause {
  const clauses = [...filters.map((filter) => filterClause(row, filter)), ...more];
  // Said by what is left out: a choice between "not deleted" and "deleted lately" would take two index scans.
  const alive = deletedAfter ? { $nor: [{ deletedAt: { $lte: deletedAfter } }] } : { deletedAt: null };
  return { tenantId, ...alive, ...(clauses.length > 0 ? { $and: clauses } : {}) };
}

/** One of the queries behind a page, as the driver takes it. */
interface PageQuery {
  filter: Clause;
  options: mongo.FindOptions & { limit: number };
}

/** The queries that answer a page, in order; the next one is needed only where those before run dry. */
export function pageQueries(place: ListPlace, asked: PageRequest): PageQuery[] {
  const page = { ...asked, filters: [...(place.only ?? []), ...asked.filters] };
  const { row } = place;
  const sort = sortFields(row).get(page.orderBy);
  if (!sort) throw new Error(`${row.key} has no index on ${page.orderBy}`);
  const step = page.direction === 'asc' ? 1 : -1;
  const choices = choicesOf(row, page.orderBy);
  const parts = choices ? byChoice(sort.isNullable ? [null, ...choices] : choices, page) : segments(sort, page);
  const { hint, orderedBy } = walkOf(row, page);
  // Whole documents: to leave the outbox out, which is nearly always empty, costs a fourteenth of a page's time.
  const options: PageQuery['options'] = {
    sort: { [orderedBy]: step, _id: step },
    limit: page.limit,
    hint,
    maxTimeMS: READ_MS_MAX,
  };
  return parts.map((segment) => ({ filter: matching(place, page, segment), options }));
}

/** Without Mongoose, whose reading of conditions and settings takes a twentieth of a page's time. */
export const openQuery = (store: Store, row: Resource, { filter, options }: PageQuery) =>
  documentsOf(store, row).collection.find<ResourceDocument>(filter as never, options);

export const toListed = (row: Resource, document: ResourceDocument): ListedRecord => ({
  record: toRecord(row, document),
  deletedAt: document.deletedAt?.toISOString() ?? null,
});

/** The records of one page. Ask for one more than you show to learn whether there is another page. */
export async function listResources(store: Store, place: ListPlace, page: PageRequest): Promise<ListedRecord[]> {
  const found: ResourceDocument[] = [];
  for (const { filter, options } of pageQueries(place, page)) {
    const limit = page.limit - found.length;
    if (limit === 0) break;
    found.push(...(await openQuery(store, place.row, { filter, options: { ...options, limit } }).toArray()));
  }
  return found.map((document) => toListed(place.row, document));
}

type CountRequest = Pick<PageRequest, 'filters' | 'limit'>;

/** The query behind a count: it walks the index that the list would use, and stops at the limit. */
export function countQuery(store: Store, place: ListPlace, { filters: asked, limit }: CountRequest) {
  const filters = [...(place.only ?? []), ...asked];
  return documentsOf(store, place.row)
    .aggregate<{ count: number }>([
      { $match: matching(place, { filters, deletedAfter: null }) },
      { $limit: limit },
      { $count: 'count' },
    ])
    .option({ hint: walkOf(place.row, { filters, orderBy: 'createdAt' }).hint, maxTimeMS: READ_MS_MAX });
}

/** How many records fulfil the filters; counting ends at `limit`. */
export async function countResources(store: Store, place: ListPlace, request: CountRequest): Promise<number> {
  const [found] = await countQuery(store, place, request).exec();
  return found?.count ?? 0;
}
