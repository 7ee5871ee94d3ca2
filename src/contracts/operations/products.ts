/** Every route of the product APIs, generated from the registry: list, count, create, get, patch, delete, restore and batch per row, and what its traits add. */
import type { Operation } from '../operation';
import { ItemsPage, Limit } from '../page';
import type { Access, Permission, PortalPermission, ProductScope } from '../principal';
import type { ProblemCode } from '../problem';
import { Closed, Enum, Id, Timestamp, Type, type TSchema } from '../schema';
import { customParameters } from '../../resources/custom-fields';
import { filterParameters, parameterSchema, sortFields } from '../../resources/filters';
import { pascalCase, sentenceCase } from '../../resources/names';
import { notesOf } from '../../resources/notes';
import { RESOURCES } from '../../resources/registry';
import type { Product, Resource } from '../../resources/resource';
import { actionSchema, schemasOf } from '../../resources/schemas';

export const BATCH_MAX = 100;
export const FILTERS_MAX = 10;
/** A count stops here: what clients ask is whether a list is long, not how long. */
export const COUNT_MAX = 10_000;

export type ProductAction =
  | 'list' | 'count' | 'create' | 'get' | 'update' | 'delete' | 'restore' | 'batchGet' | 'act' | 'getCurrent' | 'updateCurrent';

/** An operation and what it does to which resource; the service binds one generic handler per action. */
export interface ProductRoute {
  action: ProductAction;
  resource: Resource;
  operation: Operation;
  /** Name of the row's action, where it is one. */
  act?: string;
}

const SCOPES: Record<Product, ProductScope> = {
  psa: 'PSA', crm: 'CRM', books: 'Books', rmm: 'RMM', security: 'Security', defend: 'Defend', backups: 'Backups',
  voice: 'Voice', portal: 'Portal', console: 'Console',
};

const byId = Closed({ id: Id() });
const byNoteId = Closed({ id: Id(), noteId: Id() });

const filterQuery = (row: Resource): Record<string, TSchema> =>
  Object.fromEntries(filterParameters(row).map((parameter) => [parameter.name, Type.Optional(parameterSchema(parameter))]));

/** The parameters and every filter of the row; custom fields are known by their pattern. */
const filtered = (row: Resource, parameters: Record<string, TSchema> = {}): TSchema =>
  Closed({ ...parameters, ...filterQuery(row) }, { patternProperties: customParameters });

const listQuery = (row: Resource): TSchema =>
  filtered(row, {
    limit: Limit,
    continuationToken: Type.Optional(Type.String({ minLength: 1, maxLength: 4_000, description: '`continuationToken` of the page before' })),
    orderBy: Type.Optional(Enum([...sortFields(row).keys()], { description: '`createdAt` unless named. A field with fixed values goes by the order in which they are listed' })),
    orderDirection: Type.Optional(Enum(['asc', 'desc'], { description: '`desc` unless named' })),
    includeDeleted: Type.Optional(Type.Boolean({ description: 'Also lists what was deleted in the last 30 days, as `{id, version, updatedAt, deletedAt}`' })),
  });

/** What lists with `includeDeleted` show of a deleted record. */
const Tombstone = Type.Object(
  { id: Id(), version: Type.Integer({ minimum: 1 }), updatedAt: Timestamp(), deletedAt: Timestamp({ description: 'Only deleted records have it' }) },
  { $id: 'Tombstone' },
);

const Count = Type.Object(
  {
    count: Type.Integer({ minimum: 0, maximum: COUNT_MAX }),
    capped: Type.Boolean({ description: `True when there are more than ${COUNT_MAX}` }),
  },
  { $id: 'Count' },
);

const batchBody = Closed(
  { ids: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: BATCH_MAX }) },
  { $id: 'BatchGet' },
);

const MANY: ReadonlySet<string> = new Set(['list', 'count', 'batchGet']);

/** What every operation of one row under one product has in common. */
interface Place {
  row: Resource;
  product: Product;
  one: string;
  many: string;
  base: Pick<Operation, 'service' | 'tag'>;
  path: string;
  /** One record below the path, and what names it. */
  item: string;
  named: TSchema;
  /** What the paths of lists and creates name: the parent, where there is one. */
  within: Pick<Operation, 'params'>;
  /** What is answered of a record. */
  shown: TSchema;
  access: (permission: Permission) => Access;
  /** A shared resource is named plainly by its first product only; operation ids stay unique over all services. */
  id: (verb: string) => string;
}

