/** Versions over HTTP: which one a request gets, and an invented breaking change seen by clients from before it. */
import express from 'express';
import type { Context } from '../../../src/context';
import { operation, type Call, type Operation } from '../../../src/contracts/operation';
import { problem } from '../../../src/contracts/problem';
import { Closed, Enum, Id, Type } from '../../../src/contracts/schema';
import { eachItem, LATEST_VERSION, type VersionTable } from '../../../src/contracts/version';
import { matchesVersion, recordTag } from '../../../src/domain/etag';
import { bind, serviceRouter } from '../../../src/http/mount';
import { opening } from '../../../src/http/send';
import { openTestStore, newKey, newTenant, signIn, testContext, type TestStore } from '../auth/support';
import { list, request, text, type Answer } from '../../support/harness';
import { serve, serveAll, type Served } from './served';

const access: Operation['access'] = { kind: 'product', scopes: ['PSA'], permission: 'products:read' };
const shared = { service: 'psa', tag: 'Lamps', summary: 'Invented', access } as const;
const byId = Closed({ id: Id() });

/** The latest shape: `title` was `name`, `colour` was a number, and `state=lit` was `on=true`. */
const Lamp = Type.Object({ id: Id(), title: Type.String(), colour: Enum(['red', 'green']), version: Type.Integer() });
const MakeLamp = Closed({ title: Type.String({ minLength: 1 }), colour: Enum(['red', 'green']) });
const lamps = {
  makeLamp: operation({
    ...shared,
    id: 'makeLamp',
    method: 'POST',
    path: '/api/lamps',
    body: MakeLamp,
    responses: { 201: Lamp },
  }),
  getLamp: operation({
    ...shared,
    id: 'getLamp',
    method: 'GET',
    path: '/api/lamps/:id',
    params: byId,
    responses: { 200: Lamp },
    errors: ['not_found'],
  }),
  dimLamp: operation({
    ...shared,
    id: 'dimLamp',
    method: 'PATCH',
    path: '/api/lamps/:id',
    params: byId,
    body: Closed({}),
    responses: { 200: Lamp },
    errors: ['not_found', 'version_conflict'],
  }),
  listLamps: operation({
    ...shared,
    id: 'listLamps',
    method: 'GET',
    path: '/api/lamps',
    query: Closed({ state: Type.Optional(Enum(['lit', 'dark'])) }),
    responses: { 200: Type.Object({ items: Type.Array(Lamp), asked: Type.String() }) },
  }),
  batchLamps: operation({
    ...shared,
    id: 'batchLamps',
    method: 'POST',
    path: '/api/lamps/batch',
    body: Closed({ ids: Type.Array(Type.String()) }),
    responses: { 200: Type.Object({ items: Type.Array(Lamp), missing: Type.Array(Type.String()) }) },
  }),
  sameLamp: operation({ ...shared, id: 'sameLamp', method: 'GET', path: '/api/same', responses: { 200: Lamp } }),
};

const COLOURS = ['red', 'green'];
interface Old {
  name: string;
  colour: number;
}
const older = (lamp: unknown) => {
  const { title, colour, ...rest } = lamp as { title: string; colour: string };
  return { ...rest, name: title, colour: COLOURS.indexOf(colour) };
};
const VERSIONS: VersionTable = [
  { date: '2026-11-20', summary: 'The first.', changes: {} },
  {
    date: '2027-03-01',
    summary: 'Lamps have titles and colours by name.',
    changes: {
      makeLamp: {
        before: {
          body: Closed({ name: Type.String({ minLength: 1 }), colour: Type.Integer({ minimum: 0, maximum: 1 }) }),
        },
        request: ({ query, body }) => {
          const { name, colour } = body as Old;
          return { query, body: { title: name, colour: COLOURS[colour] } };
        },
        response: older,
      },
      getLamp: { response: older },
      dimLamp: { response: older },
      listLamps: {
        before: { query: Closed({ on: Type.Optional(Type.Boolean()) }) },
        request: ({ query: { on, ...query }, body }) => ({
          query: on === undefined ? query : { ...query, state: on ? 'lit' : 'dark' },
          body,
        }),
        response: eachItem(older),
      },
      batchLamps: { response: eachItem(older) },
    },
  },
];

let store: TestStore;
let served: Served;
let context: Context;
const made = new Map<string, { id: string; title: string; colour: 'red' | 'green'; version: number }>();
const lampOf = (id: string) => {
  const lamp = made.get(id);
  if (!lamp) throw problem('not_found');
  return lamp;
};
/** Returned as it is, so that an untouched reply can be told from a translated copy. */
const SAME = { id: 'lmp_same', title: 'Same', colour: 'red', version: 1 } as const;

