/** The generic reads: list, count, get and batch. */
import { COUNT_MAX, type ProductRoute } from '../../contracts/operations/products';
import { problem } from '../../contracts/problem';
import { recordTag, stateTag } from '../../domain/etag';
import { openPage } from '../../domain/list-page';
import type { Position } from '../../domain/sealed-token';
import { goneUpTo } from '../../domain/tombstones';
import type { AnyRecord } from '../../resources/resource';
import { isStoreBusy } from '../../store/outages';
import { countResources, findResources, listResources, type ListedRecord } from '../../store/resources';
import { placeOf, requireRecord, type ProductCall, type ProductReply } from './call';
import { readFilters, readListQuery, type ListQuery } from './list-query';

/** A token opens only in the tenant, at the address and with the filters and the order it was made for. */
const boundTo = ({ operation }: ProductRoute, { principal, parentId }: ProductCall, query: ListQuery): unknown => [
  principal.orgId,
  operation.service,
  operation.path,
  query.filters,
  query.orderBy,
  query.direction,
  query.includeDeleted,
  // Nor below another record.
  ...(parentId === undefined ? [] : [parentId]),
  // A client's token opens at no other client of the tenant.
  ...(principal.kind === 'portal' ? [principal.companyId] : []),
];

const TOKEN_REFUSAL =
  'The continuation token does not belong to this list: keep its filters and its order, or begin without a token.';

/** A list that looks at more records than two seconds allow is refused with what would help, when filters are the cause. */
const orTooSlow = <Found>(reading: Promise<Found>, filters: ListQuery['filters']): Promise<Found> =>
  reading.catch((error: unknown) => {
    if (filters.length === 0 || !isStoreBusy(error)) throw error;
    throw problem('query_too_slow', { cause: error, facts: { filters: filters.map(({ field }) => field) } });
  });

const positionOf = (record: AnyRecord, orderBy: string): Position => ({
  value: (record[orderBy] ?? null) as Position['value'],
  id: record.id,
});

/** A deleted record shows that it is deleted, and nothing of what it held. */
function item({ record, deletedAt }: ListedRecord): unknown {
  if (deletedAt === null) return record;
  const { id, version, updatedAt } = record;
  return { id, version, updatedAt, deletedAt };
}

/** One page. Its tag is made of ids and versions, so that an unchanged page costs no serialisation. */
export async function listRecords(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const query = readListQuery(route.resource, call.query);
  const page = openPage(call.context, { ...query, refusal: TOKEN_REFUSAL }, boundTo(route, call, query));
  const { after, readMax, now } = page;
  const list = { ...query, after, limit: readMax, deletedAfter: query.includeDeleted ? goneUpTo(now) : null };
  const reading = listResources(call.context.store, placeOf(route, call), list);
  const found = await orTooSlow(reading, query.filters);
  const { rows, ...envelope } = page.cut(found, ({ record }) => positionOf(record, query.orderBy));
  const versions = rows.map(({ record }) => recordTag(record.id, record.version));
  return {
    status: 200,
    body: { items: rows.map(item), ...envelope },
    // The token is left out: it is sealed anew each time and follows from the last row and `hasMore`.
    etag: stateTag(route.operation.id, versions, envelope.hasMore, envelope.limit),
  };
}

/** How many records a list would show, as far as that is cheap to tell. */
export async function countRecords(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const filters = readFilters(route.resource, call.query);
  const place = placeOf(route, call);
  const counting = countResources(call.context.store, place, { filters, limit: COUNT_MAX + 1 });
  const found = await orTooSlow(counting, filters);
  const body = { count: Math.min(found, COUNT_MAX), capped: found > COUNT_MAX };
  return { status: 200, body, etag: stateTag(route.operation.id, body) };
}

/** One record with its version as entity tag. */
export async function getRecord(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const record = await requireRecord(placeOf(route, call), call);
  return { status: 200, body: record, etag: recordTag(record.id, record.version) };
}

/** Several records by id: each once, in the order asked for, and the ids that the tenant does not have. */
export async function batchGetRecords(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const ids = [...new Set(call.body['ids'] as string[])];
  const found = await findResources(call.context.store, placeOf(route, call), ids);
  const byId = new Map(found.map((record) => [record.id, record]));
  const items = ids.flatMap((id) => byId.get(id) ?? []);
  return { status: 200, body: { items, missing: ids.filter((id) => !byId.has(id)) } };
}
