/** Who gets in: keys and sessions, and how soon a change of them is in force. */
import { createHmac } from 'node:crypto';
import { createConnection } from 'mongoose';
import { mintKey } from '../../../src/domain/api-key';
import { changeKey, revokeKey } from '../../../src/store/keys';
import { readGuard } from '../../../src/store/guards';
import { revokeSession } from '../../../src/store/sessions';
import { waitFor } from '../../support/harness';
import { changeUser } from '../../../src/store/users';
import { readUsage } from '../../../src/store/usage';
import {
  fakeRequest,
  movableClock,
  newGuard,
  newKey,
  newTenant,
  openTestStore,
  readPsa,
  refusalOf,
  signIn,
  testConfig,
  testContext,
  testOperation,
  type TestStore,
  withKey,
} from './support';

const DAY_MS = 86_400_000;
let store: TestStore;

beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

const writePsa = testOperation({ kind: 'product', scopes: ['PSA'], permission: 'products:write' }, { method: 'POST' });
const operateAgents = testOperation({
  kind: 'product',
  scopes: ['Agents', 'Console'],
  permission: 'executions:operate',
});
const ownSession = testOperation({ kind: 'session', permission: 'session:own' }, { service: 'console' });

describe('keys', () => {
  test('both header forms are taken, and name the key', async () => {
    const context = testContext(store);
    const guard = newGuard(context);
    const orgId = await newTenant(store, { tier: 'professional' });
    const { key, record } = await newKey(context, orgId, { scopes: ['PSA', 'CRM'] });
    for (const headers of [
      { authorization: `Bearer ${key}` },
      { 'x-integration-key': key },
      { authorization: `bearer ${key}`, 'x-integration-key': key },
    ]) {
      const { principal } = await guard.enter(fakeRequest(headers), readPsa);
      expect(principal).toEqual({
        kind: 'key',
        id: record._id,
        name: record.name,
        keyId: record._id,
        orgId,
        tier: 'professional',
        keyTier: 'professional',
        apiVersion: '2026-11-20',
        scopes: ['PSA', 'CRM'],
      });
    }
  });

  test('no, malformed, unknown and wrong-kind credentials are 401 without a reason', async () => {
    const context = testContext(store);
    const guard = newGuard(context);
    const orgId = await newTenant(store);
    const { key } = await newKey(context, orgId);
    const { key: mailKey } = await newKey(context, orgId, { kind: 'mail', scopes: ['admin'] });
    const typo = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');
    const attempts: Record<string, string>[] = [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: `Basic ${key}` },
      { authorization: `Bearer ${typo}` },
      { authorization: `Bearer ${mintKey('platform')}` },
      { authorization: `Bearer ${key} ${key}` },
      { authorization: `Bearer ${mailKey}` },
      { 'x-integration-key': mailKey },
      { 'x-integration-key': '' },
      { 'x-mail-key': mailKey },
      { 'x-mail-key': key },
    ];
    for (const headers of attempts) {
      const refused = await refusalOf(guard, fakeRequest(headers));
      expect([refused.status, refused.code, refused.facts]).toEqual([401, 'unauthorized', {}]);
      expect(refused.headers['X-RateLimit-Limit']).toBe('60');
      expect(refused.headers['RateLimit-Policy']).toBe('"ip";q=60;w=60');
    }
  });

  test('the mail service takes only X-Mail-Key, and has a window of its own', async () => {
    const context = testContext(store);
    const guard = newGuard(context);
    const orgId = await newTenant(store, { rateLimitPerMinute: 1 });
    const { key } = await newKey(context, orgId, { kind: 'mail', scopes: ['send'] });
    const send = {
      ...testOperation({ kind: 'public' }, { service: 'mail' }),
      access: { kind: 'mail', scopes: ['send'] } as never,
    };
    const batch = { ...send, access: { kind: 'mail', scopes: ['send', 'send-batch'] } as never };
    for (let count = 0; count < 3; count += 1) {
      const { headers } = await guard.enter(fakeRequest({ 'x-mail-key': key }), send);
      expect(headers['RateLimit-Policy']).toBe('"mail";q=600;w=60');
    }
    expect((await refusalOf(guard, fakeRequest({ 'x-mail-key': key }), batch)).facts).toEqual({
      required: ['send', 'send-batch'],
    });
    expect((await refusalOf(guard, fakeRequest({ authorization: `Bearer ${key}` }), send)).code).toBe('unauthorized');
    const { key: platform } = await newKey(context, orgId);
    expect((await refusalOf(guard, fakeRequest({ 'x-mail-key': platform }), send)).code).toBe('unauthorized');
  });

  test('two different keys are ambiguous, and a header sent twice is refused, which Node would hide', async () => {
    const context = testContext(store);
    const guard = newGuard(context);
    const orgId = await newTenant(store);
    const [{ key: first }, { key: second }] = [await newKey(context, orgId), await newKey(context, orgId)];
    const both = fakeRequest({ authorization: `Bearer ${first}`, 'x-integration-key': second });
    expect((await refusalOf(guard, both)).code).toBe('ambiguous_credentials');
    for (const other of [first, second]) {
      const rawHeaders = ['Host', 'a', 'Authorization', `Bearer ${first}`, 'authorization', `Bearer ${other}`];
      const refused = await refusalOf(guard, { ...withKey(first), rawHeaders });
      expect([refused.status, refused.facts]).toEqual([400, { parameter: 'authorization' }]);
    }
  });

  test('a key in the query string is 400, valid credentials or not', async () => {
    const context = testContext(store);
    const guard = newGuard(context);
    const { key } = await newKey(context, await newTenant(store));
    for (const query of [`key=${key}`, `q=${encodeURIComponent(key)}`, 'api_key=abc', `x=1&access_token=${key}`]) {
      const refused = await refusalOf(guard, withKey(key, { url: `/api/things?${query}` }));
      expect([refused.status, refused.code]).toEqual([400, 'invalid_parameter']);
      expect(refused.message).not.toContain(key);
      expect(refused.headers['X-RateLimit-Limit']).toBeDefined();
    }
    await guard.enter(withKey(key, { url: '/api/things?status=platform' }), readPsa);
  });

  test('expired and revoked keys say so only to whoever has the whole key', async () => {
    const clock = movableClock();
    const context = testContext(store, { clock });
    const guard = newGuard(context);
    const orgId = await newTenant(store);
    const { key, record } = await newKey(context, orgId, { expiresAt: new Date(clock.now().getTime() + 1_000) });
    await guard.enter(withKey(key), readPsa);
    // This process still remembers the first one when it passes.
    await changeKey(store, record, { expiresAt: new Date(clock.now().getTime() + 2_000) });
    clock.advance(1_000);
    await guard.enter(withKey(key), readPsa);
    clock.advance(1_000);
    expect((await refusalOf(guard, withKey(key))).facts).toEqual({ reason: 'expired' });
    await revokeKey(store, record, { id: 'usr_x', at: clock.now() });
    expect((await refusalOf(guard, withKey(key))).facts).toEqual({ reason: 'revoked' });
    const changed = `${key.slice(0, 10)}${key.charAt(10) === 'x' ? 'y' : 'x'}${key.slice(11)}`;
    expect((await refusalOf(guard, withKey(changed))).facts).toEqual({});
  });

  test('another pepper opens nothing', async () => {
    const context = testContext(store);
    const { key } = await newKey(context, await newTenant(store));
    const config = testConfig({ KEY_PEPPER: 'another-pepper-another-pepper-another-' });
    const guard = newGuard(testContext(store, { config }));
    expect((await refusalOf(guard, withKey(key))).code).toBe('unauthorized');
  });
});