const bound = bind(lamps, {
  makeLamp: ({ body, newId }) => {
    const lamp = { id: newId('lmp'), ...body, version: 1 };
    made.set(lamp.id, lamp);
    return Promise.resolve({ status: 201, body: lamp });
  },
  getLamp: ({ params }) => {
    const lamp = lampOf(params.id);
    return Promise.resolve({ status: 200, etag: recordTag(lamp.id, lamp.version), body: lamp });
  },
  dimLamp: ({ params, headers }: Call<typeof lamps.dimLamp, Context>) => {
    const lamp = lampOf(params.id);
    if (!matchesVersion(headers['if-match'], lamp.id, lamp.version)) throw problem('version_conflict');
    lamp.version += 1;
    return Promise.resolve({ status: 200, etag: recordTag(lamp.id, lamp.version), body: lamp });
  },
  listLamps: ({ query }) =>
    Promise.resolve({ status: 200, body: { items: [...made.values()], asked: query.state ?? 'all' } }),
  batchLamps: ({ body }) =>
    Promise.resolve({
      status: 200,
      body: { items: body.ids.flatMap((id) => made.get(id) ?? []), missing: body.ids.filter((id) => !made.has(id)) },
    }),
  sameLamp: () => Promise.resolve({ status: 200, body: SAME }),
});

beforeAll(async () => {
  store = await openTestStore();
  context = testContext(store);
  served = await serve(context, (guard) =>
    express().use(opening(), serviceRouter('psa', [bound], { guard, context, versions: VERSIONS })),
  );
});
afterAll(async () => {
  await served.close();
  await store.close();
});

