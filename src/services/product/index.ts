/** Binds every route of the registry to the generic handler of its action. */
import { productOperations, productRoutes, type ProductAction } from '../../contracts/operations/products';
import type { Bound } from '../../http/mount';
import type { ProductHandler } from './call';
import { getCurrent, updateCurrent } from './current';
import { withParent } from './parent';
import { withPortal } from './portal-reach';
import { batchGetRecords, countRecords, getRecord, listRecords } from './reads';
import { restoreRecord } from './restore';
import { actOnRecord, createRecord, deleteRecord, updateRecord } from './writes';

const HANDLERS: Record<ProductAction, ProductHandler> = {
  list: listRecords,
  count: countRecords,
  create: createRecord,
  get: getRecord,
  update: updateRecord,
  delete: deleteRecord,
  restore: restoreRecord,
  batchGet: batchGetRecords,
  act: actOnRecord,
  getCurrent,
  updateCurrent,
};

/** The product operations with their handlers, for the router of each product. */
export function productBound(): Bound {
  const handlers = productRoutes.map((route) => {
    const handle = withPortal(withParent(HANDLERS[route.action]));
    return [route.operation.id, (call: unknown) => handle(route, call as never)] as const;
  });
  // Input and output were tied to the row's schemas when the routes were generated; the table's static type is generic.
  return { operations: productOperations, handlers: Object.fromEntries(handlers) };
}
