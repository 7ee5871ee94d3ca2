import { joinStack, list, text, type Answer, type Harness, type TestOrg } from '../../support/harness';
import { auditEntries } from '../../../src/store/audit';
import { webhooks, type WebhookRecord } from '../../../src/store/webhooks';
import { API } from './support';

let harness: Harness;
let org: TestOrg;

beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());

const URL_OK = 'https://hooks.example.com/in';
const create = (
  fields: Record<string, unknown> = {},
  headers: Record<string, string> = {},
  by = org,
): Promise<Answer> => by.call('POST', API, { url: URL_OK, eventTypes: ['psa:ticket.*'], ...fields }, headers);
const findings = (answer: Answer) =>
  list(answer.body['details']?.['errors'] ?? answer.body['details']?.['findings']).map((finding) =>
    text(finding['path']),
  );

test('an endpoint is registered with defaults, and its secret is shown once', async () => {
  const created = await create();
  expect([created.status, created.text]).toEqual([201, expect.stringContaining('whsec_')]);
  expect(created.body).toMatchObject({
    url: URL_OK,
    eventTypes: ['psa:ticket.*'],
    filters: [],
    payload: 'full',
    format: 'standard',
    ordered: false,
    ratePerMinute: null,
    apiVersion: '2026-11-20',
    status: 'active',
    failingSince: null,
    stats24h: { ok: 0, failed: 0, p95Ms: null },
    version: 1,
  });
  expect(Buffer.from(text(created.body['secret']).slice('whsec_'.length), 'base64')).toHaveLength(32);
  const read = await org.call('GET', `${API}/${text(created.body['id'])}`);
  expect(read.status).toBe(200);
  expect(read.text).not.toContain('whsec_');
  const listed = await org.call('GET', API);
  expect(list(listed.body['items']).map((item) => item['id'])).toContain(created.body['id']);
  expect(listed.text).not.toContain('whsec_');
});

test('the store holds the secret sealed only', async () => {
  const created = await create();
  const stored = JSON.stringify(await webhooks.in(harness.store).findById(text(created.body['id'])).lean());
  const secret = text(created.body['secret']);
  expect(stored).not.toContain('whsec_');
  expect(stored).not.toContain(secret.slice('whsec_'.length));
});

test('a repeat by idempotency key is the same endpoint, without its secret', async () => {
  const one = await harness.newOrg();
  const headers = { 'idempotency-key': 'hook-1' };
  const first = await create({}, headers, one);
  const again = await create({}, headers, one);
  expect(again.status).toBe(201);
  expect(again.body).toMatchObject({ id: first.body['id'], secret: null, secretShown: true });
  expect(await webhooks.in(harness.store).countDocuments({ orgId: one.id })).toBe(1);
});

test.each([
  ['http://hooks.example.com/in', 'https'],
  ['https://hooks.example.com:8080/in', 'port 443 or 8443'],
  ['https://user:pass@hooks.example.com/', 'credentials'],
  ['ftp://127.0.0.1/', 'https'],
  ['not an address', 'complete address'],
  ['https://10.0.0.5/in', 'public internet'],
  ['https://169.254.169.254/latest/meta-data', 'public internet'],
  ['https://2852039166/in', 'public internet'],
  ['https://[fd00::1]:8443/in', 'public internet'],
  ['https://[::ffff:192.168.1.1]/in', 'public internet'],
])('the address %s is refused with the reason', async (url, reason) => {
  const answer = await create({ url });
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(reason)]);
});

test('loopback is allowed in development only by the operator, which this stack does', async () => {
  expect((await create({ url: 'http://127.0.0.1:4000/x' })).status).toBe(201);
});

test('an unknown event type is refused with what was meant', async () => {
  for (const [asked, meant] of [
    ['psa:ticket.creatd', 'psa:ticket.created'],
    ['psa:tickets.*', 'psa:ticket.*'],
    ['PSA:ticket.created', 'psa:ticket.created'],
  ]) {
    const answer = await create({ eventTypes: [asked] });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(`did you mean ${meant}?`)]);
  }
  expect((await create({ eventTypes: ['*'] })).status).toBe(201);
  expect((await create({ eventTypes: ['rmm:custom.patch_done', 'agents:execution.*'] })).status).toBe(201);
});

