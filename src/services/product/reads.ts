/** The generic reads: list, count, get and batch. */
import { COUNT_MAX, type ProductRoute } from '../../contracts/operations/products';
import { problem } from '../../contracts/problem';
import { recordTag, stateTag } from '../../domain/etag';
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

function openToken(route: ProductRoute, call: ProductCall, query: ListQuery): Position | null {
  if (query.token === null) return null;
  const { sealer, clock } = call.context;
  const position = sealer.open(query.token, boundTo(route, call, query), clock.now());
  if (position) return position;
  throw problem('invalid_cursor', {
    message:
      'The continuation token does not belong to this list: keep its filters and its order, or begin without a token.',
  });
}

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
  const { store, sealer, clock } = call.context;
  const query = readListQuery(route.resource, call.query);
  const after = openToken(route, call, query);
  const page = {
    ...query,
    after,
    limit: query.limit + 1,
    deletedAfter: query.includeDeleted ? goneUpTo(clock.now()) : null,
  };
  const found = await orTooSlow(listResources(store, placeOf(route, call), page), query.filters);
  const listed = found.slice(0, query.limit);
  const last = listed.at(-1)?.record;
  const hasMore = found.length > listed.length;
  const continuationToken =
    hasMore && last ? sealer.seal(positionOf(last, query.orderBy), boundTo(route, call, query), clock.now()) : null;
  const versions = listed.map(({ record }) => recordTag(record.id, record.version));
  return {
    status: 200,
    body: { items: listed.map(item), continuationToken, hasMore, limit: query.limit },
    // The token is left out: it is sealed anew each time and follows from the last row and `hasMore`.
    etag: stateTag(route.operation.id, versions, hasMore, query.limit),
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
