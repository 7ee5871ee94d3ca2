/** A change of who may do what holds on every process from the moment it is answered: three processes, real HTTP. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Agent } from 'undici';
import type { Context } from '../../src/context';
import { changeUser } from '../../src/store/users';
import { newKey, newTenant, signIn, type SignedIn } from '../integration/auth/support';
import { statusesOn, startFleet, type Fleet } from '../support/api-fleet';
import { comingFrom, request, text, waitFor, type Answer, type Harness } from '../support/harness';

const KEYS = 1_000;
const TENANTS = 5;
/** An address is asked to wait after sixty refusals a minute; these are counted, so they come from several. */
const KEYS_PER_ADDRESS = 20;
/** Requests per process that begin after the reply. */
const AFTERWARDS = 1;
/** Between a client's requests: short beside a revocation, so that some are always under way, and room for the others. */
const BETWEEN_MS = 100;
/** Between requests that wait for a moment to come. */
const ASKED_AGAIN_MS = 20;
/** Needs what tickets need, and asks the store for nothing but leave. */
const CATALOG = '/psa/api/service-catalog';

let fleet: Fleet;
let harness: Harness;
let context: Context;
beforeAll(async () => {
  fleet = await startFleet(3);
  ({ harness, context } = fleet);
}, 240_000);
afterAll(() => fleet.stop());

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const asUser = ({ cookie, csrfToken }: SignedIn): Record<string, string> => ({ cookie, 'x-csrf-token': csrfToken });
const all = (status: number): number[] => fleet.apis.map(() => status);
const read = (headers: Record<string, string>, path = CATALOG): Promise<number[]> =>
  statusesOn(fleet, { path, headers });

/** A console call to one of the processes, each in turn. */
let turn = 0;
function console_(owner: SignedIn, method: string, path: string, body?: unknown): Promise<Answer> {
  turn += 1;
  const { baseUrl } = fleet.apis[turn % fleet.apis.length] ?? { baseUrl: '' };
  const sent = body === undefined ? {} : { body };
  return request(baseUrl, { method, path: `/console/api${path}`, headers: asUser(owner), ...sent });
}

type Issued = Awaited<ReturnType<typeof newKey>>;

interface Revoked {
  /** Requests that began after the reply and were let in. */
  late: number;
  /** Requests that were let in before it, on any process. */
  before: number;
  /** Requests that began after the reply and were 401. */
  refused: number;
  replyMs: number;
}

/** Uses a key on all processes again and again, revokes it meanwhile and counts what was let in afterwards. */
async function revokeUnderLoad({ key, record }: Issued, owner: SignedIn, from: Agent): Promise<Revoked> {
  const counted: Revoked = { late: 0, before: 0, refused: 0, replyMs: 0 };
  let isAnswered = false;
  let tellAnswered: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => (tellAnswered = resolve));
  const known = new Set<string>();
  let allKnow: () => void = () => undefined;
  // Every process has it in its memory by then: that is what must not be believed later.
  const isKnown = new Promise<void>((resolve) => (allKnow = resolve));
  const clients = fleet.apis.map(async ({ baseUrl }) => {
    for (let afterwards = 0; afterwards < AFTERWARDS;) {
      const isLate = isAnswered;
      const { status } = await request(baseUrl, { method: 'GET', path: CATALOG, headers: bearer(key), from });
      if (isLate) afterwards += 1;
      if (status === 401 && isLate) counted.refused += 1;
      if (status === 200) counted[isLate ? 'late' : 'before'] += 1;
      if (status !== 200 && known.size < fleet.apis.length) throw new Error(`a fresh key was answered ${status}`);
      known.add(baseUrl);
      // Refused before the reply: further refusals would show nothing, and spend the limit of the address.
      if (status === 401) await answered;
      if (known.size === fleet.apis.length) allKnow();
      // With the reply the pause ends: what begins right after it is what counts.
      if (!isAnswered) await Promise.race([pause(BETWEEN_MS), answered]);
    }
  });
  await Promise.race([isKnown, Promise.all(clients)]);
  const startedAt = performance.now();
  const { status } = await console_(owner, 'DELETE', `/api-keys/${record._id}`);
  counted.replyMs = performance.now() - startedAt;
  isAnswered = true;
  tellAnswered();
  expect(status).toBe(204);
  await Promise.all(clients);
  return counted;
}

/** Uses a key on every process until it is refused; answers how often it was let in after the moment. */
async function letInAfter(key: string, moment: number): Promise<number> {
  const late = fleet.apis.map(async ({ baseUrl }) => {
    for (let count = 0; ;) {
      const beganAt = Date.now();
      const { status } = await request(baseUrl, { method: 'GET', path: CATALOG, headers: bearer(key) });
      if (status === 401) return count;
      if (beganAt >= moment) count += 1;
      if (beganAt > moment + 5_000) return count;
      await pause(ASKED_AGAIN_MS);
    }
  });
  return (await Promise.all(late)).reduce((total, count) => total + count, 0);
}

