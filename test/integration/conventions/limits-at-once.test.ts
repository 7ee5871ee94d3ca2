/** Requests at once: limits on how many records an org may have hold, and changes of one record all take effect. */
import { readConfig } from '../../../src/config';
import { newId } from '../../../src/domain/ids';
import { isDuplicate } from '../../../src/store/collection';
import { insertKeyWithin, revokeKey } from '../../../src/store/keys';
import { newKey, signIn, testContext } from '../auth/support';
import { definitionWith, VARIABLES } from '../../support/agents';
import { joinStack, request, text, type Answer, type Harness, type TestOrg } from '../../support/harness';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

type Call = (method: string, path: string, body?: unknown) => Promise<Answer>;

const callOf =
  (org: TestOrg): Call =>
  (method, path, body) =>
    org.call(method, path, body);

async function asOwner(org: TestOrg): Promise<Call> {
  const context = testContext(harness.store, { config: readConfig(harness.address.env) });
  const { cookie, csrfToken } = await signIn(context, org.id);
  return (method, path, body) =>
    request(harness.address.baseUrl, { method, path, body, headers: { cookie, 'x-csrf-token': csrfToken } });
}

interface Limited {
  call: Call;
  path: string;
  body: unknown;
  /** Room that there is at first. */
  room: number;
}

/** Sends more creates than there is room for, then removes one record and sends them again. */
async function expectLimit({ call, path, body, room }: Limited): Promise<void> {
  const several = (count: number) => Promise.all(Array.from({ length: count }, () => call('POST', path, body)));
  const made = (answers: Answer[]) => answers.filter(({ status }) => status === 201);
  const first = await several(room + 8);
  expect(first.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    ...Array.from({ length: room }, () => 201),
    ...Array.from({ length: 8 }, () => 409),
  ]);
  expect((await call('DELETE', `${path}/${text(made(first)[0]?.body['id'])}`)).status).toBe(204);
  expect(made(await several(4))).toHaveLength(1);
}

test('changes at once without If-Match all take effect, and a rotation among them ends the old key', async () => {
  const org = await harness.newOrg();
  const owner = await asOwner(org);
  const all = (call: Call, path: string, field: string) =>
    Promise.all(Array.from({ length: 60 }, (_unused, index) => call('PATCH', path, { [field]: `Edit ${index}` })));
  const endpoint = { url: 'https://hooks.example.com/x', eventTypes: ['psa:custom.*'] };
  const made = await org.call('POST', '/console/api/webhooks', endpoint);
  const changed = await all(callOf(org), `/console/api/webhooks/${text(made.body['id'])}`, 'description');
  const key = await owner('POST', '/console/api/api-keys', { kind: 'platform', name: 'Sync', scopes: ['PSA'] });
  const path = `/console/api/api-keys/${text(key.body['id'])}`;
  const [edited, rotated] = await Promise.all([
    all(owner, path, 'name'),
    owner('POST', `${path}/rotate`, { overlapSeconds: 600 }),
  ]);
  expect([...changed, ...edited, rotated].map(({ status }) => status)).toEqual([
    ...[...changed, ...edited].map(() => 200),
    201,
  ]);
  expect((await owner('GET', path)).body['expiresAt']).not.toBeNull();
});

test('a record that is there and does not count any more is met at once, and not looked past for a number', async () => {
  const org = await harness.newOrg();
  const context = testContext(harness.store, { config: readConfig(harness.address.env) });
  const { record } = await newKey(context, org.id);
  await revokeKey(harness.store, record, { id: 'usr_x', at: new Date() });
  const begunAt = performance.now();
  const refused = await insertKeyWithin(harness.store, record, 100).catch((error: unknown) => error);
  expect(isDuplicate(refused)).toBe(true);
  expect(performance.now() - begunAt).toBeLessThan(100);
});

test('twenty webhook endpoints', async () => {
  const org = await harness.newOrg();
  const body = { url: 'https://hooks.example.com/x', eventTypes: ['psa:custom.*'] };
  await expectLimit({ call: callOf(org), path: '/console/api/webhooks', body, room: 20 });
});

test('a hundred keys that are not revoked, those included that were made before there were seats', async () => {
  const org = await harness.newOrg();
  const context = testContext(harness.store, { config: readConfig(harness.address.env) });
  const keys = harness.store.connection.collection('api_keys');
  const count = () => keys.countDocuments({ orgId: org.id, revokedAt: null });
  while ((await count()) < 94) await newKey(context, org.id);
  const body = { kind: 'platform', name: 'Sync', scopes: ['PSA'] };
  await expectLimit({ call: await asOwner(org), path: '/console/api/api-keys', body, room: 6 });
  expect(await count()).toBe(100);
});

test('a thousand agents', async () => {
  const org = await harness.newOrg();
  const body = definitionWith([VARIABLES]);
  const path = '/agents/api/agents';
  const one = await org.call('POST', path, body);
  const agents = harness.store.connection.collection('agents');
  const record = await agents.findOne({ _id: one.body['id'] } as never);
  await agents.insertMany(
    Array.from({ length: 993 }, () => {
      const { seat: _seat, ...older } = { seat: 0, ...record };
      return { ...older, _id: newId('agt') } as never;
    }),
  );
  await expectLimit({ call: callOf(org), path, body, room: 6 });
  expect(await agents.countDocuments({ org_id: org.id, deleting: false })).toBe(1_000);
});
