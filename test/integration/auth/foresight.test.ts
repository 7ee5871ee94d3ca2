/** Reads begin while they are charged: who they are begun for, and when what they find may be answered. */
import type { Foresight } from '../../../src/http/guard';
import { changeKey, revokeKey } from '../../../src/store/keys';
import {
  newGuard,
  newKey,
  newTenant,
  openTestStore,
  readPsa,
  testContext,
  testOperation,
  type TestStore,
  withKey,
} from './support';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

type Told = Parameters<Foresight>[0];

async function visitor(options: { rateLimitPerMinute?: number } = {}) {
  const context = testContext(store);
  const guard = newGuard(context);
  const orgId = await newTenant(store, options);
  const { key, record } = await newKey(context, orgId);
  const told: Told[] = [];
  const enter = (operation = readPsa) => guard.enter(withKey(key), operation, (caller) => told.push(caller));
  return { orgId, record, told, enter };
}

test('a caller who is known and may is told of, and admitted as the same', async () => {
  const { told, enter, orgId } = await visitor();
  await enter();
  const admission = await enter();
  expect(admission).toMatchObject({ isForeseen: true, principal: { orgId } });
  expect(told.at(-1)).toEqual({ principal: admission.principal, epoch: admission.epoch });
});

test('what was begun for a caller who has changed meanwhile may not be answered', async () => {
  const { told, enter, record } = await visitor();
  await enter();
  await changeKey(store, record, { scopes: ['PSA', 'CRM'] });
  const admission = await enter();
  expect(told.at(-1)?.principal).toMatchObject({ scopes: ['PSA'] });
  expect(admission).toMatchObject({ isForeseen: false, principal: { scopes: ['PSA', 'CRM'] } });
});

test('a revoked key is told of for as long as it is remembered, and refused all the same', async () => {
  const { told, enter, record } = await visitor();
  await enter();
  await revokeKey(store, record, { id: 'usr_x', at: new Date() });
  await expect(enter()).rejects.toMatchObject({ status: 401 });
  const count = told.length;
  await expect(enter()).rejects.toMatchObject({ status: 401 });
  expect(told).toHaveLength(count);
});

test('nothing is begun for who lacks the scope, or is sure to be refused by a limit', async () => {
  const { told, enter } = await visitor({ rateLimitPerMinute: 2 });
  const crm = testOperation({ kind: 'product', scopes: ['CRM'], permission: 'products:read' });
  await enter();
  await expect(enter(crm)).rejects.toMatchObject({ status: 403 });
  expect(told).toHaveLength(1);
  await expect(enter()).rejects.toMatchObject({ status: 429 });
  const count = told.length;
  await expect(enter()).rejects.toMatchObject({ status: 429 });
  expect(told).toHaveLength(count);
});

test('what nobody is charged for is not begun early', async () => {
  const { told, enter } = await visitor();
  const free = testOperation({ kind: 'product', scopes: ['PSA'], permission: 'products:read' }, { unmetered: true });
  await enter();
  expect((await enter(free)).isForeseen).toBe(false);
  expect(told).toHaveLength(1);
});
