/** Both list envelopes of the interface, and the rule for `limit`. */
import { Nullable, Type, type TSchema } from './schema';

export const PAGE_DEFAULT = 50;
export const PAGE_MAX = 200;

/** `limit`: 1 and up, no declared maximum because a larger value is coerced to 200 and echoed. */
export const Limit = Type.Optional(
  Type.Integer({ minimum: 1, default: PAGE_DEFAULT, description: 'Rows per page; more than 200 is answered with 200' }),
);

/** Product and mail lists: `{items, continuationToken, hasMore, limit}`. */
export const ItemsPage = (item: TSchema) =>
  Type.Object({
    items: Type.Array(item),
    continuationToken: Nullable(Type.String()),
    hasMore: Type.Boolean(),
    limit: Type.Integer(),
  });

/** The page size in force: the request's, at most 200. */
export const pageSize = (limit: number | undefined): number => Math.min(limit ?? PAGE_DEFAULT, PAGE_MAX);
