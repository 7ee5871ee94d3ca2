/** The generic handlers as portal tokens see them: what may be asked is checked before, what is shown is chosen after. */
import type { PortalPrincipal } from '../../contracts/principal';
import { problem, refuseFindings, type Finding } from '../../contracts/problem';
import { nearest } from '../../domain/suggest';
import { filterParameters, sortFields } from '../../resources/filters';
import { PORTAL_BASE_FIELDS, PORTAL_COMMON_FILTERS, type PortalReach } from '../../resources/portal-reach';
import type { AnyRecord, Resource } from '../../resources/resource';
import { findResource, type Place } from '../../store/resources';
import type { ProductCall, ProductHandler, ProductReply } from './call';
import { portalPlace, reachOf } from './portal-scope';

const PAGE_PARAMETERS = ['limit', 'continuationToken', 'orderBy', 'orderDirection'];

/** A name that this caller does not know, whether or not others do. */
function unknownField(path: string, name: string, known: readonly string[]): Finding {
  const suggestion = nearest(name, known);
  const message = `unknown field ${name}; known fields: ${known.join(', ')}`;
  return { path, code: 'unknown_field', message, ...(suggestion ? { suggestion } : {}) };
}

function oneOf(path: string, given: unknown, allowed: readonly string[]): Finding {
  const suggestion = nearest(String(given), allowed);
  const message = `must be one of ${allowed.join(', ')}`;
  return { path, code: 'enum', message, ...(suggestion ? { suggestion } : {}) };
}

/** Refuses filters and orders that would tell what is not shown. */
function checkQuery(row: Resource, { shows }: PortalReach, query: Record<string, unknown>): void {
  const visible = new Set([...shows, ...PORTAL_COMMON_FILTERS]);
  const filters = filterParameters(row).filter(({ field }) => visible.has(field));
  const known = [...PAGE_PARAMETERS, ...filters.map(({ name }) => name)];
  const sortable = [...sortFields(row).keys()].filter((name) => visible.has(name));
  const findings = Object.keys(query)
    .filter((name) => query[name] !== undefined && !known.includes(name))
    .map((name) => unknownField(name, name, known));
  const { orderBy } = query;
  if (typeof orderBy === 'string' && !sortable.includes(orderBy)) findings.push(oneOf('orderBy', orderBy, sortable));
  refuseFindings(findings, 'query');
}

function checkBody(
  takes: Readonly<Record<string, 'any' | readonly string[]>>,
  body: Record<string, unknown>,
  principal: PortalPrincipal,
): void {
  const known = Object.keys(takes);
  const findings = Object.entries(body).flatMap(([name, value]): Finding[] => {
    const allowed = Object.hasOwn(takes, name) ? takes[name] : undefined;
    if (allowed === undefined) return [unknownField(`/${name}`, name, known)];
    if (name === 'companyId' && value !== principal.companyId) {
      return [{ path: '/companyId', code: 'ref', message: `no company ${String(value)} in this tenant` }];
    }
    return allowed === 'any' || allowed.includes(String(value)) ? [] : [oneOf(`/${name}`, value, allowed)];
  });
  refuseFindings(findings, 'body');
}

type Narrow = (
  row: Resource,
  call: ProductCall,
  principal: PortalPrincipal,
  place: Required<Place>,
) => object | Promise<object>;

const create: Narrow = (row, call, principal) => {
  const { create: rules, belongs } = reachOf(row);
  if (!rules) throw problem('portal_not_allowed');
  checkBody(rules.takes, call.body, principal);
  const company = belongs === 'companyId' ? { companyId: principal.companyId } : {};
  const body: Record<string, unknown> = { ...call.body, ...rules.sets, ...company };
  if (!rules.contact || body[rules.contact]) return { body };
  return { body: { ...body, [rules.contact]: principal.contactId } };
};

const update: Narrow = async (row, call, principal, place) => {
  const { update: rules } = reachOf(row);
  if (!rules) throw problem('portal_not_allowed');
  checkBody(rules.takes, call.body, principal);
  const own = rules.own === 'contact' ? principal.contactId : principal.id;
  if (!rules.own || call.params.id === own) return {};
  // Somebody else's record: at another client it does not exist, at the own one it is not theirs to change.
  const found = await findResource(call.context.store, place, call.params.id);
  if (!found) throw problem('not_found', { message: `No such ${row.nouns[0]}.` });
  throw problem('portal_not_allowed', { message: `Portal tokens change the caller's own ${row.nouns[0]} alone.` });
};

const list: Narrow = (row, { query }) => {
  checkQuery(row, reachOf(row), query);
  return {};
};

const nothing: Narrow = () => ({});

const NARROW: Partial<Record<string, Narrow>> = { list, count: list, create, update };

/** The fields that are shown, in the record's own order. */
function shownPart({ shows }: PortalReach, record: AnyRecord): Record<string, unknown> {
  const visible = new Set<string>([...PORTAL_BASE_FIELDS, ...shows]);
  return Object.fromEntries(Object.entries(record).filter(([name]) => visible.has(name)));
}

function shownReply(reach: PortalReach, reply: ProductReply): ProductReply {
  const body = reply.body as (AnyRecord & { items?: AnyRecord[] }) | undefined;
  if (body === undefined) return reply;
  const shown = Array.isArray(body.items)
    ? { ...body, items: body.items.map((item) => shownPart(reach, item)) }
    : shownPart(reach, body);
  return { ...reply, body: shown };
}

/** The same handler for everybody; what a portal token gets of it is narrowed to its client and to what is shown. */
export const withPortal =
  (handle: ProductHandler): ProductHandler =>
  async (route, call) => {
    const { principal } = call;
    if (principal.kind !== 'portal') return handle(route, call);
    const { resource: row, action } = route;
    const reach = reachOf(row);
    const place = await portalPlace(call.context.store, row, principal);
    const narrowed = await (NARROW[action] ?? nothing)(row, call, principal, place);
    const reply = await handle(route, { ...call, ...narrowed, place });
    return action === 'count' ? reply : shownReply(reach, reply);
  };
