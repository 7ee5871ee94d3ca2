/** A page of a list: opened by a continuation token, cut, and closed with the token of the next one. */
import { pageSize } from '../contracts/page';
import { problem } from '../contracts/problem';
import type { Position, TokenSealer } from './sealed-token';

/** What a request says about the page it wants. */
interface Wanted {
  limit?: number | undefined;
  continuationToken?: string | undefined;
  /** How old the token may be; a week unless named. */
  lifetimeMs?: number;
  /** What is said of a token that does not open here. */
  refusal?: string;
}

/** What was found, cut to the page, and the envelope that is shown around it. */
interface Cut<Row> {
  rows: Row[];
  continuationToken: string | null;
  hasMore: boolean;
  limit: number;
}

export interface ListPage {
  /** Where the page before ended; null for the first page. */
  after: Position | null;
  limit: number;
  /** One row more than is shown, which tells whether there are more. */
  readMax: number;
  now: Date;
  /** Seals a position for exactly this list. */
  seal(position: Position): string;
  /** Cuts at most `readMax` rows to the page; `positionOf` says where a row stands in the list. */
  cut<Row>(found: readonly Row[], positionOf: (row: Row) => Position): Cut<Row>;
}

/** Opens a page, or refuses a token that was not made for the list that `bound` names, filters and all. */
export function openPage(
  { sealer, clock }: { sealer: TokenSealer; clock: { now(): Date } },
  { limit: asked, continuationToken: token, lifetimeMs, refusal }: Wanted,
  bound: unknown,
): ListPage {
  const now = clock.now();
  const limit = pageSize(asked);
  const after = token === undefined ? null : sealer.open(token, bound, now, lifetimeMs);
  if (token !== undefined && !after) throw problem('invalid_cursor', refusal === undefined ? {} : { message: refusal });
  const seal = (position: Position): string => sealer.seal(position, bound, now);
  return {
    after,
    limit,
    readMax: limit + 1,
    now,
    seal,
    cut(found, positionOf) {
      const rows = found.slice(0, limit);
      const [first, last, next] = [rows[0], rows.at(-1), found[limit]];
      if (first === undefined || last === undefined || next === undefined)
        return { rows, continuationToken: null, hasMore: false, limit };
      const position = positionOf(last);
      const isTied = [first, next].every((row) => positionOf(row).value === position.value);
      return {
        rows,
        continuationToken: seal(isTied ? { ...position, isTied } : position),
        hasMore: true,
        limit,
      };
    },
  };
}