test('filters are held against the fields of the events that are asked for', async () => {
  const filtered = (filter: Record<string, unknown>) =>
    create({ eventTypes: ['psa:ticket.escalated'], filters: [filter] });
  expect((await filtered({ field: 'priority', operator: 'in', value: ['critical'] })).status).toBe(201);
  const unknown = await filtered({ field: 'priorty', operator: 'eq', value: 'high' });
  expect([unknown.status, unknown.text]).toEqual([400, expect.stringContaining('priority')]);
  const value = await filtered({ field: 'priority', operator: 'eq', value: 'urgent' });
  expect([value.status, value.text]).toEqual([400, expect.stringContaining('/filters/0/value')]);
  const operator = await filtered({ field: 'priority', operator: 'gt', value: 3 });
  expect([operator.status, operator.text]).toEqual([400, expect.stringContaining('/filters/0/operator')]);
});

test('several faults are told at once', async () => {
  const answer = await create({ url: 'http://x.example', eventTypes: ['nope:nothing'] });
  expect(answer.status).toBe(400);
  expect(findings(answer)).toEqual(['/url', '/eventTypes/0']);
});

test('an org has twenty endpoints, and the refusal names the limit', async () => {
  const crowded = await harness.newOrg();
  for (let count = 0; count < 20; count += 1) expect((await create({}, {}, crowded)).status).toBe(201);
  const refused = await create({}, {}, crowded);
  expect(refused.status).toBe(409);
  expect(refused.body).toMatchObject({ details: { limit: 20, name: 'webhook_endpoints' } });
  const paged = await crowded.call('GET', `${API}?limit=15`);
  expect(paged.body).toMatchObject({ hasMore: true, limit: 15 });
  const rest = await crowded.call('GET', `${API}?limit=15&continuationToken=${text(paged.body['continuationToken'])}`);
  expect(list(rest.body['items'])).toHaveLength(5);
  expect((await org.call('GET', `${API}?continuationToken=${text(paged.body['continuationToken'])}`)).status).toBe(400);
});

test('a change honours If-Match and is checked like a registration', async () => {
  const created = await create();
  const path = `${API}/${text(created.body['id'])}`;
  const read = await org.call('GET', path);
  const tag = read.headers.get('etag') ?? '';
  expect((await org.call('GET', path, undefined, { 'if-none-match': tag })).status).toBe(304);
  const changed = await org.call('PATCH', path, { ratePerMinute: 60, ordered: true }, { 'if-match': tag });
  expect(changed.body).toMatchObject({ ratePerMinute: 60, ordered: true, version: 2, url: URL_OK });
  expect((await org.call('PATCH', path, { ordered: false }, { 'if-match': tag })).status).toBe(412);
  expect((await org.call('PATCH', path, { url: 'http://x.example' })).status).toBe(400);
  expect((await org.call('PATCH', path, { eventTypes: ['psa:nothing.at_all'] })).status).toBe(400);
  expect((await org.call('PATCH', path, { status: 'disabled' })).status).toBe(400);
});

test('a rotated secret leaves the old one in force for the overlap and no longer', async () => {
  const created = await create();
  const path = `${API}/${text(created.body['id'])}`;
  const rotated = await org.call('POST', `${path}/rotate-secret`, { overlapSeconds: 60 });
  expect([rotated.status, text(rotated.body['secret'])]).toEqual([201, expect.stringMatching(/^whsec_/)]);
  expect(rotated.body['secret']).not.toBe(created.body['secret']);
  const secrets = list(rotated.body['secrets']);
  expect(secrets.map((secret) => secret['endsAt'] === null)).toEqual([true, false]);
  const now = await org.call('POST', `${path}/rotate-secret`, { overlapSeconds: 0 });
  expect(list(now.body['secrets'])).toHaveLength(1);
  for (let count = 0; count < 4; count += 1)
    expect((await org.call('POST', `${path}/rotate-secret`, {})).status).toBe(201);
  const many = await org.call('POST', `${path}/rotate-secret`, {});
  expect([many.status, many.body['details']]).toEqual([409, expect.objectContaining({ name: 'webhook_secrets' })]);
});