function placeOf(row: Resource, product: Product): Place {
  const [one, many] = row.nouns;
  const family = product === row.products[0] ? '' : pascalCase(product);
  return {
    row, product, one, many,
    base: { service: product, tag: sentenceCase(many) },
    ...(row.parent
      ? { path: `/api/${row.parent.row.path}/:id/notes`, item: ':noteId', named: byNoteId, within: { params: byId } }
      : { path: `/api/${row.path}`, item: ':id', named: byId, within: {} }),
    shown: schemasOf(row).record,
    access: (permission) => ({ kind: 'product', scopes: [SCOPES[product]], permission }),
    id: (verb) => `${verb}${family}${MANY.has(verb) ? row.typeNames : row.typeName}`,
  };
}

/** A list or a create below a record that is not there is refused. */
const ifWithin = ({ parent }: Resource): ProblemCode[] => (parent ? ['not_found'] : []);

const article = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;

const reads = ({ row, base, path, item, named, within, access, id, one, many, shown }: Place): Record<'list' | 'count' | 'get' | 'batchGet', Operation> => ({
  list: {
    ...base, id: id('list'), method: 'GET', path,
    summary: `List ${many}`,
    description: `At most ${FILTERS_MAX} filters. \`If-None-Match\` answers 304 while the page is unchanged; a 304 is not counted.`,
    access: access('products:read'), ...within, query: listQuery(row),
    responses: { 200: ItemsPage(Type.Union([shown, Tombstone])) }, errors: [...ifWithin(row), 'invalid_cursor', 'query_too_slow'],
  },
  count: {
    ...base, id: id('count'), method: 'GET', path: `${path}/count`,
    summary: `Count ${many}`,
    description: `The filters of the list. Counts up to ${COUNT_MAX}; \`capped\` says that there are more.`,
    access: access('products:read'), query: filtered(row),
    responses: { 200: Count }, errors: ['query_too_slow'],
  },
  get: {
    ...base, id: id('get'), method: 'GET', path: `${path}/${item}`,
    summary: `Read one ${one}`,
    access: access('products:read'), params: named,
    responses: { 200: shown }, errors: ['not_found'],
  },
  batchGet: {
    ...base, id: id('batchGet'), method: 'POST', path: `${path}/batch`,
    summary: `Read up to ${BATCH_MAX} ${many} by id`,
    description: 'Answers in the order asked for, each id once. Ids that do not exist are in `missing`. Counted as one request.',
    access: access('products:read'), body: batchBody,
    examples: { two: { ids: [`${row.prefix}_01KAJ5Q3Z8M4T7V9X2B6C1D0EF`, `${row.prefix}_01KAJ5Q3Z8M4T7V9X2B6C1D0EG`] } },
    responses: { 200: Type.Object({ items: Type.Array(shown), missing: Type.Array(Type.String()) }) },
  },
});

const writes = ({ row, base, path, item, named, within, access, id, one, shown }: Place): Record<'create' | 'update' | 'delete' | 'restore', Operation> => ({
  create: {
    ...base, id: id('create'), method: 'POST', path,
    summary: `Create ${article(one)}`,
    access: access('products:write'), ...within, body: schemasOf(row).create, echoes: true, examples: { [row.singular]: row.examples.create },
    responses: { 201: shown }, errors: [...ifWithin(row), 'conflict'],
  },
  update: {
    ...base, id: id('update'), method: 'PATCH', path: `${path}/${item}`,
    summary: `Change ${article(one)}; only the fields sent are changed`,
    description: '`null` clears an optional field. With `If-Match` the change is made only to the version that was read.',
    access: access('products:write'), params: named, body: schemasOf(row).patch, echoes: true, examples: { change: row.examples.update },
    responses: { 200: shown }, errors: ['not_found', 'conflict', 'version_conflict'],
  },
  delete: {
    ...base, id: id('delete'), method: 'DELETE', path: `${path}/${item}`,
    summary: `Delete ${article(one)}`,
    description: row.parent ? 'It leaves every read at once, for good.' : 'It leaves every read at once and can be restored for 30 days.',
    access: access('products:delete'), params: named,
    responses: { 204: null }, errors: ['not_found', 'conflict', 'version_conflict'],
  },
  restore: {
    ...base, id: id('restore'), method: 'POST', path: `${path}/:id/restore`,
    summary: `Restore a deleted ${one}`,
    description: 'Within 30 days of the deletion. A record that is not deleted is answered as it is.',
    access: access('products:write'), params: byId,
    responses: { 200: schemasOf(row).record }, errors: ['not_found', 'conflict', 'version_conflict'],
  },
});

