/** Whose records a portal token reaches: the client's, decided here and applied by the store. */
import type { PortalPrincipal } from '../../contracts/principal';
import { problem } from '../../contracts/problem';
import type { PortalReach } from '../../resources/portal-reach';
import { resourceOf } from '../../resources/registry';
import type { Resource } from '../../resources/resource';
import type { Store } from '../../store/collection';
import { idsOf, type Place, type ResourceFilter } from '../../store/resources';

/** Records that others are reached through, such as a client's invoices for its payments; the newest ones. */
const THROUGH_MAX = 10_000;

/** The reach of a row, where it has any; the guard has let nothing else through. */
export function reachOf({ portal }: Resource): PortalReach {
  if (!portal) throw problem('portal_not_allowed');
  return portal;
}

const hidden = ({ hides }: PortalReach): ResourceFilter[] =>
  hides ? [{ field: hides.field, operator: 'nin', values: [...hides.values] }] : [];

/** What every read and write of the row is narrowed to. */
async function onlyOwn(store: Store, row: Resource, principal: PortalPrincipal): Promise<ResourceFilter[]> {
  const reach = reachOf(row);
  const { belongs } = reach;
  // The parent is looked for in the caller's own place before anything of it is.
  if (belongs === 'everybody' || belongs === 'parent') return hidden(reach);
  if (belongs === 'companyId') {
    return [{ field: 'companyId', operator: 'eq', values: [principal.companyId] }, ...hidden(reach)];
  }
  const target = resourceOf(row.fields[belongs.through]?.traits.target ?? '');
  const only = await onlyOwn(store, target, principal);
  const ids = await idsOf(store, { row: target, tenantId: principal.orgId, only }, THROUGH_MAX);
  return [{ field: belongs.through, operator: 'in', values: ids }, ...hidden(reach)];
}

/** Where a portal token reads and writes: the tenant, narrowed to the client, and references narrowed alike. */
export async function portalPlace(store: Store, row: Resource, principal: PortalPrincipal): Promise<Required<Place>> {
  const company = [principal.companyId];
  return {
    row,
    tenantId: principal.orgId,
    only: await onlyOwn(store, row, principal),
    refersTo: (target) => (target.fields['companyId'] ? [{ field: 'companyId', operator: 'eq', values: company }] : []),
  };
}
