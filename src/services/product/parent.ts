/** The generic handlers below a parent: notes are reached through their record, and only while that is there. */
import { findResource, type Place, type ResourceFilter } from '../../store/resources';
import { noSuchRecord, placeOf, type ProductHandler } from './call';
import { portalPlace } from './portal-scope';

/**
 * The same handler for the records of one parent. The parent is looked for where the caller may look; what is gone, never
 * was or belongs to somebody else is answered alike.
 */
export const withParent =
  (handle: ProductHandler): ProductHandler =>
  async (route, call) => {
    const { resource: row, action } = route;
    const { parent } = row;
    if (!parent) return handle(route, call);
    const { context, principal, params } = call;
    const around: Place =
      principal.kind === 'portal'
        ? await portalPlace(context.store, parent.row, principal)
        : { row: parent.row, tenantId: principal.orgId };
    const found = await findResource(context.store, around, params.id);
    if (!found) throw noSuchRecord(parent.row);
    const own: ResourceFilter = { field: parent.field, operator: 'eq', values: [found.id] };
    const place = placeOf(route, call);
    const given = { [parent.field]: found.id, [parent.author]: principal.id };
    return handle(route, {
      ...call,
      params: { id: params.noteId ?? '' },
      parentId: found.id,
      place: { ...place, only: [...(place.only ?? []), own] },
      ...(action === 'create' ? { body: { ...call.body, ...given } } : {}),
    });
  };
