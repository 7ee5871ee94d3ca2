/**
 * The ways around a path: ids of another tenant in bodies and filters, its continuation tokens, its idempotency keys,
 * its event ids. Which operations have such a door is read from the tables of routes.
 */
import type { Operation } from '../../../src/contracts/operation';
import { productRoutes, type ProductAction, type ProductRoute } from '../../../src/contracts/operations/products';
import { resourceOf } from '../../../src/resources/registry';
import { list, text, waitFor, type Answer } from '../../support/harness';
import { bearer, exampleOf, likeness, nameOf, openBorder, operations, placeOf, twinOf } from './tenants';
import type { Border, Tenant } from './tenants';

let border: Border;
let owner: Tenant;
let stranger: Tenant;
beforeAll(async () => {
  border = openBorder();
  // Both make their records with the same idempotency keys; what meets is refused there.
  [owner, stranger] = await Promise.all([border.newTenant(), border.newTenant()]);
}, 120_000);
afterAll(() => border.stop());

const headersOf = (tenant: Tenant, { access }: Operation): Record<string, string> =>
  access.kind === 'session' ? tenant.sessions.owner : bearer(tenant.key);

const named = <Case extends { operation: Operation }>(cases: Case[]) =>
  cases.map((one) => [nameOf(one.operation), one] as const);

const routesFor = (action: ProductAction) => named(productRoutes.filter((route) => route.action === action));
const parametersOf = ({ query }: Operation): string[] =>
  Object.keys((query?.['properties'] as object | undefined) ?? {});

/** Every id the tenant has, of whatever kind; templates are told apart by nobody. */
const idsOf = ({ ids }: Tenant): string[] => Object.values(ids).flat();
const firstId = (tenant: Tenant, place: string): string => tenant.ids[place]?.[0] ?? '';
const placeOfTarget = (target: string): string => {
  const row = resourceOf(target);
  return `/${row.products[0]}/api/${row.path}`;
};

test('both tenants have their own of everything, though they used the same idempotency keys', () => {
  const theirs = new Set(idsOf(stranger));
  expect(idsOf(owner).filter((id) => theirs.has(id))).toEqual([]);
  expect(theirs.size).toBeGreaterThan(70);
});

test.each(routesFor('batchGet'))('%s names foreign ids as missing', async (_name, { operation }) => {
  const own = firstId(stranger, placeOf(operation).replace('/batch', ''));
  const foreign = firstId(owner, placeOf(operation).replace('/batch', ''));
  const ask = (id: string) => border.call(operation, { body: { ids: [id, own] }, headers: bearer(stranger.key) });
  const [theirs, nobodys] = await Promise.all([ask(foreign), ask(twinOf(foreign))]);
  expect([theirs.status, list(theirs.body['items']).map(({ id }) => id), theirs.body['missing']]).toEqual([
    200,
    [own],
    [foreign],
  ]);
  expect(likeness(theirs, foreign)).toEqual(likeness(nobodys, twinOf(foreign)));
});

interface Named extends ProductRoute {
  field: string;
  target: string;
}

const naming = (action: ProductAction): Named[] =>
  productRoutes
    .filter((route) => route.action === action)
    .flatMap((route) =>
      Object.entries(route.resource.fields).flatMap(([field, { traits }]) =>
        // What nobody may set, or set again, is refused before anybody asks what it names.
        traits.target && !traits.isServerSet && !(traits.isFixed && action === 'update')
          ? [{ ...route, field, target: traits.target }]
          : [],
      ),
    );

/** The example with records of the stranger wherever it names one. */
function ownBody({ resource, operation }: ProductRoute): Record<string, unknown> {
  const body = { ...(exampleOf(operation) as Record<string, unknown>) };
  for (const name of Object.keys(body)) {
    const target = resource.fields[name]?.traits.target;
    if (target) body[name] = firstId(stranger, placeOfTarget(target));
  }
  return body;
}

const references = [...naming('create'), ...naming('update')].map(
  (one) => [`${nameOf(one.operation)} ${one.field}`, one] as const,
);

test.each(references)('%s takes no record of another tenant', async (_name, { operation, field, target, ...route }) => {
  const foreign = firstId(owner, placeOfTarget(target));
  const base = route.action === 'create' ? ownBody({ operation, ...route }) : {};
  const id = stranger.ids[placeOf(operation)]?.[1] ?? '';
  const send = (value: string) =>
    border.call(operation, { id, body: { ...base, [field]: value }, headers: bearer(stranger.key) });
  const [theirs, nobodys] = await Promise.all([send(foreign), send(twinOf(foreign))]);
  const details = theirs.body['details'] as unknown;
  expect([theirs.status, details]).toMatchObject([400, { errors: [{ path: `/${field}`, rule: 'ref' }] }]);
  expect(likeness(theirs, foreign)).toEqual(likeness(nobodys, twinOf(foreign)));
});

const TOKENS = ['continuationToken', 'cursor', 'next_cursor'] as const;
const tokenIn = ({ body }: Answer): string => text(body['continuationToken']) || text(body['next_cursor']);
const singletons = new Set(
  productRoutes.filter(({ resource }) => resource.isSingleton).map(({ operation: { id } }) => id),
);
const paged = operations
  // A list of one record at most has no second page.
  .filter(({ method, id }) => method === 'GET' && !singletons.has(id))
  .flatMap((operation) =>
    TOKENS.filter((parameter) => parametersOf(operation).includes(parameter)).map((parameter) => ({
      operation,
      parameter,
    })),
  )
  .map((one) => [`${nameOf(one.operation)} ${one.parameter}`, one] as const);

