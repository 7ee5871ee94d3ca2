/** Every route of the product APIs, generated from the registry: list, create, get, patch, delete and batch per row. */
import type { Operation } from '../operation';
import { ItemsPage, Limit } from '../page';
import type { Access, Permission, ProductScope } from '../principal';
import { Closed, Enum, Id, Type, type TSchema } from '../schema';
import { filterParameters, parameterSchema, sortFields } from '../../resources/filters';
import { pascalCase, sentenceCase } from '../../resources/names';
import { RESOURCES } from '../../resources/registry';
import type { Product, Resource } from '../../resources/resource';
import { schemasOf } from '../../resources/schemas';

export const BATCH_MAX = 100;
export const FILTERS_MAX = 10;

export type ProductAction = 'list' | 'create' | 'get' | 'update' | 'delete' | 'batchGet';

/** An operation and what it does to which resource; the service binds one generic handler per action. */
export interface ProductRoute {
  action: ProductAction;
  resource: Resource;
  operation: Operation;
}

const SCOPES: Record<Product, ProductScope> = {
  psa: 'PSA', crm: 'CRM', books: 'Books', rmm: 'RMM', security: 'Security', defend: 'Defend', backups: 'Backups',
  voice: 'Voice', portal: 'Portal', console: 'Console',
};

const byId = Closed({ id: Id() });

const filterQuery = (row: Resource): Record<string, TSchema> =>
  Object.fromEntries(filterParameters(row).map((parameter) => [parameter.name, Type.Optional(parameterSchema(parameter))]));

const listQuery = (row: Resource): TSchema =>
  Closed({
    limit: Limit,
    continuationToken: Type.Optional(Type.String({ minLength: 1, maxLength: 4_000, description: '`continuationToken` of the page before' })),
    orderBy: Type.Optional(Enum([...sortFields(row).keys()], { description: '`createdAt` unless named' })),
    orderDirection: Type.Optional(Enum(['asc', 'desc'], { description: '`desc` unless named' })),
    ...filterQuery(row),
  });

const batchBody = Closed(
  { ids: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: BATCH_MAX }) },
  { $id: 'BatchGet' },
);

/** What every operation of one row under one product has in common. */
interface Place {
  row: Resource;
  product: Product;
  one: string;
  many: string;
  base: Pick<Operation, 'service' | 'tag'>;
  path: string;
  access: (permission: Permission) => Access;
  /** A shared resource is named plainly by its first product only; operation ids stay unique over all services. */
  id: (verb: ProductAction) => string;
}

function placeOf(row: Resource, product: Product): Place {
  const [one, many] = row.nouns;
  const family = product === row.products[0] ? '' : pascalCase(product);
  return {
    row, product, one, many,
    base: { service: product, tag: sentenceCase(many) },
    path: `/api/${row.path}`,
    access: (permission) => ({ kind: 'product', scopes: [SCOPES[product]], permission }),
    id: (verb) => `${verb}${family}${verb === 'list' || verb === 'batchGet' ? row.typeNames : row.typeName}`,
  };
}

const article = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;

const reads = ({ row, base, path, access, id, one, many }: Place): Record<'list' | 'get' | 'batchGet', Operation> => ({
  list: {
    ...base, id: id('list'), method: 'GET', path,
    summary: `List ${many}`,
    description: `At most ${FILTERS_MAX} filters. \`If-None-Match\` answers 304 while the page is unchanged; a 304 is not counted.`,
    access: access('products:read'), query: listQuery(row),
    responses: { 200: ItemsPage(schemasOf(row).record) }, errors: ['invalid_cursor'],
  },
  get: {
    ...base, id: id('get'), method: 'GET', path: `${path}/:id`,
    summary: `Read one ${one}`,
    access: access('products:read'), params: byId,
    responses: { 200: schemasOf(row).record }, errors: ['not_found'],
  },
  batchGet: {
    ...base, id: id('batchGet'), method: 'POST', path: `${path}/batch`,
    summary: `Read up to ${BATCH_MAX} ${many} by id`,
    description: 'Answers in the order asked for, each id once. Ids that do not exist are in `missing`. Counted as one request.',
    access: access('products:read'), body: batchBody,
    examples: { two: { ids: [`${row.prefix}_01KAJ5Q3Z8M4T7V9X2B6C1D0EF`, `${row.prefix}_01KAJ5Q3Z8M4T7V9X2B6C1D0EG`] } },
    responses: { 200: Type.Object({ items: Type.Array(schemasOf(row).record), missing: Type.Array(Type.String()) }) },
  },
});

const writes = ({ row, base, path, access, id, one }: Place): Record<'create' | 'update' | 'delete', Operation> => ({
  create: {
    ...base, id: id('create'), method: 'POST', path,
    summary: `Create ${article(one)}`,
    access: access('products:write'), body: schemasOf(row).create, examples: { [row.singular]: row.examples.create },
    responses: { 201: schemasOf(row).record }, errors: ['conflict'],
  },
  update: {
    ...base, id: id('update'), method: 'PATCH', path: `${path}/:id`,
    summary: `Change ${article(one)}; only the fields sent are changed`,
    description: '`null` clears an optional field. With `If-Match` the change is made only to the version that was read.',
    access: access('products:write'), params: byId, body: schemasOf(row).patch, examples: { change: row.examples.update },
    responses: { 200: schemasOf(row).record }, errors: ['not_found', 'conflict', 'version_conflict'],
  },
  delete: {
    ...base, id: id('delete'), method: 'DELETE', path: `${path}/:id`,
    summary: `Delete ${article(one)}`,
    access: access('products:delete'), params: byId,
    responses: { 204: null }, errors: ['not_found', 'conflict', 'version_conflict'],
  },
});

/** The routes of one row under one of its products. */
export function routesOf(row: Resource, product: Product): ProductRoute[] {
  const place = placeOf(row, product);
  const { list, get, batchGet } = reads(place);
  const { create, update, delete: remove } = writes(place);
  return Object.entries({ list, create, get, update, delete: remove, batchGet }).map(([action, operation]) => ({
    action: action as ProductAction, resource: row, operation,
  }));
}

/** Every route of the registry with its resource. */
export const productRoutes: readonly ProductRoute[] = RESOURCES.flatMap((row) => row.products.flatMap((product) => routesOf(row, product)));

/** The product operations, for the documents, the client and the mount. */
export const productOperations: Operation[] = productRoutes.map(({ operation }) => operation);