test('a rotation that died before its answer gives a fresh secret and no second rotation', async () => {
  const created = await create();
  const id = text(created.body['id']);
  const path = `${API}/${id}/rotate-secret`;
  const headers = { 'idempotency-key': 'rotate-1' };
  const first = await org.call('POST', path, {}, headers);
  // As if the process had died between the write and the answer.
  await harness.store.connection
    .collection('idempotency')
    .updateMany({ status: 201 }, { $set: { status: null, lease_until: new Date(0) } });
  const again = await org.call('POST', path, {}, headers);
  expect(again.status).toBe(201);
  expect(text(again.body['secret'])).toMatch(/^whsec_/);
  expect(again.body['secret']).not.toBe(first.body['secret']);
  expect(list(again.body['secrets'])).toHaveLength(2);
});

test('a deleted endpoint is gone, and another org never sees one', async () => {
  const created = await create();
  const path = `${API}/${text(created.body['id'])}`;
  const other = await harness.newOrg();
  for (const [method, tail, body] of [
    ['GET', '', undefined],
    ['PATCH', '', { ordered: true }],
    ['DELETE', '', undefined],
    ['POST', '/rotate-secret', {}],
    ['POST', '/enable', undefined],
  ] as const)
    expect((await other.call(method, `${path}${tail}`, body)).status).toBe(404);
  expect((await org.call('DELETE', path)).status).toBe(204);
  expect((await org.call('GET', path)).status).toBe(404);
});

test('a key without the scope Console is refused', async () => {
  const psa = await harness.newOrg({ scopes: ['PSA'] });
  expect((await psa.call('GET', API)).status).toBe(403);
  expect((await create({}, {}, psa)).status).toBe(403);
});

test('every change is in the audit trail, without a secret or the path of the address', async () => {
  const one = await harness.newOrg();
  const created = await create({ url: 'https://hooks.example.com/in?token=hidden' }, {}, one);
  const path = `${API}/${text(created.body['id'])}`;
  await one.call('PATCH', path, { ordered: true });
  await one.call('POST', `${path}/rotate-secret`, {});
  await webhooks.in(harness.store).updateOne({ _id: text(created.body['id']) }, { $set: { status: 'disabled' } });
  expect((await one.call('POST', `${path}/enable`)).body).toMatchObject({ status: 'active' });
  await one.call('DELETE', path);
  const entries = await auditEntries.in(harness.store).find({ orgId: one.id }).sort({ sequence: 1 }).lean();
  expect(entries.map(({ action }) => action)).toEqual([
    'webhook.created',
    'webhook.updated',
    'webhook.rotated',
    'webhook.enabled',
    'webhook.deleted',
  ]);
  expect(JSON.stringify(entries)).not.toMatch(/whsec_|hidden/);
  expect(entries[0]).toMatchObject({ target: { kind: 'webhook', name: 'hooks.example.com' } });
});

test('the event types that can be asked for say which of them start agents', async () => {
  const { body } = await org.call('GET', '/console/api/event-types');
  const byId = new Map(list(body['items']).map((entry) => [text(entry['id']), entry]));
  expect(byId.get('psa:ticket.created')).toMatchObject({ startsAgents: true, sourceProduct: 'psa' });
  expect(byId.get('agents:execution.failed')).toMatchObject({ startsAgents: false });
});

test('stored settings are what was sent', async () => {
  const created = await create({
    filters: [{ field: 'subject', operator: 'contains', value: 'VPN', caseSensitive: true }],
  });
  const stored = await webhooks.in(harness.store).findById(text(created.body['id'])).lean<WebhookRecord>();
  expect(stored?.filters).toEqual([{ field: 'subject', operator: 'contains', value: 'VPN', caseSensitive: true }]);
});
