/** The generic reads: list, get and batch. */
import type { ProductRoute } from '../../contracts/operations/products';
import { problem } from '../../contracts/problem';
import { recordTag, stateTag } from '../../domain/etag';
import type { Position } from '../../domain/sealed-token';
import type { AnyRecord } from '../../resources/resource';
import { findResources, listResources } from '../../store/resources';
import { placeOf, requireRecord, type ProductCall, type ProductReply } from './call';
import { readListQuery, type ListQuery } from './list-query';

/** A token opens only in the tenant, at the address and with the filters and the order it was made for. */
const boundTo = ({ operation }: ProductRoute, { principal }: ProductCall, query: ListQuery): unknown => [
  principal.orgId,
  operation.service,
  operation.path,
  query.filters,
  query.orderBy,
  query.direction,
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

const positionOf = (record: AnyRecord, orderBy: string): Position => ({
  value: (record[orderBy] ?? null) as Position['value'],
  id: record.id,
});

/** One page. Its tag is made of ids and versions, so that an unchanged page costs no serialisation. */
export async function listRecords(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const { store, sealer, clock } = call.context;
  const query = readListQuery(route.resource, call.query);
  const after = openToken(route, call, query);
  const found = await listResources(store, placeOf(route, call), { ...query, after, limit: query.limit + 1 });
  const items = found.slice(0, query.limit);
  const last = items.at(-1);
  const hasMore = found.length > items.length;
  const continuationToken =
    hasMore && last ? sealer.seal(positionOf(last, query.orderBy), boundTo(route, call, query), clock.now()) : null;
  const versions = items.map((item) => recordTag(item.id, item.version));
  return {
    status: 200,
    body: { items, continuationToken, hasMore, limit: query.limit },
    // The token is left out: it is sealed anew each time and follows from the last row and `hasMore`.
    etag: stateTag(route.operation.id, versions, hasMore, query.limit),
  };
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