describe('a change is in force on every process when it has been answered', () => {
  async function twoProcesses() {
    const context = testContext(store);
    const orgId = await newTenant(store);
    const guards = [newGuard(context), newGuard(testContext(store))] as const;
    return { context, orgId, guards };
  }

  test('revoking a key, a hundred times under load', async () => {
    const { context, orgId, guards } = await twoProcesses();
    const endedAt = new Map<string, number>();
    const late: string[] = [];
    for (let round = 0; round < 100; round += 1) {
      const { key, record } = await newKey(context, orgId);
      const clients = guards.map(async (guard) => {
        for (let hasTriedAfter = false; !hasTriedAfter;) {
          const answeredAt = endedAt.get(key);
          hasTriedAfter = answeredAt !== undefined;
          const admitted = await guard.enter(withKey(key), readPsa).then(
            () => true,
            () => false,
          );
          if (admitted && hasTriedAfter) late.push(key);
          // Refusals come from memory; without this the loop would keep the store's answers from being read.
          await new Promise(setImmediate);
        }
      });
      await revokeKey(store, record, { id: 'usr_x', at: new Date() });
      endedAt.set(key, performance.now());
      await Promise.all(clients);
    }
    expect(late).toEqual([]);
  });

  test('taking a scope away, and giving one', async () => {
    const { context, orgId, guards } = await twoProcesses();
    const { key, record } = await newKey(context, orgId, { scopes: ['PSA'] });
    for (const guard of guards) await guard.enter(withKey(key), readPsa);
    await changeKey(store, record, { scopes: ['Agents'] });
    for (const guard of guards) {
      expect((await refusalOf(guard, withKey(key))).facts).toEqual({ required: ['PSA'] });
      await guard.enter(withKey(key), operateAgents);
    }
  });

  test('ending a session, disabling its user and lowering the role', async () => {
    const { context, orgId, guards } = await twoProcesses();
    const { cookie, user, sessionId } = await signIn(context, orgId, 'owner');
    const asUser = fakeRequest({ cookie });
    for (const guard of guards) await guard.enter(asUser, operateAgents);
    await changeUser(store, user, { role: 'viewer' });
    for (const guard of guards) {
      expect((await refusalOf(guard, asUser, operateAgents)).facts).toEqual({ required: ['executions:operate'] });
    }
    await changeUser(store, user, { disabledAt: new Date() });
    for (const guard of guards)
      expect((await refusalOf(guard, asUser, ownSession)).facts).toEqual({ reason: 'revoked' });
    await changeUser(store, user, { disabledAt: null });
    for (const guard of guards) await guard.enter(asUser, ownSession);
    await revokeSession(store, orgId, sessionId, new Date());
    for (const guard of guards) {
      expect((await refusalOf(guard, asUser)).status).toBe(401);
      expect((await refusalOf(guard, asUser, ownSession)).status).toBe(401);
    }
  });

  test('a request whose key turns out to be revoked is not charged to the tenant', async () => {
    const { context, orgId, guards } = await twoProcesses();
    const [guard] = guards;
    const { key, record } = await newKey(context, orgId);
    const { key: other } = await newKey(context, orgId);
    await guard.enter(withKey(key), readPsa);
    await revokeKey(store, record, { id: 'usr_x', at: new Date() });
    await refusalOf(guard, withKey(key));
    // The charge is given back on its own a moment later, or with the next one.
    await waitFor(async () => (await readGuard(store, orgId, { nowMs: Date.now() })).tenant <= 1, {
      what: 'the refused request given back',
    });
    const { headers } = await guard.enter(withKey(other), readPsa);
    expect(headers['RateLimit']).toMatch(/"tenant";r=199[89];/);
  });
});