const callerAt = async (apiVersion?: string) => {
  const orgId = await newTenant(store);
  const { key } = await newKey(context, orgId, apiVersion ? { apiVersion } : {});
  return (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    request(served.baseUrl, {
      method,
      path: `/api${path}`,
      body,
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
};
const NEW = { 'platform-version': '2027-03-01' };
const versionOf = (answer: Answer) => answer.headers.get('platform-version');

describe('a client from before a breaking change', () => {
  test('sends and reads what it knows; the latest sends and reads the same record as it is now', async () => {
    const call = await callerAt('2026-11-20');
    const created = await call('POST', '/lamps', { name: 'Desk', colour: 1 });
    expect([created.status, versionOf(created)]).toEqual([201, '2026-11-20']);
    expect(created.body).toEqual({ id: expect.any(String) as string, name: 'Desk', colour: 1, version: 1 });
    const path = `/lamps/${text(created.body['id'])}`;
    expect((await call('GET', path)).body).toEqual(created.body);
    const now = await call('GET', path, undefined, NEW);
    expect(versionOf(now)).toBe('2027-03-01');
    expect(now.body).toEqual({ id: created.body['id'], title: 'Desk', colour: 'green', version: 1 });
  });

  test('is refused in the words it knows, the latest in its own', async () => {
    const call = await callerAt('2026-11-20');
    const old = await call('POST', '/lamps', { name: 'Desk', colour: 7 });
    expect([old.status, old.body['error']]).toEqual([400, '/colour: must be <= 1']);
    expect((await call('POST', '/lamps', { title: 'Desk', colour: 'red' })).status).toBe(400);
    expect((await call('POST', '/lamps', 'null')).status).toBe(400);
    expect((await call('POST', '/lamps', undefined)).status).toBe(400);
    const latest = await call('POST', '/lamps', { name: 'Desk', colour: 1 }, NEW);
    expect(latest.status).toBe(400);
    expect(latest.text).toContain('title');
  });

  test('lists, filters and batches: every item is translated', async () => {
    const call = await callerAt('2026-11-20');
    const { body: lamp } = await call('POST', '/lamps', { name: 'Hall', colour: 0 });
    const page = await call('GET', '/lamps?on=true');
    expect(page.body['asked']).toBe('lit');
    expect(list(page.body['items'])).toContainEqual(lamp);
    expect((await call('GET', '/lamps?state=lit')).status).toBe(400);
    expect((await call('GET', '/lamps?state=lit', undefined, NEW)).body['asked']).toBe('lit');
    const batch = await call('POST', '/lamps/batch', { ids: [lamp['id'], 'lmp_none'] });
    expect(batch.body).toEqual({ items: [lamp], missing: ['lmp_none'] });
  });

  test('a replay by idempotency key comes in the version of the repeat; the effect happened once', async () => {
    const call = await callerAt('2026-11-20');
    const keyed = { 'idempotency-key': 'one' };
    const first = await call('POST', '/lamps', { name: 'Once', colour: 0 }, keyed);
    const count = made.size;
    const again = await call('POST', '/lamps', { name: 'Once', colour: 0 }, keyed);
    const upgraded = await call('POST', '/lamps', { title: 'Once', colour: 'red' }, { ...keyed, ...NEW });
    expect([again.headers.get('idempotency-replayed'), again.body]).toEqual(['true', first.body]);
    expect([upgraded.headers.get('idempotency-replayed'), upgraded.body]).toEqual([
      'true',
      { id: first.body['id'], title: 'Once', colour: 'red', version: 1 },
    ]);
    expect(made.size).toBe(count);
  });

  test('tags: one per shape for 304, one record for If-Match', async () => {
    const call = await callerAt('2026-11-20');
    const { body } = await call('POST', '/lamps', { name: 'Tag', colour: 0 });
    const path = `/lamps/${text(body['id'])}`;
    const tag = String((await call('GET', path)).headers.get('etag'));
    expect((await call('GET', path, undefined, { 'if-none-match': tag })).status).toBe(304);
    const other = await call('GET', path, undefined, { 'if-none-match': tag, ...NEW });
    expect([other.status, other.headers.get('vary')]).toEqual([200, expect.stringContaining('Platform-Version')]);
    expect((await call('PATCH', path, {}, { 'if-match': tag })).status).toBe(200);
    expect((await call('PATCH', path, {}, { 'if-match': tag })).status).toBe(412);
  });

  test('an operation that never changed is answered without a translation, at any version', async () => {
    const call = await callerAt('2026-11-20');
    const answer = await call('GET', '/same');
    expect([versionOf(answer), answer.text]).toEqual(['2026-11-20', JSON.stringify(SAME)]);
  });
});

describe('which version a request gets', () => {
  test('the header’s, else the key’s, else the latest', async () => {
    expect(versionOf(await (await callerAt('2026-11-20'))('GET', '/same'))).toBe('2026-11-20');
    expect(versionOf(await (await callerAt('2027-03-01'))('GET', '/same'))).toBe('2027-03-01');
    expect(versionOf(await (await callerAt('2026-11-20'))('GET', '/same', undefined, NEW))).toBe('2027-03-01');
    const { cookie } = await signIn(context, await newTenant(store));
    const session = await request(served.baseUrl, { method: 'GET', path: '/api/same', headers: { cookie } });
    expect(versionOf(session)).toBe('2027-03-01');
  });

  test('a key from before there were pins has the first version', async () => {
    expect(versionOf(await (await callerAt())('GET', '/same'))).toBe('2026-11-20');
  });

  test.each(['2026-11-21', 'latest', '', '2026-11-20, 2027-03-01'])(
    '400: %j, with the list of versions',
    async (asked) => {
      const answer = await (await callerAt())('GET', '/same', undefined, { 'platform-version': asked });
      expect([answer.status, answer.body['code']]).toEqual([400, 'UNKNOWN_VERSION']);
      expect(answer.body['details']).toEqual({ supported: ['2026-11-20', '2027-03-01'], latest: '2027-03-01' });
    },
  );
});

describe('the API itself', () => {
  let api: Served;
  beforeAll(async () => {
    api = await serveAll(context);
  });
  afterAll(() => api.close());
  const get = (path: string, headers: Record<string, string> = {}) =>
    request(api.baseUrl, { method: 'GET', path, headers });

  test('every reply names its version, refusals and pages included', async () => {
    for (const path of ['/healthz', '/docs', '/openapi.json', '/nowhere', '/psa/api/tickets', '/agents/api/agents']) {
      expect([path, versionOf(await get(path))]).toEqual([path, LATEST_VERSION]);
    }
  });

  test('X-Spec-Hash of a reply is the tag of the service’s document', async () => {
    for (const service of ['psa', 'agents', 'console']) {
      const document = await get(`/${service}/api/openapi.json`);
      const reply = await get(`/${service}/api/nowhere`);
      expect(document.headers.get('etag')).toBe(`W/"${String(reply.headers.get('x-spec-hash'))}"`);
    }
  });

  test('agent service, products and console refuse a version that does not exist, also before a session is read', async () => {
    const { key } = await newKey(context, await newTenant(store), { scopes: ['PSA', 'Agents', 'Console'] });
    const headers = { authorization: `Bearer ${key}`, 'platform-version': '1999-01-01' };
    const answers = await Promise.all(
      ['/psa/api/tickets', '/console/api/rate-limit', '/agents/api/agents'].map((path) => get(path, headers)),
    );
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(answers.map(({ body }) => body['code'] ?? body['error'])).toEqual([
      'UNKNOWN_VERSION',
      'UNKNOWN_VERSION',
      'unknown_version',
    ]);
  });

  test('a key is pinned to the latest when it is made, can be moved, and its successor inherits the pin', async () => {
    const { cookie, csrfToken } = await signIn(context, await newTenant(store));
    const asOwner = (method: string, path: string, body?: unknown) =>
      request(api.baseUrl, {
        method,
        path: `/console/api/api-keys${path}`,
        body,
        headers: { cookie, 'x-csrf-token': csrfToken },
      });
    const { body: created } = await asOwner('POST', '', { kind: 'platform', name: 'x', scopes: ['PSA'] });
    expect(created['apiVersion']).toBe(LATEST_VERSION);
    const path = `/${text(created['id'])}`;
    const moved = await asOwner('PATCH', path, { apiVersion: '2026-11-20' });
    expect([moved.status, moved.body['apiVersion']]).toEqual([200, '2026-11-20']);
    const wrong = await asOwner('PATCH', path, { apiVersion: '2026-11-21' });
    expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining('2026-11-20')]);
    expect((await asOwner('POST', `${path}/rotate`, {})).body['apiVersion']).toBe('2026-11-20');
  });
});
