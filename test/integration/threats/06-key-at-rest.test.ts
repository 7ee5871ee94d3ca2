/** Who reads the whole store has no key: hashes under a pepper that is not in it, and nothing beside them. */
import { createHash } from 'node:crypto';
import { list, request, text } from '../../support/harness';
import { startApi } from '../../support/stack';
import { bearer, openBorder, type Border, type Tenant } from './tenants';

let border: Border;
let tenant: Tenant;
beforeAll(async () => {
  border = openBorder();
  tenant = await border.newTenant({ isEmpty: true });
});
afterAll(() => border.stop());

const KEYS = '/console/api/api-keys';

async function console_(method: string, path: string, body?: unknown, more: Record<string, string> = {}) {
  const answer = await border.request({ method, path, body, headers: { ...tenant.sessions.owner, ...more } });
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
  return answer;
}

/** All documents of the store as text. */
async function dump(): Promise<string> {
  const { db } = border.store.connection;
  let all = '';
  for (const { name } of (await db?.listCollections().toArray()) ?? [])
    all += JSON.stringify(await db?.collection(name).find().sort({ _id: -1 }).limit(5_000).toArray());
  return all;
}

test('a dump of the whole store holds no key, nor what a key could be told from', async () => {
  const created = await console_(
    'POST',
    KEYS,
    { kind: 'platform', name: 'At rest', scopes: ['PSA'] },
    { 'idempotency-key': 'rest' },
  );
  const rotated = await console_(
    'POST',
    `${KEYS}/${text(created.body['id'])}/rotate`,
    {},
    { 'idempotency-key': 'turn' },
  );
  const mail = await console_('POST', KEYS, { kind: 'mail', name: 'At rest', scopes: ['send'] });
  const keys = [created, rotated, mail].map(({ body }) => text(body['key']));
  expect(keys.map((key) => key.length > 30)).toEqual([true, true, true]);
  const [used = ''] = keys;
  expect((await border.request({ method: 'GET', path: '/psa/api/tickets', headers: bearer(used) })).status).toBe(200);
  const stored = await dump();
  expect(stored).toContain(text(created.body['id']));
  for (const key of keys) {
    const secret = key.slice(key.lastIndexOf('_') + 1);
    // The last four characters are shown to people; eight would already be half a secret.
    expect(stored).toContain(secret.slice(-4));
    for (let start = 0; start + 8 <= secret.length; start += 1)
      expect(stored).not.toContain(secret.slice(start, start + 8));
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      expect(stored).not.toContain(createHash('sha256').update(key).digest(encoding));
  }
  const listed = await console_('GET', `${KEYS}?limit=200`);
  expect(list(listed.body['items']).length).toBeGreaterThanOrEqual(3);
  expect(keys.filter((key) => listed.text.includes(key))).toEqual([]);
});

test('a process with another pepper knows none of the keys', async () => {
  const other = await startApi(border.address, { KEY_PEPPER: 'another-pepper-another-pepper-another-0' });
  const read = (baseUrl: string) =>
    request(baseUrl, { method: 'GET', path: '/psa/api/tickets', headers: bearer(tenant.key) });
  expect([(await read(other.baseUrl)).status, (await read(border.address.baseUrl)).status]).toEqual([401, 200]);
  await other.api.stop();
});