describe('sessions', () => {
  test('the cookie names the user and what the role may do', async () => {
    const context = testContext(store);
    const orgId = await newTenant(store);
    const { cookie, user, sessionId } = await signIn(context, orgId, 'approver');
    const { principal } = await newGuard(context).enter(fakeRequest({ cookie }), readPsa);
    expect(principal).toMatchObject({ kind: 'session', id: user._id, sessionId, email: user.email, orgId });
    expect(principal.kind === 'session' && principal.permissions.has('approvals:decide')).toBe(true);
    expect(principal.kind === 'session' && principal.permissions.has('agents:write')).toBe(false);
  });

  test('unsafe methods need the CSRF token and, from browsers, the console’s own origin', async () => {
    const context = testContext(store);
    const guard = newGuard(context);
    const orgId = await newTenant(store);
    const { cookie, csrfToken } = await signIn(context, orgId);
    const { csrfToken: foreign } = await signIn(context, orgId);
    const post = (headers: Record<string, string>) => fakeRequest({ cookie, ...headers }, { method: 'POST' });
    const guess = createHmac('sha256', 'guess').update('x').digest('base64url');
    const origin = context.config.publicUrl;
    const refused: Record<string, string>[] = [
      {},
      { 'x-csrf-token': '' },
      { 'x-csrf-token': guess },
      { 'x-csrf-token': foreign },
      { 'x-csrf-token': csrfToken, origin: 'https://evil.example' },
      { 'x-csrf-token': csrfToken, origin: 'null' },
      { 'x-csrf-token': csrfToken, 'sec-fetch-site': 'cross-site' },
      { 'x-csrf-token': csrfToken, 'sec-fetch-site': 'same-site', origin },
      { origin, 'sec-fetch-site': 'same-origin' },
    ];
    for (const headers of refused) {
      const refusal = await refusalOf(guard, post(headers), writePsa);
      expect([refusal.status, refusal.code]).toEqual([403, 'csrf_failed']);
      expect(refusal.headers['X-RateLimit-Limit']).toBe('2000');
    }
    await guard.enter(post({ 'x-csrf-token': csrfToken }), writePsa);
    await guard.enter(post({ 'x-csrf-token': csrfToken, origin, 'sec-fetch-site': 'same-origin' }), writePsa);
    await guard.enter(
      post({ 'x-csrf-token': csrfToken, origin: 'http://localhost:3000', host: 'localhost:3000' }),
      writePsa,
    );
  });

  test('a cookie beside a key header is ignored, even when the key is wrong', async () => {
    const context = testContext(store);
    const guard = newGuard(context);
    const orgId = await newTenant(store);
    const { cookie } = await signIn(context, orgId);
    const { key } = await newKey(context, orgId);
    const { principal } = await guard.enter(
      fakeRequest({ cookie, authorization: `Bearer ${key}` }, { method: 'POST' }),
      writePsa,
    );
    expect(principal.kind).toBe('key');
    for (const headers of [{ authorization: 'Bearer nonsense' }, { 'x-integration-key': 'nonsense' }]) {
      expect((await refusalOf(guard, fakeRequest({ cookie, ...headers }))).status).toBe(401);
    }
  });

  test('the token is renewed on the way, and never outlives twelve hours', async () => {
    const clock = movableClock();
    const context = testContext(store, { clock });
    const guard = newGuard(context);
    const signed = await signIn(context, await newTenant(store));
    let { cookie } = signed;
    expect((await guard.enter(fakeRequest({ cookie }), ownSession)).headers['Set-Cookie']).toBeUndefined();
    const renewals: number[] = [];
    for (let minutes = 10; minutes < 12 * 60; minutes += 10) {
      clock.advance(10 * 60_000);
      const renewed = (await guard.enter(fakeRequest({ cookie }), ownSession)).headers['Set-Cookie'] ?? '';
      expect(renewed).toMatch(/^session=[^;]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/);
      renewals.push(Number(/Max-Age=(\d+)/.exec(renewed)?.[1]));
      cookie = renewed.split(';', 1)[0] ?? '';
    }
    expect(renewals.at(0)).toBe(900);
    expect(renewals.at(-1)).toBeLessThanOrEqual(600);
    clock.advance(10 * 60_000);
    expect((await refusalOf(guard, fakeRequest({ cookie }), ownSession)).status).toBe(401);
    expect((await refusalOf(guard, fakeRequest({ cookie: signed.cookie }), ownSession)).status).toBe(401);
  });
});

