/** The console's endpoints over HTTP: signing in and out, and the life of a key. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { consoleOperations } from '../../../src/contracts/operations/console';
import { hashPassword } from '../../../src/domain/password';
import type { CredentialGuard } from '../../../src/http/admission';
import { bind, serviceRouter } from '../../../src/http/mount';
import { opening } from '../../../src/http/send';
import { consoleHandlers } from '../../../src/services/console';
import type { Context } from '../../../src/context';
import { changeUser } from '../../../src/store/users';
import { request, type Answer } from '../../support/harness';
import {
  movableClock,
  newGuard,
  newKey,
  newTenant,
  newUser,
  openTestStore,
  readPsa,
  refusalOf,
  type SignedIn,
  signIn,
  testConfig,
  testContext,
  type TestStore,
  withKey,
} from './support';

const DAY_MS = 86_400_000;
const PASSWORD = 'correct horse battery staple';

let store: TestStore;
let context: Context;
let guard: CredentialGuard;
let server: Server;
let baseUrl: string;
let passwordHash: string;
const clock = movableClock();

function serve(served: Context): Promise<{ server: Server; baseUrl: string; guard: CredentialGuard }> {
  const app = express();
  const door = newGuard(served);
  app.use(opening());
  app.use(
    '/console',
    serviceRouter('console', [bind(consoleOperations, consoleHandlers)], { guard: door, context: served }),
  );
  const listening = createServer(app);
  return new Promise((resolve) => {
    listening.listen(0, '127.0.0.1', () => {
      const { port } = listening.address() as AddressInfo;
      resolve({ server: listening, baseUrl: `http://127.0.0.1:${port}`, guard: door });
    });
  });
}

beforeAll(async () => {
  store = await openTestStore();
  context = testContext(store, { clock });
  passwordHash = await hashPassword(PASSWORD);
  ({ server, baseUrl, guard } = await serve(context));
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await store.close();
});

const call = (
  method: string,
  path: string,
  more: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> => request(baseUrl, { method, path: `/console/api${path}`, ...more });

/** Calls with a session's cookie and CSRF token. */
const as =
  (who: SignedIn) =>
  (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    call(method, path, { body, headers: { cookie: who.cookie, 'x-csrf-token': who.csrfToken, ...headers } });

const text = (value: unknown): string => String(value);
const inDays = (days: number): string => new Date(clock.now().getTime() + days * DAY_MS).toISOString();

describe('POST, GET and DELETE /api/session', () => {
  test('200: a password opens a session, which lasts until signing out', async () => {
    const orgId = await newTenant(store);
    const user = await newUser(store, orgId, { passwordHash, role: 'approver' });
    const opened = await call('POST', '/session', { body: { email: user.email.toUpperCase(), password: PASSWORD } });
    expect(opened.status).toBe(200);
    expect(opened.body).toMatchObject({
      user: { id: user._id, role: 'approver' },
      org: { id: orgId, tier: 'enterprise' },
    });
    const setCookie = opened.headers.get('set-cookie') ?? '';
    expect(setCookie).toMatch(/^session=[^;]+; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax$/);
    const headers = { cookie: setCookie.split(';', 1)[0] ?? '' };
    const read = await call('GET', '/session', { headers });
    expect(read.body).toEqual(opened.body);
    expect((await call('DELETE', '/session', { headers })).body['code']).toBe('CSRF_FAILED');
    const ended = await call('DELETE', '/session', {
      headers: { ...headers, 'x-csrf-token': text(opened.body['csrfToken']) },
    });
    expect([ended.status, ended.text, ended.headers.get('set-cookie')]).toEqual([
      204,
      '',
      'session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    ]);
    expect((await call('GET', '/session', { headers })).status).toBe(401);
  });

  test('401: a wrong password, an unknown address and a disabled user look the same', async () => {
    const orgId = await newTenant(store);
    const user = await newUser(store, orgId, { passwordHash });
    const disabled = await newUser(store, orgId, { passwordHash });
    await changeUser(store, disabled, { disabledAt: new Date() });
    const attempts = [
      { email: user.email, password: 'wrong' },
      { email: 'nobody@test.example', password: PASSWORD },
      { email: disabled.email, password: PASSWORD },
    ];
    const answers = await Promise.all(attempts.map((body) => call('POST', '/session', { body })));
    for (const { status, body, headers } of answers) {
      expect([status, body['code'], body['error'], body['details']]).toEqual([
        401,
        'UNAUTHORIZED',
        'E-mail or password is wrong.',
        {},
      ]);
      expect(headers.get('set-cookie')).toBeNull();
    }
  });

  test('429: ten wrong passwords close the door for this address and e-mail, the right one too', async () => {
    const user = await newUser(store, await newTenant(store), { passwordHash });
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expect((await call('POST', '/session', { body: { email: user.email, password: 'wrong' } })).status).toBe(401);
    }
    const closed = await call('POST', '/session', { body: { email: user.email, password: PASSWORD } });
    expect([closed.status, closed.headers.get('retry-after')]).toEqual([429, '900']);
    clock.advance(900_000);
    expect((await call('POST', '/session', { body: { email: user.email, password: PASSWORD } })).status).toBe(200);
  });

  test('403: another site cannot sign a browser in', async () => {
    const user = await newUser(store, await newTenant(store), { passwordHash });
    const body = { email: user.email, password: PASSWORD };
    const answer = await call('POST', '/session', { body, headers: { origin: 'https://evil.example' } });
    expect(answer.body['code']).toBe('CSRF_FAILED');
  });

  test('404: production has no password login, and its cookie is a __Host- cookie over https', async () => {
    const secret = 'x'.repeat(32);
    const config = testConfig({
      SIGNALBOX_MODE: 'production',
      KEY_PEPPER: secret,
      SESSION_SECRET: secret,
      TOKEN_SECRET: secret,
      PUBLIC_URL: 'https://box.example',
    });
    const production = await serve(testContext(store, { config }));
    const body = { email: 'a@b.example', password: PASSWORD };
    const answer = await request(production.baseUrl, { method: 'POST', path: '/console/api/session', body });
    production.server.close();
    production.server.closeAllConnections();
    expect(answer.status).toBe(404);
    const { cookie } = await signIn(testContext(store, { config }), await newTenant(store));
    expect(cookie).toMatch(/^__Host-session=/);
  });
});

describe('/api/api-keys', () => {
  test('the life of a key: created, used, edited, rotated, revoked', async () => {
    const orgId = await newTenant(store);
    const owner = as(await signIn(context, orgId));
    const created = await owner('POST', '/api-keys', {
      kind: 'platform',
      name: 'Sync',
      scopes: ['PSA'],
      expiresAt: inDays(30),
    });
    expect(created.status).toBe(201);
    const { key, id } = created.body as unknown as { key: string; id: string };
    expect(key).toMatch(/^plat_[0-9A-Za-z]{36}$/);
    expect(created.headers.get('cache-control')).toBe('private, no-store');
    expect(created.headers.get('etag')).toBe(`W/"${id}.1"`);
    expect(created.body).toMatchObject({
      maskedKey: `plat_••••${key.slice(-4)}`,
      last4: key.slice(-4),
      status: 'active',
      tier: 'enterprise',
      totalRequests: 0,
      errorRate: null,
      version: 1,
    });
    await guard.enter(withKey(key), readPsa);

    const read = await owner('GET', `/api-keys/${id}`);
    expect(read.body).not.toHaveProperty('key');
    expect(read.text).not.toContain(key);
    const edited = await owner('PATCH', `/api-keys/${id}`, { name: 'Agents', scopes: ['Agents'], expiresAt: null });
    expect(edited.body).toMatchObject({ name: 'Agents', scopes: ['Agents'], expiresAt: null, version: 2 });
    expect((await refusalOf(guard, withKey(key))).code).toBe('forbidden');

    const rotated = await owner('POST', `/api-keys/${id}/rotate`, { overlapSeconds: 60 });
    expect(rotated.status).toBe(201);
    expect(rotated.body).toMatchObject({ rotatedFrom: id, name: 'Agents', scopes: ['Agents'] });
    expect((await refusalOf(guard, withKey(key))).code).toBe('forbidden');
    clock.advance(60_000);
    expect((await refusalOf(guard, withKey(key))).facts).toEqual({ reason: 'expired' });
    expect((await refusalOf(guard, withKey(text(rotated.body['key'])))).code).toBe('forbidden');

    const successor = text(rotated.body['id']);
    for (let time = 0; time < 2; time += 1) expect((await owner('DELETE', `/api-keys/${successor}`)).status).toBe(204);
    expect((await refusalOf(guard, withKey(text(rotated.body['key'])))).facts).toEqual({ reason: 'revoked' });
    expect((await owner('GET', `/api-keys/${successor}`)).body).toMatchObject({
      status: 'revoked',
      revokedBy: expect.stringMatching(/^usr_/) as string,
    });
    expect((await owner('PATCH', `/api-keys/${successor}`, { name: 'x' })).status).toBe(409);
    expect((await owner('POST', `/api-keys/${successor}/rotate`, {})).status).toBe(409);
  });

  test.each([null, '2030-01-01T00:00:00.000Z'])(
    'a key that is rotated twice has two successors that expire as it did before: %s',
    async (expiresAt) => {
      const owner = as(await signIn(context, await newTenant(store)));
      const draft = { kind: 'platform', name: 'Rotated', scopes: ['PSA'], expiresAt };
      const { body } = await owner('POST', '/api-keys', draft);
      const path = `/api-keys/${text(body['id'])}/rotate`;
      const first = await owner('POST', path, { overlapSeconds: 10 });
      const second = await owner('POST', path, { overlapSeconds: 86_400 });
      expect([first.status, second.status]).toEqual([201, 201]);
      expect([first.body['expiresAt'], second.body['expiresAt']]).toEqual([expiresAt, expiresAt]);
    },
  );

  test('409: nothing leads out of expired but a revocation', async () => {
    const owner = as(await signIn(context, await newTenant(store)));
    const draft = { kind: 'platform', name: 'Short', scopes: ['PSA'], expiresAt: inDays(1 / 288) };
    const { body } = await owner('POST', '/api-keys', draft);
    const path = `/api-keys/${text(body['id'])}`;
    clock.advance(DAY_MS / 288);
    const refusals = [
      await owner('PATCH', path, { expiresAt: null }),
      await owner('PATCH', path, { expiresAt: inDays(30) }),
      await owner('PATCH', path, { name: 'Longer' }),
      await owner('POST', `${path}/rotate`, {}),
    ];
    for (const { status, body: refused } of refusals) {
      expect([status, refused['code'], refused['error']]).toEqual([
        409,
        'CONFLICT',
        'The key has expired; create a new one.',
      ]);
    }
    expect((await owner('GET', path)).body).toMatchObject({ status: 'expired', name: 'Short', version: 1 });
    expect((await owner('GET', '/api-keys')).body['items']).toHaveLength(1);
    expect((await owner('DELETE', path)).status).toBe(204);
    expect((await owner('GET', path)).body).toMatchObject({ status: 'revoked' });
  });

  test('an expiry is a timestamp or a day, which begins at midnight UTC; answered is the timestamp', async () => {
    const owner = as(await signIn(context, await newTenant(store)));
    const draft = { kind: 'platform', name: 'Until', scopes: [], expiresAt: '2099-01-31' };
    const { status, body } = await owner('POST', '/api-keys', draft);
    expect([status, body['expiresAt']]).toEqual([201, '2099-01-31T00:00:00.000Z']);
    const edit = async (expiresAt: unknown) => {
      const answer = await owner('PATCH', `/api-keys/${text(body['id'])}`, { expiresAt });
      return answer.status === 200 ? answer.body['expiresAt'] : answer.body['details']?.['errors'];
    };
    expect(await edit('2098-02-28')).toBe('2098-02-28T00:00:00.000Z');
    expect(await edit('2098-02-28T01:30:00+02:00')).toBe('2098-02-27T23:30:00.000Z');
    expect(await edit(null)).toBeNull();
    const finding = (rule: string, message: string) => [{ path: '/expiresAt', rule, message }];
    for (const wrong of ['soon', '2098-02-30', '2098-2-3', '2098-02-28T00:00'])
      expect(await edit(wrong)).toEqual(finding('format', 'must be a date-time, a date or null'));
    expect(await edit(4_102_444_800)).toEqual(finding('type', 'must be string or null'));
    expect(await edit('2020-01-01')).toEqual(finding('future', 'must be in the future'));
  });

  test('400: what is wrong is named, with what was meant', async () => {
    const owner = as(await signIn(context, await newTenant(store)));
    const key = { kind: 'platform', name: 'k', scopes: ['PSA'] };
    const { body: held } = await owner('POST', '/api-keys', key);
    const wrong: [Record<string, unknown>, string, RegExp][] = [
      [{ ...key, scopes: ['psa'] }, '/scopes/0', /PSA/],
      [{ ...key, scopes: ['send'] }, '/scopes/0', /PSA, CRM/],
      [{ ...key, kind: 'mail' }, '/scopes/0', /send-batch/],
      [{ ...key, kind: 'mail', scopes: [] }, '/scopes', /./],
      [{ ...key, scopes: ['PSA', 'PSA'] }, '/scopes', /duplicate/],
      [{ ...key, expiresAt: inDays(-1) }, '/expiresAt', /future/],
      [{ ...key, expiresAt: 'soon' }, '/expiresAt', /date-time/],
      [{ ...key, name: ' ' }, '/name', /./],
      [{ kind: 'platform', scopes: [] }, '/name', /required/],
      [{ ...key, tier: 'enterprise' }, '/tier', /unknown/],
    ];
    for (const [body, path, message] of wrong) {
      const refused = await owner('POST', '/api-keys', body);
      expect([refused.status, refused.body['code']]).toEqual([400, 'VALIDATION_FAILED']);
      const findings = refused.body['details']?.['errors'] as unknown as { path: string; message: string }[];
      expect(findings.find((finding) => finding.path === path)?.message).toMatch(message);
    }
    for (const body of [{ key: 'plat_x' }, { kind: 'mail' }, { scopes: ['send'] }, { scopes: ['psa'] }, {}]) {
      expect((await owner('PATCH', `/api-keys/${text(held['id'])}`, body)).status).toBe(400);
    }
    expect((await owner('POST', `/api-keys/${text(held['id'])}/rotate`, { overlapSeconds: 604_801 })).status).toBe(400);
    expect((await owner('GET', '/api-keys?stauts=active')).status).toBe(400);
  });

  test('a platform key may have no scopes', async () => {
    const owner = as(await signIn(context, await newTenant(store)));
    const created = await owner('POST', '/api-keys', { kind: 'platform', name: 'none', scopes: [] });
    expect(created.status).toBe(201);
    expect((await refusalOf(guard, withKey(text(created.body['key'])))).code).toBe('forbidden');
  });

  test('403: neither a key nor another role manages keys', async () => {
    const orgId = await newTenant(store);
    for (const role of ['technician', 'approver', 'viewer'] as const) {
      const answer = await as(await signIn(context, orgId, role))('GET', '/api-keys');
      expect([answer.status, answer.body['details']]).toEqual([403, { required: ['keys:manage'] }]);
    }
    const { key } = await newKey(context, orgId, { scopes: ['Console'] });
    const answer = await call('GET', '/api-keys', { headers: { authorization: `Bearer ${key}` } });
    expect([answer.status, answer.body['details']]).toEqual([403, { required: ['session'] }]);
    expect((await call('GET', '/api-keys')).status).toBe(401);
  });

  test('404: the keys of another org do not exist', async () => {
    const owner = as(await signIn(context, await newTenant(store)));
    const { record } = await newKey(context, await newTenant(store));
    const foreign = await owner('GET', `/api-keys/${record._id}`);
    const missing = await owner('GET', '/api-keys/key_00000000000000000000000000');
    expect([foreign.status, foreign.body['error']]).toEqual([404, missing.body['error']]);
    for (const [method, path, body] of [
      ['PATCH', '', { name: 'x' }],
      ['DELETE', '', undefined],
      ['POST', '/rotate', {}],
    ] as const) {
      expect((await owner(method, `/api-keys/${record._id}${path}`, body)).status).toBe(404);
    }
    await guard.enter(withKey((await newKey(context, record.orgId)).key), readPsa);
  });

  test('412: an edit of an older version is refused, with the current tag', async () => {
    const orgId = await newTenant(store);
    const owner = as(await signIn(context, orgId));
    const { record } = await newKey(context, orgId);
    const path = `/api-keys/${record._id}`;
    const tag = (await owner('GET', path)).headers.get('etag') ?? '';
    expect((await owner('PATCH', path, { name: 'one' }, { 'if-match': tag })).status).toBe(200);
    const refused = await owner('PATCH', path, { name: 'two' }, { 'if-match': tag });
    expect([refused.status, refused.headers.get('etag')]).toEqual([412, `W/"${record._id}.2"`]);
    expect((await owner('DELETE', path, undefined, { 'if-match': tag })).status).toBe(412);
    expect((await owner('PATCH', path, { name: 'two' }, { 'if-match': `W/"${record._id}.2"` })).status).toBe(200);
  });

  test('edits at the same moment all take effect, unless they asked for a version', async () => {
    const orgId = await newTenant(store);
    const owner = as(await signIn(context, orgId));
    const { record } = await newKey(context, orgId);
    const path = `/api-keys/${record._id}`;
    const edits = await Promise.all(
      [{ name: 'new' }, { scopes: ['CRM'] }, { expiresAt: inDays(3) }].map((body) => owner('PATCH', path, body)),
    );
    expect(edits.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await owner('GET', path)).body).toMatchObject({ name: 'new', scopes: ['CRM'], version: 4 });
    const headers = { 'if-match': `W/"${record._id}.4"` };
    const asked = await Promise.all(['a', 'b', 'c'].map((name) => owner('PATCH', path, { name }, headers)));
    expect(asked.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 412, 412]);
  });

  test('409: an org has at most a hundred keys that are not revoked', async () => {
    const orgId = await newTenant(store);
    const owner = as(await signIn(context, orgId));
    await Promise.all(Array.from({ length: 100 }, () => newKey(context, orgId)));
    const refused = await owner('POST', '/api-keys', { kind: 'platform', name: 'one more', scopes: [] });
    expect([refused.status, refused.body['details']]).toEqual([409, { limit: 100 }]);
  });

  test('the list shows every key once, page by page, with filters', async () => {
    const orgId = await newTenant(store);
    const owner = as(await signIn(context, orgId));
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const { body } = await owner('POST', '/api-keys', {
        kind: 'platform',
        name: `k${count}`,
        scopes: count < 2 ? ['CRM'] : ['PSA'],
      });
      ids.unshift(text(body['id']));
      clock.advance(1);
    }
    await owner('POST', '/api-keys', { kind: 'mail', name: 'm', scopes: ['send'] });
    await owner('DELETE', `/api-keys/${ids[0]}`);
    const seen: string[] = [];
    let token = '';
    do {
      const { body } = await owner(
        'GET',
        `/api-keys?kind=platform&limit=2${token ? `&continuationToken=${encodeURIComponent(token)}` : ''}`,
      );
      const page = body as unknown as {
        items: { id: string }[];
        hasMore: boolean;
        continuationToken: string | null;
        limit: number;
      };
      expect([page.limit, page.hasMore]).toEqual([2, page.continuationToken !== null]);
      seen.push(...page.items.map((item) => item.id));
      token = page.continuationToken ?? '';
    } while (token);
    expect(seen).toEqual(ids);
    const count = async (query: string) =>
      ((await owner('GET', `/api-keys?${query}`)).body['items'] as unknown as unknown[]).length;
    expect([
      await count('scope=CRM'),
      await count('status=revoked'),
      await count('kind=mail'),
      await count('status=active'),
    ]).toEqual([2, 1, 1, 5]);
    expect((await owner('GET', '/api-keys?limit=500')).body['limit']).toBe(200);
    const { body: first } = await owner('GET', '/api-keys?limit=1');
    const foreign = await owner(
      'GET',
      `/api-keys?limit=1&kind=mail&continuationToken=${encodeURIComponent(text(first['continuationToken']))}`,
    );
    expect([foreign.status, foreign.body['code']]).toEqual([400, 'INVALID_CONTINUATION_TOKEN']);
  });
});

