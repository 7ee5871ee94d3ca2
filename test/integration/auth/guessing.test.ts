/** What an address that has used up its refusals still gets: whoever has a key is served, guesses wait and stay cheap. */
import { createConnection, type Connection } from 'mongoose';
import { mintKey } from '../../../src/domain/api-key';
import type { CredentialGuard } from '../../../src/http/admission';
import { changeKey, revokeKey } from '../../../src/store/keys';
import {
  fakeRequest,
  movableClock,
  newGuard,
  newKey,
  newTenant,
  openTestStore,
  readPsa,
  refusalOf,
  testContext,
  type TestStore,
  withKey,
} from './support';

const REFUSALS = 60;
const address = '203.0.113.9';
let store: TestStore;

beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

/** Somebody sends keys that nobody has until the address may send no more of them. */
async function useUp(guard: CredentialGuard): Promise<void> {
  for (let guess = 0; guess < REFUSALS; guess += 1) {
    expect((await refusalOf(guard, withKey(mintKey('platform'), { address }))).status).toBe(401);
  }
}

const expectToWait = async (guard: CredentialGuard, key: string): Promise<void> => {
  const stopped = await refusalOf(guard, withKey(key, { address }));
  expect([stopped.status, stopped.facts['policy']]).toEqual([429, 'ip']);
  expect(stopped.headers['Retry-After']).toBeDefined();
};

test('keys that nobody has wait; other addresses and requests without a key do not', async () => {
  const guard = newGuard(testContext(store));
  await useUp(guard);
  await expectToWait(guard, mintKey('platform'));
  expect((await refusalOf(guard, fakeRequest({}, { address }))).status).toBe(401);
  expect((await refusalOf(guard, withKey(mintKey('platform'), { address: '203.0.113.10' }))).status).toBe(401);
});

test('a valid key is served, the first time this process sees it too', async () => {
  const context = testContext(store);
  const guard = newGuard(context);
  const { key: seen } = await newKey(context, await newTenant(store));
  const { key: unseen, record } = await newKey(context, await newTenant(store));
  await guard.enter(withKey(seen, { address }), readPsa);
  await useUp(guard);
  await guard.enter(withKey(seen, { address }), readPsa);
  const { principal } = await guard.enter(withKey(unseen, { address }), readPsa);
  expect(principal).toMatchObject({ kind: 'key', keyId: record._id });
});

test('revoked and expired keys are 401 and say why', async () => {
  const clock = movableClock();
  const context = testContext(store, { clock });
  const guard = newGuard(context);
  const orgId = await newTenant(store);
  const revoked = await newKey(context, orgId);
  await revokeKey(store, revoked.record, { id: 'usr_x', at: clock.now() });
  const expired = await newKey(context, orgId);
  await changeKey(store, expired.record, { expiresAt: clock.now() });
  await useUp(guard);
  for (const [{ key }, reason] of [
    [revoked, 'revoked'],
    [expired, 'expired'],
  ] as const) {
    const refused = await refusalOf(guard, withKey(key, { address }));
    expect([refused.status, refused.facts]).toEqual([401, { reason }]);
  }
  await expectToWait(guard, mintKey('platform'));
});

describe('what guesses cost the store once the address may send no more', () => {
  let connection: Connection;
  beforeEach(async () => {
    connection = await createConnection(store.uri, { monitorCommands: true }).asPromise();
  });
  afterEach(() => connection.close());

  async function spied() {
    const commands: string[] = [];
    connection.getClient().on('commandStarted', ({ commandName }) => commands.push(commandName));
    const clock = movableClock();
    const context = testContext({ ...store, connection }, { clock });
    const guard = newGuard(context);
    await useUp(guard);
    commands.length = 0;
    return { context, clock, guard, commands };
  }

  test('many at once are looked up together, and a valid key among them is served', async () => {
    const { context, guard, commands } = await spied();
    const { key } = await newKey(context, await newTenant(store));
    commands.length = 0;
    const guesses = Array.from({ length: 300 }, () => expectToWait(guard, mintKey('platform')));
    await Promise.all([...guesses, guard.enter(withKey(key, { address }), readPsa)]);
    // The guesses in one or two; the key's own record, its tenant and their limits in the rest.
    expect(commands.filter((name) => name === 'find').length).toBeLessThan(10);
    expect(commands.length).toBeLessThan(12);
  });

  test('a client that goes on with one wrong key costs one lookup a second', async () => {
    const { clock, guard, commands } = await spied();
    const key = mintKey('platform');
    for (let repeat = 0; repeat < 20; repeat += 1) await expectToWait(guard, key);
    expect(commands).toEqual(['find']);
    clock.advance(1_000);
    await expectToWait(guard, key);
    expect(commands).toEqual(['find', 'find']);
  });
});