/** What a row declares beside the generic writes. */
const actions = ({ row, base, path, access, id, product }: Place): ProductRoute[] =>
  Object.entries(row.actions).map(([name, { verb, summary, description, takes, example }]) => ({
    action: 'act', act: name, resource: row,
    operation: {
      ...base, id: id(verb), method: 'POST', path: `${path}/:id/${name}`, summary, description,
      access: access('products:write'), params: byId,
      body: actionSchema(`${pascalCase(verb)}${pascalCase(product)}${row.typeName}`, takes), examples: { [name]: example },
      responses: { 200: schemasOf(row).record }, errors: ['not_found', 'conflict', 'version_conflict'],
    },
  }));

/** The addresses of a record that a tenant has once, whatever its id and before it has one. */
const current = ({ row, base, path, access, id, one }: Place): Record<'getCurrent' | 'updateCurrent', Operation> => ({
  getCurrent: {
    ...base, id: id('getCurrent'), method: 'GET', path: `${path}/current`,
    summary: `Read the ${one} in force`,
    description: 'While nothing was set the answer has the defaults, version 0 and no id; reading makes no record.',
    access: access('products:read'),
    responses: { 200: schemasOf(row).current },
  },
  updateCurrent: {
    ...base, id: id('updateCurrent'), method: 'PATCH', path: `${path}/current`,
    summary: `Change the ${one} in force; only the fields sent are changed`,
    description: 'The first change makes the record, so it must bring the required fields. With `If-Match` the change is made only to the version that was read, version 0 included.',
    access: access('products:write'), body: schemasOf(row).patch, echoes: true, examples: { first: row.examples.create, change: row.examples.update },
    responses: { 200: schemasOf(row).record }, errors: ['conflict', 'version_conflict'],
  },
});

/** Opens an operation to portal tokens where the row says so, and says what they see. */
function forPortal({ row, product }: Place, action: ProductAction, operation: Operation): Operation {
  const actions: Partial<Record<ProductAction, PortalPermission>> = row.portal?.actions ?? {};
  const portal = product === row.products[0] ? actions[action] : undefined;
  if (!row.portal || !portal) return operation;
  const fields = row.portal.shows.map((name) => `\`${name}\``).join(', ');
  const hides = row.portal.hides ? `; records whose \`${row.portal.hides.field}\` is ${row.portal.hides.values.join(' or ')} do not exist for it` : '';
  const seen = `A portal token sees its own client's records and of them ${fields}${hides}.`;
  const own = action === 'create' && row.portal.belongs === 'companyId' ? { ownCompany: 'companyId' } : {};
  const { unlessOff } = (action === 'create' && row.portal.create) || {};
  const off = unlessOff ? `Refused for portal tokens while the portal setting \`${unlessOff}\` is off.` : '';
  return { ...operation, ...own, portal, description: [operation.description, seen, off].filter(Boolean).join('\n\n') };
}

/** What is served of a record's notes; one that was deleted does not come back. */
function noteRoutes(row: Resource, product: Product): ProductRoute[] {
  const notes = notesOf(row);
  if (!notes) return [];
  const place = placeOf(notes, product);
  const { list, get } = reads(place);
  const { create, update, delete: remove } = writes(place);
  return Object.entries({ list, create, get, update, delete: remove }).map(([action, operation]) => ({
    action: action as ProductAction, resource: notes, operation: forPortal(place, action as ProductAction, operation),
  }));
}

/** The routes of one row under one of its products. */
export function routesOf(row: Resource, product: Product): ProductRoute[] {
  const place = placeOf(row, product);
  const { list, count, get, batchGet } = reads(place);
  const { create, update, delete: remove, restore } = writes(place);
  const operations = { list, count, create, get, update, delete: remove, restore, batchGet, ...(row.isSingleton ? current(place) : {}) };
  const generic = Object.entries(operations).map(([action, operation]) => ({
    action: action as ProductAction, resource: row, operation: forPortal(place, action as ProductAction, operation),
  }));
  return [...generic, ...actions(place), ...noteRoutes(row, product)];
}

/** Every route of the registry with its resource. */
export const productRoutes: readonly ProductRoute[] = RESOURCES.flatMap((row) => row.products.flatMap((product) => routesOf(row, product)));

/** The product operations, for the documents, the client and the mount. */
export const productOperations: Operation[] = productRoutes.map(({ operation }) => operation);