describe('GET /api/rate-limit', () => {
  test('200: sessions and keys see their policies, free of charge', async () => {
    const orgId = await newTenant(store, { tier: 'standard' });
    const { key } = await newKey(context, orgId);
    await guard.enter(withKey(key), readPsa);
    for (let time = 0; time < 2; time += 1) {
      const { body } = await call('GET', '/rate-limit', { headers: { 'x-integration-key': key } });
      expect(body).toMatchObject({
        tier: 'standard',
        policies: [
          { name: 'key', limit: 100, remaining: 99, window: '1m', sustainedPerMinute: 60 },
          { name: 'tenant', limit: 100, remaining: 99, sustainedPerMinute: null },
          { name: 'conditional', limit: 1_000, remaining: 1_000 },
          { name: 'mail', limit: 600, remaining: 600 },
        ],
      });
    }
    const { body } = await as(await signIn(context, orgId, 'viewer'))('GET', '/rate-limit');
    expect(body).toMatchObject({
      policies: [{ name: 'tenant', remaining: 99 }, { name: 'conditional' }, { name: 'mail' }],
    });
  });

  test('200: still answered when everything is spent, and counts the polls that go on', async () => {
    const orgId = await newTenant(store, { tier: 'standard', rateLimitPerMinute: 1 });
    const { key } = await newKey(context, orgId);
    await guard.enter(withKey(key), readPsa);
    await refusalOf(guard, withKey(key));
    await guard.enter(withKey(key, { headers: { 'if-none-match': 'W/"x"' } }), readPsa);
    const { status, body, headers } = await call('GET', '/rate-limit', { headers: { 'x-integration-key': key } });
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([200, '0']);
    expect(body).toMatchObject({
      policies: [
        { name: 'key' },
        { name: 'tenant', limit: 1, remaining: 0 },
        { name: 'conditional', remaining: 9 },
        {},
      ],
    });
  });

  test('403: a key without scopes has no access', async () => {
    const { key } = await newKey(context, await newTenant(store), { scopes: [] });
    expect((await call('GET', '/rate-limit', { headers: { 'x-integration-key': key } })).status).toBe(403);
  });
});
