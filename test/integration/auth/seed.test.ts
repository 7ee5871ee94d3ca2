/** The seeded identity: it survives restarts, and the store holds no key in plain text. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seedDemo, type SeedResult } from '../../../scripts/seed';
import { seedIdentity } from '../../../scripts/seed/identity';
import { hashKey } from '../../../src/domain/api-key';
import { verifyPassword } from '../../../src/domain/password';
import { findKeyByHash, revokeKey } from '../../../src/store/keys';
import { findUserByEmail } from '../../../src/store/users';
import {
  fakeRequest,
  newGuard,
  openTestStore,
  readPsa,
  refusalOf,
  testConfig,
  testContext,
  testOperation,
  type TestStore,
  withKey,
} from './support';

let store: TestStore;
let folder: string;
let first: SeedResult;

const seed = () =>
  seedDemo({
    mongodbUri: store.uri,
    env: { SIGNALBOX_MODE: 'development' },
    keysFile: join(folder, 'kept', 'keys.json'),
  });

beforeAll(async () => {
  store = await openTestStore();
  folder = mkdtempSync(join(tmpdir(), 'signalbox-seed-'));
  first = await seed();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await store.close();
});

test('every key does what its name says', async () => {
  const guard = newGuard(testContext(store));
  const agents = testOperation(
    { kind: 'product', scopes: ['Agents'], permission: 'agents:read' },
    { service: 'agents' },
  );
  await guard.enter(withKey(first.keys.plat_all), readPsa);
  await guard.enter(withKey(first.keys.plat_all), agents);
  const second = await guard.enter(withKey(first.keys.second_org_plat_all), readPsa);
  expect([second.principal.orgId, second.headers['X-RateLimit-Limit']]).toEqual([first.second_org_id, '100']);
  expect((await refusalOf(guard, withKey(first.keys.plat_no_scopes))).code).toBe('forbidden');
  expect((await refusalOf(guard, withKey(first.keys.mail_admin))).code).toBe('unauthorized');
  const mail = (scope: string) => ({
    ...testOperation({ kind: 'public' }, { service: 'mail' }),
    access: { kind: 'mail', scopes: [scope] } as never,
  });
  await guard.enter(fakeRequest({ 'x-mail-key': first.keys.mail_admin }), mail('read-logs'));
  await guard.enter(fakeRequest({ 'x-mail-key': first.keys.mail_send }), mail('send-batch'));
  expect((await refusalOf(guard, fakeRequest({ 'x-mail-key': first.keys.mail_send }), mail('read-logs'))).code).toBe(
    'forbidden',
  );
});

test('every user can sign in with the password that was answered', async () => {
  expect(first.users.map(({ role }) => role)).toEqual(['owner', 'admin', 'technician', 'approver', 'viewer', 'owner']);
  for (const { email, password } of first.users) {
    const user = await findUserByEmail(store, email);
    expect(await verifyPassword(password, user?.passwordHash ?? null)).toBe(true);
  }
});

test('a second run answers the same and adds nothing', async () => {
  const counts = async () =>
    Promise.all(['api_keys', 'users', 'tenants'].map((name) => store.connection.collection(name).countDocuments()));
  const before = await counts();
  expect(await seed()).toEqual(first);
  expect(await counts()).toEqual(before);
});

test('the file is for its owner alone, and the store holds no key', async () => {
  expect(statSync(join(folder, 'kept', 'keys.json')).mode & 0o777).toBe(0o600);
  const stored = await Promise.all(
    (await store.connection.listCollections()).map(({ name }) => store.connection.collection(name).find().toArray()),
  );
  const everything = JSON.stringify(stored);
  for (const key of Object.values(first.keys)) expect(everything).not.toContain(key);
  for (const { password } of first.users) expect(everything).not.toContain(password);
});

test('an emptied store gets the same keys back, and a revoked key a successor', async () => {
  const other = await openTestStore();
  const known = {
    keys: first.keys,
    passwords: Object.fromEntries(first.users.map(({ email, password }) => [email, password])),
  };
  const config = testConfig();
  expect((await seedIdentity(other, config, known)).keys).toEqual(first.keys);
  const record = await findKeyByHash(other, hashKey(config.secrets.keyPepper, first.keys.plat_all));
  if (!record) throw new Error('the key was not stored');
  await revokeKey(other, record, { id: 'usr_x', at: new Date() });
  const again = await seedIdentity(other, config, known);
  expect(again.keys.plat_all).not.toBe(first.keys.plat_all);
  expect({ ...again.keys, plat_all: '' }).toEqual({ ...first.keys, plat_all: '' });
  await other.close();
});

test.each(['null', '[]', '{"keys":null,"passwords":5}', '{"keys":{"plat_all":5},"passwords":{"owner@demo.test":7}}'])(
  'a file of keys damaged to %s is made anew',
  async (text) => {
    const file = join(folder, 'kept', 'keys.json');
    const whole = readFileSync(file, 'utf8');
    writeFileSync(file, text);
    const anew = await seed();
    expect(anew.keys.plat_all).toMatch(/^plat_/);
    expect(anew.users.map(({ password }) => typeof password)).toEqual(anew.users.map(() => 'string'));
    expect(readFileSync(file, 'utf8')).not.toBe(text);
    writeFileSync(file, whole);
  },
);
