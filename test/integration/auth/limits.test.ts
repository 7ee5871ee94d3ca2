/** The limits are exact over several processes, and two of them are charged together or not at all. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { createConnection } from 'mongoose';
import { systemClock } from '../../../src/clock';
import { phaseOf, TIER_RATES, WINDOW_MS } from '../../../src/domain/rate-limit';
import { changeTenant } from '../../../src/store/tenants';
import { readGuard, takeAllFromGuard, takeFromGuard, type Charge } from '../../../src/store/guards';
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

const run = promisify(execFile);
let store: TestStore;

beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

const chargeFor = (orgId: string, more: Partial<Charge> = {}): Charge => ({
  orgId,
  window: 'tenant',
  limit: 100,
  key: null,
  conditional: false,
  ...more,
});

/** A moment well inside a window of the tenant. */
const insideWindow = (orgId: string): number => {
  const phase = phaseOf(orgId);
  return Math.floor((systemClock.now().getTime() - phase) / WINDOW_MS) * WINDOW_MS + phase + 1_000;
};

const WINDOW_NEEDED_MS = 30_000;

/** A tenant whose window will not end while the test runs; every tenant's begins at another moment. */
async function tenantWithTime(): Promise<string> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const orgId = await newTenant(store);
    const { windowEndsAtMs, atMs } = await readGuard(store, orgId, { nowMs: Date.now() });
    if (windowEndsAtMs - atMs > WINDOW_NEEDED_MS) return orgId;
  }
  throw new Error('every window is about to end');
}

describe('one store operation per request', () => {
  test('three processes with 250 requests at once are admitted exactly 100 times', async () => {
    const orgId = await tenantWithTime();
    const charge = chargeFor(orgId);
    const child = resolve(__dirname, 'take-child.ts');
    const outputs = await Promise.all(
      [84, 83, 83].map((takes) =>
        run(process.execPath, ['--import', 'tsx', child, store.uri, String(takes), JSON.stringify(charge)]),
      ),
    );
    const admitted = outputs.map(({ stdout }) => Number(stdout));
    expect(admitted.reduce((sum, count) => sum + count, 0)).toBe(100);
  });

  test('a spent key leaves the tenant uncharged', async () => {
    const orgId = await newTenant(store);
    const charge = chargeFor(orgId, { limit: 1_000, key: { id: 'key_a', tier: 'standard' } });
    const nowMs = insideWindow(orgId);
    const { burst } = TIER_RATES.standard;
    for (let used = 0; used < burst; used += 1) await takeFromGuard(store, charge, { nowMs });
    const refused = await takeFromGuard(store, charge, { nowMs });
    expect(refused).toMatchObject({ outcome: 'refused', tenant: burst });
    const other = await takeFromGuard(store, { ...charge, key: { id: 'key_b', tier: 'standard' } }, { nowMs });
    expect(other).toMatchObject({ outcome: 'charged', tenant: burst + 1 });
  });

  test('a spent window leaves the key uncharged', async () => {
    const orgId = await newTenant(store);
    const charge = chargeFor(orgId, { limit: 2, key: { id: 'key_a', tier: 'standard' } });
    const nowMs = insideWindow(orgId);
    await takeFromGuard(store, charge, { nowMs });
    const second = await takeFromGuard(store, charge, { nowMs });
    const refused = await takeFromGuard(store, charge, { nowMs });
    expect(refused).toMatchObject({ outcome: 'refused', tenant: 2, tatMs: second.tatMs });
  });

  test('a key gets its sustained rate back one request at a time', async () => {
    const orgId = await newTenant(store);
    const charge = chargeFor(orgId, { limit: 10_000, key: { id: 'key_a', tier: 'standard' } });
    const nowMs = insideWindow(orgId);
    for (let used = 0; used < TIER_RATES.standard.burst; used += 1) await takeFromGuard(store, charge, { nowMs });
    expect((await takeFromGuard(store, charge, { nowMs: nowMs + 999 })).outcome).toBe('refused');
    expect((await takeFromGuard(store, charge, { nowMs: nowMs + 1_000 })).outcome).toBe('charged');
    expect((await takeFromGuard(store, charge, { nowMs: nowMs + 1_000 })).outcome).toBe('refused');
  });

  test('a new window starts empty, forgets full buckets and never gives an older window its room back', async () => {
    const orgId = await newTenant(store);
    const charge = chargeFor(orgId, { limit: 1, key: { id: 'key_a', tier: 'standard' } });
    const nowMs = insideWindow(orgId);
    const first = await takeFromGuard(store, charge, { nowMs });
    const next = await takeFromGuard(store, { ...charge, key: null }, { nowMs: nowMs + WINDOW_MS });
    expect(next).toMatchObject({ outcome: 'charged', tenant: 1, win: first.win + 1 });
    expect((await readGuard(store, orgId, { keyId: 'key_a', nowMs: nowMs + WINDOW_MS })).tatMs).toBe(0);
    const late = await takeFromGuard(store, { ...charge, key: null }, { nowMs });
    expect(late).toMatchObject({ outcome: 'refused', win: first.win + 1 });
  });

  test('a clock that ran an hour ahead and was corrected locks no key out', async () => {
    const orgId = await newTenant(store);
    const charge = chargeFor(orgId, { limit: 10_000, key: { id: 'key_a', tier: 'standard' } });
    const nowMs = insideWindow(orgId);
    await takeFromGuard(store, charge, { nowMs: nowMs + 3_600_000 });
    const depthMs = TIER_RATES.standard.burst * 1_000;
    const first = await takeFromGuard(store, charge, { nowMs });
    expect(first).toMatchObject({ outcome: 'refused', tatMs: nowMs + depthMs });
    const second = await takeFromGuard(store, charge, { nowMs: nowMs + 1_000 });
    expect(second).toMatchObject({ outcome: 'charged', tatMs: nowMs + depthMs + 1_000 });
  });

  test('a charge that waited, and carries an older time, gives a spent key nothing back', async () => {
    const orgId = await newTenant(store);
    const charge = chargeFor(orgId, { limit: 10_000, key: { id: 'key_a', tier: 'standard' } });
    const nowMs = insideWindow(orgId);
    const charges = Array.from({ length: TIER_RATES.standard.burst }, () => charge);
    const spent = (await takeAllFromGuard(store, orgId, charges, { nowMs: nowMs + 1_500 })).at(-1);
    expect(spent?.outcome).toBe('charged');
    const late = await takeFromGuard(store, charge, { nowMs });
    expect(late).toMatchObject({ outcome: 'refused', tatMs: spent?.tatMs });
    expect((await takeFromGuard(store, charge, { nowMs: nowMs + 1_500 })).outcome).toBe('refused');
  });

  test('charges given back ride the next request', async () => {
    const orgId = await newTenant(store);
    const charge = chargeFor(orgId, { limit: 2, key: { id: 'key_a', tier: 'standard' } });
    const nowMs = insideWindow(orgId);
    const first = await takeFromGuard(store, charge, { nowMs });
    await takeFromGuard(store, charge, { nowMs });
    const back = { win: first.win, tenant: 1, mail: 0, keys: { key_a: 1_000 } };
    const third = await takeFromGuard(store, charge, { nowMs, back });
    expect(third).toMatchObject({ outcome: 'charged', tenant: 2, tatMs: nowMs + 2_000 });
    const stale = await takeFromGuard(store, charge, { nowMs, back: { ...back, win: first.win - 1, keys: {} } });
    expect(stale.outcome).toBe('refused');
  });
});