describe('usage', () => {
  test('requests, refusals and the last call are counted per key', async () => {
    const context = testContext(store);
    const guard = newGuard(context);
    const orgId = await newTenant(store, { rateLimitPerMinute: 3 });
    const { key, record } = await newKey(context, orgId);
    for (const status of [200, 404])
      guard.record((await guard.enter(withKey(key), readPsa)).principal, { operation: readPsa, status, ms: 1 });
    await refusalOf(guard, withKey(key), operateAgents);
    await refusalOf(guard, withKey(key));
    await guard.close();
    const used = (await readUsage(store, [record._id], new Date())).get(record._id);
    expect(used).toMatchObject({ totalRequests: 4, requests30d: 4, errorRate: 75 });
    expect(Date.now() - (used?.lastUsedAt?.getTime() ?? 0)).toBeLessThan(60_000);
    const later = await readUsage(store, [record._id], new Date(Date.now() + 31 * DAY_MS));
    expect(later.get(record._id)).toMatchObject({ totalRequests: 4, requests30d: 0, errorRate: null });
  });

  test('requests with an expired, a rotated-out and a revoked key count, those with a key that nobody has do not', async () => {
    const clock = movableClock();
    const context = testContext(store, { clock });
    const guard = newGuard(context);
    const orgId = await newTenant(store);
    const expired = await newKey(context, orgId, { expiresAt: new Date(clock.now().getTime() + 1_000) });
    const revoked = await newKey(context, orgId);
    const operation = { operation: readPsa, status: 200, ms: 1 };
    for (const { key } of [expired, revoked])
      guard.record((await guard.enter(withKey(key), readPsa)).principal, operation);
    await revokeKey(store, revoked.record, { id: 'usr_x', at: clock.now() });
    clock.advance(60_000);
    for (const { key } of [expired, expired, revoked, revoked]) await refusalOf(guard, withKey(key));
    await refusalOf(guard, withKey(mintKey('platform')));
    await guard.close();
    const ids = [expired.record._id, revoked.record._id];
    const used = await readUsage(store, ids, clock.now());
    for (const id of ids) {
      expect(used.get(id)).toEqual({ totalRequests: 3, requests30d: 3, errorRate: 66.67, lastUsedAt: clock.now() });
    }
  });

  test('a flood of a revoked key is counted in memory, without asking the store', async () => {
    const connection = await createConnection(store.uri, { monitorCommands: true }).asPromise();
    const commands: string[] = [];
    connection.getClient().on('commandStarted', ({ commandName }) => commands.push(commandName));
    const context = testContext({ ...store, connection });
    const guard = newGuard(context);
    const { key, record } = await newKey(context, await newTenant(store));
    await revokeKey(store, record, { id: 'usr_x', at: new Date() });
    await refusalOf(guard, withKey(key));
    commands.length = 0;
    for (let count = 0; count < 200; count += 1) await refusalOf(guard, withKey(key));
    const asked = [...commands];
    await guard.close();
    await connection.close();
    // A flush may fall between: one write for the totals and one for the hour, however many requests it tells of.
    expect(asked.filter((name) => name !== 'update')).toEqual([]);
    expect((await readUsage(store, [record._id], new Date())).get(record._id)?.totalRequests).toBe(201);
  });
});
