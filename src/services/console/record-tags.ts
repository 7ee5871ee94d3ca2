/** Entity tags of records that are shown with figures: a read has the figures in its tag, `If-Match` asks about the record alone. */
import type { Call, Operation } from '../../contracts/operation';
import type { Context } from '../../context';
import { problem } from '../../contracts/problem';
import { matchesTag, recordTag, stateTag, weakTag } from '../../domain/etag';

interface Versioned {
  _id: string;
  version: number;
}

/** Request headers by lower-case name. */
export type Headers = Call<Operation, Context>['headers'];

const FIGURES = /\.u[A-Za-z0-9_-]+(?="|$|,)/g;

/** The tag of a change: it says which version there is now. */
export const tagOf = ({ _id, version }: Versioned): string => recordTag(_id, version);

/**
 * What goes with a reply that shows a secret: the record's address, and its tag as a bare header, because one that can be
 * cached would be stored.
 */
export const issuedHeaders = (list: string, record: Versioned) => ({
  ETag: weakTag(tagOf(record)),
  Location: `${list}/${record._id}`,
});

/** The tag of a read: another one as soon as any of the figures is. */
export const readTagOf = (record: Versioned, ...figures: unknown[]): string =>
  `${tagOf(record)}.u${stateTag(...figures)}`;

const asksFor = (expected: string | string[] | undefined, tag: string): boolean =>
  expected === undefined || matchesTag(String(expected).replace(FIGURES, ''), tag);

/** Refuses a change that was meant for another version than there is; without `If-Match` it is meant for any. */
export function requireMatch(headers: Headers, record: Versioned): void {
  const current = weakTag(tagOf(record));
  if (asksFor(headers['if-match'], current)) return;
  throw problem('version_conflict', { facts: { etag: current }, headers: { ETag: current } });
}

/** True when a change may have been meant for the version before, as that of a run that nobody answered was. */
export const mayFollow = (headers: Headers, { _id, version }: Versioned): boolean =>
  asksFor(headers['if-match'], weakTag(tagOf({ _id, version: version - 1 })));