test.each(paged)('%s opens for nobody but its tenant', async (_name, { operation, parameter }) => {
  const ask = (tenant: Tenant, query: string) =>
    border.call(operation, { id: firstId(tenant, placeOf(operation)), query, headers: headersOf(tenant, operation) });
  const first = await ask(owner, 'limit=1');
  const token = tokenIn(first);
  expect([first.status, token]).toEqual([200, expect.stringMatching(/./)]);
  const query = `limit=1&${parameter}=${encodeURIComponent(token)}`;
  const [theirs, own] = await Promise.all([ask(stranger, query), ask(owner, query)]);
  expect([theirs.status, own.status]).toEqual([400, 200]);
  expect(theirs.text).toMatch(/INVALID_CONTINUATION_TOKEN|invalid_cursor/);
});

/** What a filter names, by its name; product filters say it in the registry. */
const FILTERS: Record<string, string> = {
  agent_id: '/agents/api/agents',
  execution_id: '/agents/api/executions',
  event_id: '/agents/api/event-log',
  target: '/console/api/api-keys',
};
const targetOf = (operation: Operation, parameter: string): string | undefined => {
  const route = productRoutes.find((one) => one.operation === operation);
  const target = route?.resource.fields[parameter]?.traits.target;
  return target ? placeOfTarget(target) : FILTERS[parameter];
};
const filters = operations
  .filter(({ method, path }) => method === 'GET' && !path.includes('/:'))
  .flatMap((operation) =>
    parametersOf(operation).flatMap((parameter) => {
      const place = targetOf(operation, parameter);
      return place ? [[`${nameOf(operation)}?${parameter}`, { operation, parameter, place }] as const] : [];
    }),
  );
/** The rows of a list, or as many as a count counted. */
const rowsIn = ({ body }: Answer): unknown =>
  body['items'] ?? body['executions'] ?? body['approvals'] ?? Array.from({ length: Number(body['count']) });

test.each(filters)('%s by a foreign id finds nothing', async (_name, { operation, parameter, place }) => {
  const foreign = firstId(owner, place);
  const ask = (id: string) =>
    border.call(operation, { query: `${parameter}=${id}`, headers: headersOf(stranger, operation) });
  const [theirs, nobodys] = await Promise.all([ask(foreign), ask(twinOf(foreign))]);
  expect([theirs.status, rowsIn(theirs)]).toEqual([200, []]);
  expect(likeness(theirs, foreign)).toEqual(likeness(nobodys, twinOf(foreign)));
});

/** What a page shows, without the token, which is another one each time. */
const shownBy = ({ body }: Answer): string => JSON.stringify({ ...body, continuationToken: null });

const reads = operations.filter(({ method, path }) => method === 'GET' && !path.includes('/:'));

test.each(named(reads.map((operation) => ({ operation }))))(
  '%s shows nothing of another tenant',
  async (_name, { operation }) => {
    const query = parametersOf(operation).includes('limit') ? 'limit=200' : undefined;
    const read = (tenant: Tenant) =>
      border.call(operation, { headers: headersOf(tenant, operation), ...(query ? { query } : {}) });
    const [theirs, own] = await Promise.all([read(stranger), read(owner)]);
    expect([theirs.status, own.status]).toEqual([200, 200]);
    const foreign = [owner.id, ...idsOf(owner)];
    expect(foreign.filter((id) => theirs.text.includes(id))).toEqual([]);
    // A tag of the owner's page is no tag of the stranger's, unless both show the same, such as nothing yet.
    const tag = own.headers.get('etag');
    if (!tag || shownBy(theirs) === shownBy(own)) return;
    const headers = { ...headersOf(stranger, operation), 'if-none-match': tag };
    expect((await border.call(operation, { headers, ...(query ? { query } : {}) })).status).toBe(200);
  },
);

describe('events', () => {
  const event = (id: string) => ({ id, event_type: 'custom.test', source_product: 'psa', payload: { name: 'Eve' } });

  test('an event id belongs to its tenant: the same one is new to another, and runs that one’s agents', async () => {
    const id = firstId(owner, '/agents/api/event-log');
    const answer = await stranger.call('POST', '/agents/api/events/ingest', event(id));
    expect([answer.status, answer.body['duplicate'] as unknown]).toEqual([202, false]);
    const started = list(answer.body['executions']);
    expect(started.map(({ agent_id }) => agent_id)).toEqual([firstId(stranger, '/agents/api/agents')]);
    const again = await owner.call('POST', '/agents/api/events/ingest', event(id));
    expect([again.status, again.body['duplicate'] as unknown]).toEqual([200, true]);
    const log = await stranger.call('GET', `/agents/api/event-log/${id}`);
    expect([owner.id, ...idsOf(owner)].filter((one) => one !== id && log.text.includes(one))).toEqual([]);
  });

  test('a payload may name what it likes: nothing of another tenant is filled in', async () => {
    const named = {
      ...event('evt_naming'),
      payload: { name: 'Eve', ticket_id: firstId(owner, '/psa/api/tickets'), org_id: owner.id },
    };
    const answer = await stranger.call('POST', '/agents/api/events/ingest', named);
    const [execution] = list(answer.body['executions']);
    const run = await waitFor(async () => {
      const { body } = await stranger.call('GET', `/agents/api/executions/${text(execution?.['id'])}`);
      return text(body['status']) === 'waiting_approval' && body;
    });
    expect(run['trigger_event']).toMatchObject({ payload: named.payload });
    expect((await owner.call('GET', `/agents/api/executions?event_id=evt_naming`)).body['total']).toBe(0);
  });
});

test('the credits of one tenant are not in the account of another', async () => {
  const usage = await stranger.call('GET', '/agents/api/credits');
  expect(usage.body).toMatchObject({ org_id: stranger.id });
  const foreign = idsOf(owner).filter((id) => usage.text.includes(id));
  expect(foreign).toEqual([]);
});