describe('through the guard', () => {
  const spend = async (guard: ReturnType<typeof newGuard>, key: string, times: number) => {
    for (let used = 0; used < times; used += 1) await guard.enter(withKey(key), readPsa);
  };

  async function tenantWithKey(rateLimitPerMinute: number) {
    const orgId = await newTenant(store, { rateLimitPerMinute });
    const clock = movableClock(new Date(insideWindow(orgId)));
    const context = testContext(store, { clock });
    const { key } = await newKey(context, orgId);
    return { orgId, clock, context, key, guard: newGuard(context) };
  }

  test('the refusal names the policy, the limit and when to come back; its headers describe one policy', async () => {
    const { guard, key, clock, orgId } = await tenantWithKey(3);
    await spend(guard, key, 3);
    const refused = await refusalOf(guard, withKey(key));
    expect(refused.status).toBe(429);
    expect(refused.message).toBe('Rate limit exceeded: 3 requests per 1m for this tenant. Retry in 59 s.');
    expect(refused.facts).toEqual({ limit: 3, window: '1m', retryAfter: 59, policy: 'tenant', violated: ['tenant'] });
    const reset = (clock.now().getTime() + 59_000) / 1_000;
    expect(refused.headers).toMatchObject({
      'Retry-After': '59',
      'X-RateLimit-Limit': '3',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(Math.ceil(reset)),
      'RateLimit-Policy': '"key";q=2000;w=60;plat-sustained=1000, "tenant";q=3;w=60',
    });
    expect(orgId).toMatch(/^org_/);
  });

  test('keys and sessions share the window of their tenant', async () => {
    const { guard, key, context, orgId } = await tenantWithKey(2);
    const { cookie } = await signIn(context, orgId);
    await spend(guard, key, 1);
    const admission = await guard.enter(fakeRequest({ cookie }), readPsa);
    expect(admission.headers['X-RateLimit-Remaining']).toBe('0');
    expect((await refusalOf(guard, fakeRequest({ cookie }))).code).toBe('rate_limited');
    expect((await refusalOf(guard, withKey(key))).code).toBe('rate_limited');
  });

  test('a flat figure for all tenants replaces the tier, an override of the tenant replaces both', async () => {
    const config = testConfig({ RATE_TENANT_FLAT: '50' });
    const flat = newGuard(testContext(store, { config }));
    const usual = await newTenant(store);
    const { key } = await newKey(testContext(store, { config }), usual);
    expect((await flat.enter(withKey(key), readPsa)).headers['RateLimit-Policy']).toContain('"tenant";q=50');
    await changeTenant(store, usual, { rateLimitPerMinute: 70 });
    expect((await flat.enter(withKey(key), readPsa)).headers['RateLimit-Policy']).toContain('"tenant";q=70');
  });

  test('a refused client costs at most one store operation a second', async () => {
    const { guard, key, orgId, clock } = await tenantWithKey(1);
    await spend(guard, key, 1);
    await refusalOf(guard, withKey(key));
    const asked = await readGuard(store, orgId, { nowMs: 0 });
    clock.advance(900);
    const refused = await refusalOf(guard, withKey(key));
    expect(refused.facts['retryAfter']).toBe(59);
    expect((await readGuard(store, orgId, { nowMs: 0 })).atMs).toBe(asked.atMs);
    clock.advance(200);
    await refusalOf(guard, withKey(key));
    expect((await readGuard(store, orgId, { nowMs: 0 })).atMs).toBe(asked.atMs + 1_100);
  });

  test('a refusal that is remembered tells each caller about its own key', async () => {
    const { guard, key, context, orgId } = await tenantWithKey(2);
    const { key: unused } = await newKey(context, orgId);
    const { cookie } = await signIn(context, orgId);
    await spend(guard, key, 2);
    await refusalOf(guard, withKey(key));
    const refused = await refusalOf(guard, withKey(unused));
    expect(refused.headers['RateLimit']).toBe('"key";r=2000;t=0, "tenant";r=0;t=59');
    expect((await refusalOf(guard, fakeRequest({ cookie }))).headers['RateLimit']).toBe('"tenant";r=0;t=59');
    expect((await refusalOf(guard, withKey(key))).headers['RateLimit']).toBe('"key";r=1998;t=1, "tenant";r=0;t=59');
  });

  test('a new window is open to every key, however long the one that spent the last must wait', async () => {
    const { guard, key, context, orgId, clock } = await tenantWithKey(100);
    await changeTenant(store, orgId, { tier: 'standard' });
    const { key: unused } = await newKey(context, orgId);
    clock.advance(WINDOW_MS - 1_100);
    await Promise.all(Array.from({ length: 100 }, () => guard.enter(withKey(key), readPsa)));
    expect((await refusalOf(guard, withKey(key))).facts['violated']).toEqual(['key', 'tenant']);
    clock.advance(200);
    await guard.enter(withKey(unused), readPsa);
    expect((await refusalOf(guard, withKey(key))).facts['violated']).toEqual(['key']);
  });

  test('a reply that is not to be counted gives its charge back, once, and its headers say so', async () => {
    const { guard, key } = await tenantWithKey(2);
    for (let poll = 0; poll < 10; poll += 1) {
      const admission = await guard.enter(withKey(key), readPsa);
      expect(admission.headers['X-RateLimit-Remaining']).toBe('1');
      expect(admission.refund()['X-RateLimit-Remaining']).toBe('2');
    }
    await spend(guard, key, 1);
    const twice = await guard.enter(withKey(key), readPsa);
    twice.refund();
    twice.refund();
    await spend(guard, key, 1);
    expect((await refusalOf(guard, withKey(key))).code).toBe('rate_limited');
  });

  test('a charge given back is in the store even when no further request carries it', async () => {
    const { guard, key, orgId, clock } = await tenantWithKey(2);
    const admission = await guard.enter(withKey(key), readPsa);
    admission.refund();
    await guard.close();
    expect((await readGuard(store, orgId, { nowMs: clock.now().getTime() })).tenant).toBe(0);
  });

  test('charges of this window are given back beside one of the last window that comes late', async () => {
    const { guard, key, orgId, clock } = await tenantWithKey(10);
    const old = await guard.enter(withKey(key), readPsa);
    clock.advance(WINDOW_MS);
    const polls = await Promise.all([1, 2, 3].map(() => guard.enter(withKey(key), readPsa)));
    for (const poll of polls) poll.refund();
    old.refund();
    await guard.close();
    expect((await readGuard(store, orgId, { nowMs: clock.now().getTime() })).tenant).toBe(0);
  });

  test('a refusal is not remembered for longer when the clock of the process is set back', async () => {
    const { guard, key, clock } = await tenantWithKey(1);
    await spend(guard, key, 1);
    await refusalOf(guard, withKey(key));
    // Far enough for the guard to begin a window by the corrected clock; the key's bucket counts as empty by it.
    clock.advance(-10 * WINDOW_MS);
    await refusalOf(guard, withKey(key));
    clock.advance(2_000);
    await spend(guard, key, 1);
  });

  test('polling with If-None-Match goes on when the window is spent, ten times as long', async () => {
    const { guard, key } = await tenantWithKey(1);
    const poll = withKey(key, { headers: { 'if-none-match': 'W/"x"' } });
    await spend(guard, key, 1);
    for (let count = 0; count < 10; count += 1) {
      const admission = await guard.enter(poll, readPsa);
      expect(admission.exhausted?.code).toBe('rate_limited');
      expect(admission.exhausted?.headers['Retry-After']).toBe('59');
    }
    const refused = await refusalOf(guard, poll);
    expect(refused.facts['violated']).toEqual(['tenant', 'conditional']);
  });

  test('an admitted request is one store command, of keys and sessions alike', async () => {
    const connection = await createConnection(store.uri, { monitorCommands: true }).asPromise();
    const commands: string[] = [];
    connection.getClient().on('commandStarted', ({ commandName }) => commands.push(commandName));
    const context = testContext({ ...store, connection });
    const orgId = await newTenant(store);
    const { key } = await newKey(context, orgId);
    const { cookie } = await signIn(context, orgId);
    const guard = newGuard(context);
    for (const caller of [withKey(key), fakeRequest({ cookie })]) {
      await guard.enter(caller, readPsa);
      commands.length = 0;
      for (let count = 0; count < 5; count += 1) await guard.enter(caller, readPsa);
      expect(commands).toEqual(Array.from({ length: 5 }, () => 'findAndModify'));
    }
    await connection.close();
  });

  test('unmetered operations show the live state and cost nothing', async () => {
    const { guard, key } = await tenantWithKey(2);
    await spend(guard, key, 1);
    const free = testOperation({ kind: 'product', scopes: ['PSA'], permission: 'products:read' }, { unmetered: true });
    for (let count = 0; count < 5; count += 1) {
      const admission = await guard.enter(withKey(key), free);
      expect(admission.headers['X-RateLimit-Remaining']).toBe('1');
      expect(admission.refund()['X-RateLimit-Remaining']).toBe('1');
    }
    await spend(guard, key, 1);
    expect((await guard.enter(withKey(key), free)).headers['X-RateLimit-Remaining']).toBe('0');
  });

  test('the console’s own requests are outside the window of the tenant', async () => {
    const { guard, context, orgId, key } = await tenantWithKey(1);
    const { cookie } = await signIn(context, orgId);
    const own = testOperation({ kind: 'session', permission: 'session:own' }, { service: 'console' });
    for (let count = 0; count < 5; count += 1) await guard.enter(fakeRequest({ cookie }), own);
    await spend(guard, key, 1);
    expect((await refusalOf(guard, withKey(key))).code).toBe('rate_limited');
    await guard.enter(fakeRequest({ cookie }), own);
  });

  test('a tier is in force on every process when the change is answered', async () => {
    const { guard, key, orgId, context } = await tenantWithKey(5);
    const other = newGuard(context);
    await guard.enter(withKey(key), readPsa);
    await other.enter(withKey(key), readPsa);
    await changeTenant(store, orgId, { rateLimitPerMinute: 3, tier: 'standard' });
    const admission = await other.enter(withKey(key), readPsa);
    expect(admission.headers['RateLimit-Policy']).toBe('"key";q=100;w=60;plat-sustained=60, "tenant";q=3;w=60');
    expect((await refusalOf(guard, withKey(key))).code).toBe('rate_limited');
    await changeTenant(store, orgId, { rateLimitPerMinute: 4 });
    await other.enter(withKey(key), readPsa);
  });
});
