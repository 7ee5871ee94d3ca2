/** No read costs more than its page: every list comes from an index, in time, and no longer than 200 rows. */
import type { Operation } from '../../../src/contracts/operation';
import { sortFields } from '../../../src/resources/filters';
import { RESOURCES } from '../../../src/resources/registry';
import { listIndex } from '../../../src/store/resource-documents';
import { openQuery, pageQueries } from '../../../src/store/resource-pages';
import { bearer, nameOf, openBorder, operations, placeOf, type Border, type Tenant } from './tenants';

const READ_MS_MAX = 2_000;
const PAGE = { filters: [], after: null, limit: 51, deletedAfter: null };

let border: Border;
let tenant: Tenant;
beforeAll(async () => {
  border = openBorder();
  tenant = await border.newTenant();
}, 120_000);
afterAll(() => border.stop());

const sorts = RESOURCES.flatMap((row) =>
  [...sortFields(row).keys()].map((orderBy) => [`${row.key} by ${orderBy}`, { row, orderBy }] as const),
);

test.each(sorts)('%s are read from their index, within two seconds', async (_name, { row, orderBy }) => {
  const pages = (['asc', 'desc'] as const).map((direction) => ({ ...PAGE, orderBy, direction }));
  const queries = pages.flatMap((page) => pageQueries({ row, tenantId: tenant.id }, page));
  for (const { options } of queries) expect(options).toMatchObject({ maxTimeMS: READ_MS_MAX, limit: PAGE.limit });
  for (const plan of await Promise.all(
    queries.map((query) => openQuery(border.store, row, query).explain('queryPlanner')),
  )) {
    expect(JSON.stringify(plan)).toContain(listIndex(orderBy));
    expect(JSON.stringify(plan)).not.toMatch(/COLLSCAN|Seq ?Scan/i);
  }
});

const limited = operations
  .filter(({ query }) => Object.keys((query?.['properties'] as object | undefined) ?? {}).includes('limit'))
  .map((operation) => [nameOf(operation), operation] as const);

const headersFor = ({ access }: Operation) => (access.kind === 'session' ? tenant.sessions.owner : bearer(tenant.key));

test.each(limited)('%s answers 200 rows at most, and says so', async (_name, operation) => {
  const id = tenant.ids[placeOf(operation)]?.[0] ?? '';
  const answer = await border.call(operation, { id, query: 'limit=1000000', headers: headersFor(operation) });
  expect(answer.status).toBe(200);
  // The list of approvals has no such field; its pages are as long.
  expect([200, undefined]).toContain(answer.body['limit']);
});
