/** The daily number of idempotency keys: exact over several processes, and nothing but new keys is refused. */
import { createConnection } from 'mongoose';
import { countKey, KEYS_PER_DAY, uncountKey } from '../../../src/http/auth-quota';
import { openStore } from '../../../src/store/connect';
import { drawShare } from '../../../src/store/idempotency-quota';
import { movableClock, newTenant, openTestStore, testContext, type TestStore } from '../auth/support';
import { joinStack, request, type Harness } from '../../support/harness';

let harness: Harness;
let store: TestStore;
beforeAll(async () => {
  harness = joinStack();
  store = await openTestStore();
});
afterAll(async () => {
  await store.close();
  await harness.close();
});

/** Leaves the tenant only so many keys of today. */
async function leaveKeys(of: Pick<TestStore, 'connection'>, orgId: string, left: number): Promise<void> {
  await of.connection.collection('idempotency_quotas').insertOne({
    _id: `${orgId}:${new Date().toISOString().slice(0, 10)}`,
    used: KEYS_PER_DAY - left,
    drawn: 0,
    expires_at: new Date(Date.now() + 86_400_000),
  } as never);
}

test('429 for one key too many; repeats and requests without a key go on', async () => {
  const org = await harness.newOrg();
  await leaveKeys(harness.store, org.id, 2);
  const post = (key?: string) =>
    org.call('POST', '/psa/api/tickets', { subject: 'x' }, key === undefined ? {} : { 'idempotency-key': key });
  const first = await post('one');
  expect([first.status, (await post('one')).status, (await post('two')).status]).toEqual([201, 201, 201]);
  const spent = await post('three');
  expect([spent.status, spent.body['code']]).toEqual([429, 'IDEMPOTENCY_QUOTA_EXCEEDED']);
  expect(spent.text).toContain('Requests without the header still work');
  expect(spent.body['details']).toEqual({
    limit: 10_000,
    window: '1d',
    retryAfter: Number(spent.headers.get('retry-after')),
    policy: 'idempotency',
  });
  expect(Number(spent.headers.get('retry-after'))).toBeLessThanOrEqual(86_400);
  expect(Number(spent.headers.get('x-ratelimit-remaining'))).toBeGreaterThan(0);
  const repeat = await post('one');
  expect([repeat.status, repeat.headers.get('idempotency-replayed'), repeat.text]).toEqual([201, 'true', first.text]);
  expect((await post()).status).toBe(201);
  const agents = await request(harness.address.baseUrl, {
    method: 'POST',
    path: '/agents/api/templates/nope/clone',
    body: {},
    headers: { authorization: `Bearer ${org.key}`, 'idempotency-key': 'four' },
  });
  expect([agents.status, agents.body['error']]).toEqual([429, 'idempotency_quota_exceeded']);
  expect(
    (await (await harness.newOrg()).call('POST', '/psa/api/tickets', { subject: 'x' }, { 'idempotency-key': 'one' }))
      .status,
  ).toBe(201);
});

test('three processes with 400 new keys at once and 150 left count exactly 150', async () => {
  const orgId = await newTenant(store);
  await leaveKeys(store, orgId, 150);
  const others = [openStore(store.uri), openStore(store.uri), openStore(store.uri)];
  const contexts = others.map((other) => testContext(other));
  const counted = await Promise.all(
    Array.from({ length: 400 }, (_unused, index) => countKey(contexts[index % 3] as never, orgId)),
  );
  expect(counted.filter(Boolean)).toHaveLength(150);
  await Promise.all(others.map((other) => other.close()));
});

test('a key that was in use is given back, and the next day begins anew', async () => {
  const clock = movableClock();
  const context = testContext(store, { clock });
  const orgId = await newTenant(store);
  await leaveKeys(store, orgId, 1);
  expect([await countKey(context, orgId), await countKey(context, orgId)]).toEqual([true, false]);
  uncountKey(context, orgId);
  expect([await countKey(context, orgId), await countKey(context, orgId)]).toEqual([true, false]);
  clock.advance(86_400_000);
  expect(await countKey(context, orgId)).toBe(true);
});

test('a hundred keys cost one store operation, and shares shrink as the day fills', async () => {
  const connection = await createConnection(store.uri, { monitorCommands: true }).asPromise();
  const commands: string[] = [];
  connection.getClient().on('commandStarted', ({ commandName }) => commands.push(commandName));
  const context = testContext({ ...store, connection });
  const orgId = await newTenant(store);
  await drawShare(store, { orgId, at: new Date(), limit: KEYS_PER_DAY });
  for (let count = 0; count < 100; count += 1) await countKey(context, orgId);
  expect(commands.filter((name) => name === 'findAndModify')).toHaveLength(1);
  await connection.close();

  const filling = await newTenant(store);
  await leaveKeys(store, filling, 400);
  const drawn = await drawShare(store, { orgId: filling, at: new Date(), limit: KEYS_PER_DAY });
  expect(drawn).toBe(20);
});
