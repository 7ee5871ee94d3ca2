/** An endpoint that its owner switches off: nothing is sent, nothing is lost, and it says who did it. */
import { auditEntries } from '../../../src/store/audit';
import { disableWebhook } from '../../../src/store/webhooks';
import { fire } from '../../support/agents';
import { list, text, waitFor, type Harness, type TestOrg } from '../../support/harness';
import { eachInOwnOrg, idsAt, receiver, register, waitForDelivery } from './support';

let harness: Harness;
let org: TestOrg;
eachInOwnOrg(
  (joined) => (harness = joined),
  (given) => (org = given),
);

const OFF = { status: 'disabled', disabledReason: 'by_user', failingSince: null };

test('what comes while it is off is kept, and sent after enable and replay', async () => {
  const sink = await receiver(() => ({ status: 200 }));
  const endpoint = await register(org, sink.url);
  await fire(org, {}, { id: 'before' });
  await waitForDelivery(org, endpoint, { status: 'delivered', eventId: 'before' });
  const from = new Date().toISOString();
  const off = await org.call('POST', `${endpoint.path}/disable`);
  expect([off.status, off.body]).toEqual([200, expect.objectContaining(OFF)]);
  await fire(org, {}, { id: 'meanwhile' });
  await waitForDelivery(org, endpoint, { status: 'skipped', eventId: 'meanwhile' });
  expect(idsAt(sink)).toEqual(['before']);
  expect((await org.call('POST', `${endpoint.path}/enable`)).body).toMatchObject({ status: 'active' });
  const span = { from, to: new Date(Date.now() + 1_000).toISOString() };
  expect((await org.call('POST', `${endpoint.path}/replay`, span)).status).toBe(202);
  await waitForDelivery(org, endpoint, { status: 'delivered', eventId: 'meanwhile' });
}, 60_000);

test('what waits for another attempt is kept as well', async () => {
  const sink = await receiver(() => ({ status: 503, headers: { 'retry-after': '2' } }));
  const endpoint = await register(org, sink.url);
  await fire(org, {}, { id: 'waits' });
  await waitFor(async () => sink.requests.length === 1);
  await org.call('POST', `${endpoint.path}/disable`);
  await waitForDelivery(org, endpoint, { status: 'skipped', eventId: 'waits' }, 60_000);
  expect(sink.requests).toHaveLength(1);
}, 90_000);

test('the trail names who did it, once; and other endpoints hear of it', async () => {
  const watcher = await receiver(() => ({ status: 200 }));
  await register(org, watcher.url, { eventTypes: ['console:webhook.disabled'] });
  const endpoint = await register(org, 'http://127.0.0.1:9/x');
  const first = await org.call('POST', `${endpoint.path}/disable`);
  const again = await org.call('POST', `${endpoint.path}/disable`);
  expect([again.status, again.body]).toEqual([200, first.body]);
  await waitFor(async () => watcher.requests.length === 1);
  expect(watcher.requests[0]?.body).toMatchObject({ data: { webhookId: endpoint.id, reason: 'by_user' } });
  const entries = await auditEntries.in(harness.store).find({ orgId: org.id, action: 'webhook.disabled' }).lean();
  expect(entries).toMatchObject([{ actor: { kind: 'api_key' }, details: { reason: 'by_user' } }]);
  const { body } = await org.call('GET', endpoint.path);
  expect(text(body['disabledAt'])).toBe(text(first.body['disabledAt']));
});

test('one that is switched on again at once was switched off all the same, and for what it was', async () => {
  const watcher = await receiver(() => ({ status: 200 }));
  await register(org, watcher.url, { eventTypes: ['console:webhook.disabled'] });
  const byHand = await register(org, 'http://127.0.0.1:9/hand');
  await org.call('POST', `${byHand.path}/disable`);
  await org.call('POST', `${byHand.path}/enable`);
  const failed = await register(org, 'http://127.0.0.1:9/failed');
  const at = { _id: failed.id, orgId: org.id, url: 'http://127.0.0.1:9/failed' };
  await disableWebhook(harness.store, at, 'failing', new Date());
  await org.call('POST', `${failed.path}/enable`);
  await waitFor(async () => watcher.requests.length >= 2);
  const told = watcher.requests.map(({ body }) => (body as { data: Record<string, unknown> }).data);
  expect(told).toHaveLength(2);
  expect(told).toContainEqual(expect.objectContaining({ webhookId: byHand.id, reason: 'by_user' }));
  expect(told).toContainEqual(expect.objectContaining({ webhookId: failed.id, reason: 'failing' }));
  const entries = await auditEntries.in(harness.store).find({ orgId: org.id, action: 'webhook.disabled' }).lean();
  expect(entries).toHaveLength(2);
  expect(entries).toContainEqual(expect.objectContaining({ details: { reason: 'by_user' } }));
  expect(entries).toContainEqual(expect.objectContaining({ details: { reason: 'failing' } }));
});

test('If-Match names the version that is switched off', async () => {
  const endpoint = await register(org, 'http://127.0.0.1:9/x');
  const { headers } = await org.call('GET', endpoint.path);
  const tag = { 'if-match': headers.get('etag') ?? '' };
  await org.call('PATCH', endpoint.path, { ordered: true });
  expect((await org.call('POST', `${endpoint.path}/disable`, undefined, tag)).status).toBe(412);
  expect((await org.call('GET', endpoint.path)).body).toMatchObject({ status: 'active' });
  expect(list((await org.call('GET', '/console/api/webhooks?status=disabled')).body['items'])).toEqual([]);
});
