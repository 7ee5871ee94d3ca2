/** What a key was used for: counted at the door, stored in hours, read by its own tenant alone. */
import express from 'express';
import { mongo } from 'mongoose';
import type { Context } from '../../../src/context';
import { consoleOperations } from '../../../src/contracts/operations/console';
import { operation } from '../../../src/contracts/operation';
import { DAY_MS, HOUR_MS } from '../../../src/domain/usage';
import { bind, serviceRouter } from '../../../src/http/mount';
import { opening } from '../../../src/http/send';
import { consoleHandlers } from '../../../src/services/console';
import { deprecationHandlers } from '../../../src/services/console/usage';
import { readUsage } from '../../../src/store/usage';
import { readHours } from '../../../src/store/usage-hours';
import { list, request, text, type Answer } from '../../support/harness';
import { serve, serveAll, type Served } from '../conventions/served';
import {
  movableClock,
  newKey,
  newTenant,
  openTestStore,
  signIn,
  testContext,
  type SignedIn,
  type TestStore,
} from './support';

let store: TestStore;
let context: Context;
let served: Served;
const START = new Date('2026-11-20T10:30:00.000Z');
let clock = movableClock(START);

beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());
beforeEach(async () => {
  clock = movableClock(START);
  context = testContext(store, { clock });
  served = await serveAll(context);
});
afterEach(() => served.close());

/** The next bulk write of a collection fails as `error`, done by the store before or never sent. */
function failOnce(name: string, { isDone, error }: { isDone: boolean; error: Error }): void {
  const { collection } = store.connection.model(name);
  const write = collection.bulkWrite.bind(collection);
  jest.spyOn(collection, 'bulkWrite').mockImplementationOnce(async (...given) => {
    if (isDone) await write(...given);
    throw error;
  });
}

