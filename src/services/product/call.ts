/** What the generic handlers are given and answer, whatever the resource. */
import type { Context } from '../../context';
import type { ProductRoute } from '../../contracts/operations/products';
import type { Principal } from '../../contracts/principal';
import { problem, type Problem } from '../../contracts/problem';
import { matchesTag, recordTag, weakTag } from '../../domain/etag';
import type { AnyRecord, Resource } from '../../resources/resource';
import { findResource, type Place } from '../../store/resources';

/** A call of any product operation, validated against the schemas of its row. */
export interface ProductCall {
  params: { id: string; noteId?: string };
  query: Record<string, unknown>;
  body: Record<string, unknown>;
  principal: Principal;
  context: Context;
  newId: (prefix: string) => string;
  isRepeat: boolean;
  /** The tenant’s epoch as the request found it. */
  epoch: number | null;
  /** Where a portal token reads and writes; set by `withPortal` alone. */
  place?: Place;
  /** The record that a parent's path names; set by `withParent` alone. */
  parentId?: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** What a generic handler answers. */
export interface ProductReply {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  etag?: string;
}

export type ProductHandler = (route: ProductRoute, call: ProductCall) => Promise<ProductReply>;

/** The tenant is the caller's, always: no parameter can name another. */
export function placeOf({ resource: row }: ProductRoute, { principal, place }: ProductCall): Place {
  if (place) return place;
  // A handler that is not behind `withPortal` would show a portal token the whole tenant.
  if (principal.kind === 'portal') throw problem('portal_not_allowed');
  return { row, tenantId: principal.orgId };
}

/** Said alike of what never was, what is gone and what belongs to another tenant. */
export const noSuchRecord = ({ nouns }: Resource): Problem => problem('not_found', { message: `No such ${nouns[0]}.` });

/** The record the path names. Another tenant's record is answered exactly like one that never was. */
export async function requireRecord(place: Place, call: ProductCall): Promise<AnyRecord> {
  const record = await findResource(call.context.store, place, call.params.id);
  if (!record) throw noSuchRecord(place.row);
  return record;
}

/** Refuses when `If-Match` names another version than the record has now. */
export function checkPrecondition({ headers }: ProductCall, record: AnyRecord): void {
  const tag = recordTag(record.id, record.version);
  const wanted = headers['if-match'];
  if (wanted === undefined || matchesTag(wanted, tag)) return;
  const current = weakTag(tag);
  throw problem('version_conflict', {
    message: `The record is at version ${record.version}. Read it again, then repeat the change.`,
    facts: { etag: current, version: record.version },
    headers: { ETag: current },
  });
}