describe('other changes', () => {
  let orgId: string;
  let owner: SignedIn;
  beforeAll(async () => {
    orgId = await newTenant(harness.store, { rateLimitPerMinute: 100_000 });
    owner = await signIn(context, orgId);
  });

  test('a scope that was removed opens nothing, the others go on', async () => {
    const { key, record } = await newKey(context, orgId, { scopes: ['PSA', 'CRM'] });
    expect(await read(bearer(key))).toEqual(all(200));
    expect((await console_(owner, 'PATCH', `/api-keys/${record._id}`, { scopes: ['CRM'] })).status).toBe(200);
    expect(await read(bearer(key))).toEqual(all(403));
    expect(await read(bearer(key), '/crm/api/deals')).toEqual(all(200));
  });

  test('an expiry that was brought forward is kept to the second it names', async () => {
    const { key, record } = await newKey(context, orgId, { expiresAt: new Date(Date.now() + 86_400_000) });
    expect(await read(bearer(key))).toEqual(all(200));
    const expiresAt = new Date(Date.now() + 2_000);
    const changed = await console_(owner, 'PATCH', `/api-keys/${record._id}`, { expiresAt: expiresAt.toISOString() });
    expect(changed.status).toBe(200);
    expect(await letInAfter(key, expiresAt.getTime())).toBe(0);
    expect(await read(bearer(key))).toEqual(all(401));
  });

  test('a rotated key works to the end of its overlap and no longer, its successor from the start', async () => {
    const { key, record } = await newKey(context, orgId);
    expect(await read(bearer(key))).toEqual(all(200));
    const rotated = await console_(owner, 'POST', `/api-keys/${record._id}/rotate`, { overlapSeconds: 3 });
    const answeredAt = Date.now();
    expect(await read(bearer(text(rotated.body['key'])))).toEqual(all(200));
    expect(await read(bearer(key))).toEqual(all(200));
    const { body: old } = await console_(owner, 'GET', `/api-keys/${record._id}`);
    const endsAt = Date.parse(text(old['expiresAt']));
    expect(endsAt - answeredAt).toBeGreaterThan(1_000);
    expect(endsAt - answeredAt).toBeLessThanOrEqual(3_000);
    expect(await letInAfter(key, endsAt)).toBe(0);
    expect(await read(bearer(key))).toEqual(all(401));
    expect(await read(bearer(text(rotated.body['key'])))).toEqual(all(200));
  });

  test('without an overlap the old key ends with the reply', async () => {
    const { key, record } = await newKey(context, orgId);
    expect(await read(bearer(key))).toEqual(all(200));
    expect((await console_(owner, 'POST', `/api-keys/${record._id}/rotate`, { overlapSeconds: 0 })).status).toBe(201);
    expect(await read(bearer(key))).toEqual(all(401));
  });

  test('a cookie is worth nothing anywhere once its owner has signed out', async () => {
    const technician = await signIn(context, orgId, 'technician');
    expect(await read(asUser(technician))).toEqual(all(200));
    expect((await console_(technician, 'DELETE', '/session')).status).toBe(204);
    expect(await read(asUser(technician))).toEqual(all(401));
  });

  test('a disabled user and a lowered role are refused by every process', async () => {
    const admin = await signIn(context, orgId, 'admin');
    const keys = '/console/api/api-keys';
    expect(await read(asUser(admin), keys)).toEqual(all(200));
    await changeUser(harness.store, admin.user, { role: 'viewer' });
    expect(await read(asUser(admin), keys)).toEqual(all(403));
    await changeUser(harness.store, admin.user, { disabledAt: new Date() });
    expect(await read(asUser(admin))).toEqual(all(401));
    await changeUser(harness.store, admin.user, { disabledAt: null });
    await waitFor(async () => (await read(asUser(admin))).every((status) => status === 200));
  });
});

test(`${KEYS} keys revoked while they are in use: no request that begins after the reply is let in`, async () => {
  const results: Revoked[] = [];
  // One lane per tenant: keys of one are revoked one after the other, those of all at the same time.
  const lane = async (index: number): Promise<void> => {
    const orgId = await newTenant(harness.store, { rateLimitPerMinute: 100_000 });
    const owner = await signIn(context, orgId);
    for (let made = 0; made < KEYS / TENANTS; made += KEYS_PER_ADDRESS) {
      const from = comingFrom(index * KEYS + made);
      for (let used = 0; used < KEYS_PER_ADDRESS; used += 1)
        results.push(await revokeUnderLoad(await newKey(context, orgId), owner, from));
      await from.close();
    }
  };
  await Promise.all(Array.from({ length: TENANTS }, (_unused, index) => lane(index)));
  const sum = (field: keyof Revoked): number => results.reduce((total, one) => total + one[field], 0);
  expect({ keys: results.length, late: sum('late'), refused: sum('refused') }).toEqual({
    keys: KEYS,
    late: 0,
    refused: KEYS * fleet.apis.length * AFTERWARDS,
  });
  // Otherwise nothing was under way when the keys were revoked, and nothing was shown.
  expect(sum('before')).toBeGreaterThan(KEYS * fleet.apis.length);
  const replies = results.map(({ replyMs }) => replyMs).toSorted((a, b) => a - b);
  process.stderr.write(`revocation p50 ${replies[KEYS / 2]} p99 ${replies[KEYS * 0.99]} before ${sum('before')}\n`);
  expect(replies[KEYS / 2]).toBeLessThan(3_000);
}, 600_000);