const psa = (key: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  request(served.baseUrl, { method, path: `/psa/api${path}`, body, headers: { authorization: `Bearer ${key}` } });
const usageOf = async (who: SignedIn, id: string, query = ''): Promise<Answer> => {
  await served.guard.close();
  return request(served.baseUrl, {
    method: 'GET',
    path: `/console/api/api-keys/${id}/usage${query}`,
    headers: { cookie: who.cookie },
  });
};
const busy = (answer: Answer) => list(answer.body['items']).filter((item) => Number(item['requests']) > 0);

test('hours, statuses, products and route templates; hours without requests are zeros', async () => {
  const orgId = await newTenant(store, { rateLimitPerMinute: 7 });
  const { key, record } = await newKey(context, orgId);
  await psa(key, 'GET', '/tickets');
  await psa(key, 'GET', '/tickets/tkt_secret_id');
  await psa(key, 'GET', '/tickets/tkt_other_id');
  await psa(key, 'POST', '/tickets', {});
  await request(served.baseUrl, { method: 'GET', path: '/crm/api/deals', headers: { authorization: `Bearer ${key}` } });
  clock.advance(2 * HOUR_MS);
  const owner = await signIn(context, orgId);
  for (let count = 0; count < 9; count += 1) await psa(key, 'GET', '/tickets');

  const answer = await usageOf(owner, record._id);
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({
    from: '2026-11-19T12:00:00.000Z',
    to: '2026-11-20T13:00:00.000Z',
    interval: 'hour',
    byProduct: { psa: 13, crm: 1 },
    byStatus: { '200': 8, '404': 2, '400': 1, '403': 1, '429': 2 },
  });
  expect(list(answer.body['items'])).toHaveLength(25);
  expect(busy(answer)).toEqual([
    { at: '2026-11-20T10:00:00.000Z', requests: 5, errors: 4, rateLimited: 0, p95Ms: expect.any(Number) as number },
    { at: '2026-11-20T12:00:00.000Z', requests: 9, errors: 2, rateLimited: 2, p95Ms: expect.any(Number) as number },
  ]);
  expect(list(answer.body['items'])[0]).toEqual({
    at: '2026-11-19T12:00:00.000Z',
    requests: 0,
    errors: 0,
    rateLimited: 0,
    p95Ms: null,
  });
  expect(answer.body['topPaths']).toEqual([
    { method: 'GET', path: '/psa/api/tickets', requests: 10, errors: 2 },
    { method: 'GET', path: '/psa/api/tickets/:id', requests: 2, errors: 2 },
    { method: 'GET', path: '/crm/api/deals', requests: 1, errors: 1 },
    { method: 'POST', path: '/psa/api/tickets', requests: 1, errors: 1 },
  ]);
  expect(answer.text).not.toMatch(/secret_id|other_id/);
  const shown = await request(served.baseUrl, {
    method: 'GET',
    path: `/console/api/api-keys/${record._id}`,
    headers: { cookie: owner.cookie },
  });
  expect(shown.body).toMatchObject({ totalRequests: 14, requests30d: 14, errorRate: 42.86 });
});

test('requests of an expired key are there by status and by route', async () => {
  const orgId = await newTenant(store);
  const { key, record } = await newKey(context, orgId, { expiresAt: new Date(START.getTime() + HOUR_MS) });
  await psa(key, 'GET', '/tickets');
  clock.advance(HOUR_MS);
  for (let count = 0; count < 2; count += 1) expect((await psa(key, 'GET', '/tickets')).status).toBe(401);
  const answer = await usageOf(await signIn(context, orgId), record._id);
  expect(answer.body).toMatchObject({ byProduct: { psa: 3 }, byStatus: { '200': 1, '401': 2 } });
  expect(answer.body['topPaths']).toEqual([{ method: 'GET', path: '/psa/api/tickets', requests: 3, errors: 2 }]);
});

test('days sum their hours, over the whole time that is kept', async () => {
  const orgId = await newTenant(store);
  const { key, record } = await newKey(context, orgId);
  await psa(key, 'GET', '/tickets');
  clock.advance(HOUR_MS);
  await psa(key, 'GET', '/tickets');
  clock.advance(DAY_MS);
  await psa(key, 'GET', '/tickets');
  const owner = await signIn(context, orgId);
  const answer = await usageOf(owner, record._id, '?interval=day&from=2026-08-24T00:00:00Z&to=2026-11-22T00:00:00Z');
  expect([answer.status, list(answer.body['items']).length]).toEqual([200, 90]);
  expect(busy(answer)).toMatchObject([
    { at: '2026-11-20T00:00:00.000Z', requests: 2 },
    { at: '2026-11-21T00:00:00.000Z', requests: 1 },
  ]);
  const expiry = await store.connection.collection('key_usage_hours').indexes();
  expect(expiry).toContainEqual(expect.objectContaining({ key: { expiresAt: 1 }, expireAfterSeconds: 0 }));
  const hour = await store.connection.collection('key_usage_hours').findOne({ keyId: record._id });
  expect(hour?.['expiresAt']).toEqual(new Date('2027-02-18T11:00:00.000Z'));
});

test('two processes that count the same hour add up', async () => {
  const orgId = await newTenant(store);
  const { key, record } = await newKey(context, orgId);
  const other = await serveAll(context);
  await psa(key, 'GET', '/tickets');
  await request(other.baseUrl, {
    method: 'GET',
    path: '/psa/api/tickets',
    headers: { authorization: `Bearer ${key}` },
  });
  await Promise.all([other.guard.close(), served.guard.close()]);
  await other.close();
  expect(busy(await usageOf(await signIn(context, orgId), record._id))).toMatchObject([{ requests: 2 }]);
});

describe('ranges', () => {
  test.each([
    ['?from=2026-11-20T10:00:00Z&to=2026-11-20T10:00:00Z', 'from: must be before to'],
    ['?from=2026-11-20T11:00:00Z&to=2026-11-20T12:00:00Z', 'from: must be in the past'],
    ['?from=2026-10-01T00:00:00Z', 'from: must be at most 31 days before to for the interval hour'],
    ['?interval=day&from=2026-08-01T00:00:00Z', 'from: must be at most 90 days before to for the interval day'],
    [
      '?from=2026-07-01T00:00:00Z&to=2026-07-02T00:00:00Z',
      'from: must not be more than 90 days ago: older figures are not kept',
    ],
    ['?interval=week', 'interval: must be one of hour, day'],
    ['?from=yesterday', 'from: '],
  ])('400: %s', async (query, message) => {
    const orgId = await newTenant(store);
    const { record } = await newKey(context, orgId);
    const answer = await usageOf(await signIn(context, orgId), record._id, query);
    expect([answer.status, answer.body['error']]).toEqual([400, expect.stringContaining(message)]);
  });

  test('a range that ends in the future ends now', async () => {
    const orgId = await newTenant(store);
    const { record } = await newKey(context, orgId);
    const query = '?from=2026-11-20T09:00:00Z&to=2030-01-01T00:00:00Z';
    const answer = await usageOf(await signIn(context, orgId), record._id, query);
    expect(list(answer.body['items']).map((item) => text(item['at']))).toEqual([
      '2026-11-20T09:00:00.000Z',
      '2026-11-20T10:00:00.000Z',
    ]);
  });
});

test('404: the key of another tenant; 403: a role that does not manage keys, and keys themselves', async () => {
  const orgId = await newTenant(store);
  const { key, record } = await newKey(context, orgId, { scopes: ['Console'] });
  expect((await usageOf(await signIn(context, await newTenant(store)), record._id)).status).toBe(404);
  expect((await usageOf(await signIn(context, orgId, 'viewer'), record._id)).status).toBe(403);
  const path = `/console/api/api-keys/${record._id}/usage`;
  const asKey = await request(served.baseUrl, { method: 'GET', path, headers: { authorization: `Bearer ${key}` } });
  expect(asKey.status).toBe(403);
});

describe('deprecated operations', () => {
  const oldLamp = operation({
    id: 'oldLamp',
    service: 'psa',
    method: 'GET',
    path: '/api/old-lamp',
    tag: 'Lamps',
    summary: 'Invented',
    access: { kind: 'product', scopes: ['PSA'], permission: 'products:read' },
    responses: { 204: null },
    deprecated: { since: '2026-11-20', sunset: '2027-11-20', successor: 'newLamp' },
  });
  const handlers = { oldLamp: () => Promise.resolve({ status: 204 as const }) };

  test('say so in every reply, and the console lists the keys that still call them', async () => {
    const inventing = await serve(context, (guard) => {
      const parts = { guard, context };
      const bound = bind(consoleOperations, { ...consoleHandlers, ...deprecationHandlers([oldLamp]) });
      return express()
        .use(opening())
        .use('/psa', serviceRouter('psa', [bind({ oldLamp }, handlers)], parts))
        .use('/console', serviceRouter('console', [bound], parts));
    });
    const orgId = await newTenant(store);
    const { key, record } = await newKey(context, orgId, { name: 'Old sync' });
    await newKey(context, orgId, { name: 'Idle' });
    const call = (path: string, headers: Record<string, string>) =>
      request(inventing.baseUrl, { method: 'GET', path, headers });
    const answers = [
      await call('/psa/api/old-lamp', { authorization: `Bearer ${key}` }),
      await call('/psa/api/old-lamp', { authorization: `Bearer ${key}` }),
      await call('/psa/api/old-lamp', {}),
    ];
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 401]);
    for (const { headers } of answers) {
      expect(headers.get('deprecation')).toBe('@1795132800');
      expect(headers.get('sunset')).toBe('Sat, 20 Nov 2027 00:00:00 GMT');
      expect(headers.get('link')).toMatch(
        /^<.+\/docs#oldLamp>; rel="deprecation".*, <.+#newLamp>; rel="successor-version"/,
      );
    }
    await inventing.guard.close();
    const { cookie } = await signIn(context, orgId);
    const { body } = await call('/console/api/deprecations', { cookie });
    const use = { id: record._id, name: 'Old sync', requests: 2, lastUsedAt: START.toISOString() };
    expect(body['items']).toEqual([
      {
        operation: 'oldLamp',
        method: 'GET',
        path: '/psa/api/old-lamp',
        since: '2026-11-20',
        sunset: '2027-11-20',
        successor: 'newLamp',
        keys: [use],
      },
    ]);
    const stranger = await signIn(context, await newTenant(store));
    expect(
      list((await call('/console/api/deprecations', { cookie: stranger.cookie })).body['items'])[0]?.['keys'],
    ).toEqual([]);
    await inventing.close();
  });

  test('without twelve months’ notice they are not mounted', () => {
    const hasty = { ...oldLamp, deprecated: { since: '2026-11-20', sunset: '2027-11-19' } };
    const parts = { guard: served.guard, context };
    expect(() => serviceRouter('psa', [bind({ oldLamp: hasty }, handlers)], parts)).toThrow(
      'Operation oldLamp cannot be deprecated like this: sunset must be 12 months after since or later: 2027-11-20',
    );
  });

  test('the API itself lists those it has, which are none yet', async () => {
    const { cookie } = await signIn(context, await newTenant(store));
    const answer = await request(served.baseUrl, {
      method: 'GET',
      path: '/console/api/deprecations',
      headers: { cookie },
    });
    expect([answer.status, answer.body]).toEqual([200, { items: [] }]);
  });
});

