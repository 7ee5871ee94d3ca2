/** The record that a tenant has once: read before it exists, made by its first change. */
import type { ProductRoute } from '../../contracts/operations/products';
import { Problem, problem, type Finding, type ProblemCode } from '../../contracts/problem';
import { recordTag } from '../../domain/etag';
import { derivedId } from '../../domain/ids';
import type { AnyRecord, Resource } from '../../resources/resource';
import { findCurrent, type Place } from '../../store/resources';
import { checkPrecondition, placeOf, type ProductCall, type ProductReply } from './call';
import { defaultsOf } from './changes';
import { createRecord, updateRecord } from './writes';
import { shown } from './writing';

const FIRST_VERSION = 0;
/** The record may be made or deleted by others between look and write this often. */
const ATTEMPTS_MAX = 8;

/** What the tag of the defaults is of; a tenant's own, so that no tag is true of two tenants. */
const unsetOf = ({ row, tenantId }: Place): { id: string; version: number } => ({
  id: derivedId(row.prefix, row.key, tenantId),
  version: FIRST_VERSION,
});

/** What holds while nothing was set. */
const defaults = (row: Resource): Record<string, unknown> => ({
  id: null,
  version: FIRST_VERSION,
  ...defaultsOf(row),
  externalRefs: [],
  customFields: {},
  createdAt: null,
  updatedAt: null,
  createdBy: null,
  deletedAt: null,
});

/** The record, or the defaults; a read makes nothing. */
export async function getCurrent(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const place = placeOf(route, call);
  const stored = await findCurrent(call.context.store, place);
  if (stored) return shown(200, stored);
  const { id, version } = unsetOf(place);
  return { status: 200, body: defaults(place.row), etag: recordTag(id, version) };
}

/** The first change must bring what a record cannot be without. */
function checkComplete({ fields, nouns }: Resource, body: Record<string, unknown>): void {
  const message = `is required by the first change: there is no ${nouns[0]} yet`;
  const findings: Finding[] = Object.entries(fields)
    .filter(([name, { traits }]) => traits.isRequired && body[name] === undefined)
    .map(([name]) => ({ path: `/${name}`, code: 'required', message }));
  const [first] = findings;
  if (first) throw problem('validation_error', { message: `${first.path} ${message}`, findings });
}

async function makeCurrent(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  const place = placeOf(route, call);
  checkPrecondition(call, unsetOf(place) as AnyRecord);
  checkComplete(place.row, call.body);
  const { body, etag } = await createRecord(route, call);
  return { status: 200, body, ...(etag === undefined ? {} : { etag }) };
}

/** Changes the record, or makes it. Of two first changes at the same time one makes it and the other changes it. */
export async function updateCurrent(route: ProductRoute, call: ProductCall): Promise<ProductReply> {
  for (let tries = 1; ; tries += 1) {
    const stored = await findCurrent(call.context.store, placeOf(route, call));
    const lost: ProblemCode = stored ? 'not_found' : 'conflict';
    try {
      return stored
        ? await updateRecord(route, { ...call, params: { id: stored.id } })
        : await makeCurrent(route, call);
    } catch (error) {
      const isLost = error instanceof Problem && error.code === lost;
      if (!isLost || tries >= ATTEMPTS_MAX) throw error;
    }
  }
}