test('days that no figure counts any more are removed when the key is used again', async () => {
  const { key, record } = await newKey(context, await newTenant(store));
  const days = async (): Promise<string[]> => {
    await served.guard.close();
    const found = await store.connection.db?.collection<{ _id: string }>('key_usage').findOne({ _id: record._id });
    return Object.keys((found as unknown as { days: object }).days);
  };
  await psa(key, 'GET', '/tickets');
  expect(await days()).toEqual(['2026-11-20']);
  clock.advance(29 * DAY_MS);
  await psa(key, 'GET', '/tickets');
  expect(await days()).toEqual(['2026-11-20', '2026-12-19']);
  clock.advance(2 * DAY_MS);
  await psa(key, 'GET', '/tickets');
  expect(await days()).toEqual(['2026-12-19', '2026-12-21']);
});

test.each([
  ['whose reply was lost is counted once', true, new mongo.MongoNetworkError('connection closed')],
  [
    'that never reached the store is counted later',
    false,
    new mongo.MongoServerSelectionError('connect ECONNREFUSED', {} as mongo.TopologyDescription),
  ],
])('a write of figures %s', async (_what, isDone, error) => {
  const orgId = await newTenant(store);
  const { key, record } = await newKey(context, orgId);
  for (let count = 0; count < 3; count += 1) await psa(key, 'GET', '/tickets');
  for (const name of ['key_usage', 'key_usage_hours']) failOnce(name, { isDone, error });
  await served.guard.close();
  await served.guard.close();
  jest.restoreAllMocks();
  const hours = await readHours(store, record._id, {
    fromMs: START.getTime() - HOUR_MS,
    toMs: START.getTime() + HOUR_MS,
  });
  const total = (await readUsage(store, [record._id], START)).get(record._id)?.totalRequests;
  expect([total, hours.map(({ requests }) => requests)]).toEqual([3, [3]]);
});

test('a poll of a key that is not used any more is told that its requests have left the last 30 days', async () => {
  const orgId = await newTenant(store);
  const { key, record } = await newKey(context, orgId);
  await psa(key, 'GET', '/tickets');
  await served.guard.close();
  const read = async (headers: Record<string, string> = {}): Promise<Answer> => {
    const { cookie } = await signIn(context, orgId);
    return request(served.baseUrl, {
      method: 'GET',
      path: `/console/api/api-keys/${record._id}`,
      headers: { cookie, ...headers },
    });
  };
  const used = await read();
  expect(used.body).toMatchObject({ totalRequests: 1, requests30d: 1, errorRate: 0 });
  const tag = { 'if-none-match': used.headers.get('etag') ?? '' };
  expect((await read(tag)).status).toBe(304);
  clock.advance(31 * DAY_MS);
  const rested = await read(tag);
  expect([rested.status, rested.body]).toMatchObject([200, { totalRequests: 1, requests30d: 0, errorRate: null }]);
});
