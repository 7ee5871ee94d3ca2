/** One test per kind of receiver, against the running product. */
import { list, text, waitFor, type Harness, type TestOrg } from '../../support/harness';
import { fire, activeAgent, definitionWith, VARIABLES } from '../../support/agents';
import { startCanary } from '../../support/stand-ins/canary';
import { readConfig } from '../../../src/config';
import { deliveryWorkflowIdOf } from '../../../src/contracts/messages';
import { connectEngine } from '../../../src/engine/connect';
import { webhooks } from '../../../src/store/webhooks';
import { deliveriesOf, eachInOwnOrg, idsAt, receiver, register, verified, waitForDelivery } from './support';

let harness: Harness;
let org: TestOrg;
eachInOwnOrg(
  (joined) => (harness = joined),
  (given) => (org = given),
);

const ok = () => receiver(() => ({ status: 200, body: { got: true } }));

test('a ticket arrives signed, in the spelling of the API, and the delivery says how it went', async () => {
  const sink = await ok();
  const endpoint = await register(org, sink.url, { eventTypes: ['psa:ticket.*'] });
  const created = await org.call('POST', '/psa/api/tickets', { subject: 'Printer offline', priority: 'high' });
  const id = text(created.body['id']);
  await waitFor(async () => sink.requests.length > 0);
  const [request] = sink.requests;
  if (!request) throw new Error('nothing came');
  const body = verified(endpoint.secret, request);
  expect(body).toMatchObject({
    id: request.headers['webhook-id'],
    type: 'ticket.created',
    sourceProduct: 'psa',
    apiVersion: '2026-11-20',
    tenantId: org.id,
    sequence: 1,
    data: { id, version: 1, subject: 'Printer offline', priority: 'high', ticketId: id },
  });
  expect(() => verified(`whsec_${Buffer.alloc(32).toString('base64')}`, request)).toThrow(/signature/i);
  const delivery = await waitForDelivery(org, endpoint, { status: 'delivered' });
  expect(delivery).toMatchObject({
    eventId: body['id'],
    eventType: 'psa:ticket.created',
    resourceId: id,
    attempts: [{ statusCode: 200, error: null, response: '{"got":true}' }],
    nextAttemptAt: null,
  });
  await org.call('PATCH', `/psa/api/tickets/${id}`, { priority: 'critical' });
  await waitFor(async () => sink.requests.some(({ body }) => (body as { type: string }).type === 'ticket.updated'));
  const updated = sink.requests.find(({ body }) => (body as { type: string }).type === 'ticket.updated');
  expect(updated?.body).toMatchObject({ sequence: 2, changes: { priority: { from: 'high', to: 'critical' } } });
  expect(updated?.body).not.toHaveProperty('data.changed');
  const shown = await org.call('GET', endpoint.path);
  expect(shown.body['stats24h']).toMatchObject({ failed: 0 });
});

test('thin and CloudEvents bodies', async () => {
  const sink = await ok();
  const thin = await register(org, `${sink.url}/thin`, { eventTypes: ['psa:ticket.created'], payload: 'thin' });
  const cloud = await register(org, `${sink.url}/cloud`, { eventTypes: ['psa:ticket.created'], format: 'cloudevents' });
  const id = text((await org.call('POST', '/psa/api/tickets', { subject: 'Thin', priority: 'low' })).body['id']);
  await waitFor(async () => sink.requests.length === 2);
  const at = (path: string) => {
    const found = sink.requests.find((request) => request.path === path);
    if (!found) throw new Error(`nothing at ${path}`);
    return found;
  };
  expect(verified(thin.secret, at('/thin'))['data']).toEqual({ id });
  expect(at('/cloud').headers['content-type']).toBe('application/cloudevents+json');
  expect(verified(cloud.secret, at('/cloud'))).toMatchObject({
    specversion: '1.0',
    source: '/psa',
    type: 'psa.ticket.created',
    subject: `tickets/${id}`,
    tenantid: org.id,
    sequence: '1',
    data: { id, subject: 'Thin' },
  });
});

test('only what is asked for arrives: types, groups and filters', async () => {
  const sink = await ok();
  await register(org, `${sink.url}/urgent`, {
    eventTypes: ['psa:ticket.created'],
    filters: [{ field: 'priority', operator: 'in', value: ['critical'] }],
  });
  const crm = await register(org, `${sink.url}/crm`, { eventTypes: ['crm:*'] });
  await register(org, `${sink.url}/own`);
  await org.call('POST', '/psa/api/tickets', { subject: 'Not urgent', priority: 'low' });
  await org.call('POST', '/psa/api/tickets', { subject: 'Urgent', priority: 'critical' });
  await fire(org, { name: 'Ada' });
  await waitFor(async () => sink.requests.length === 2);
  expect(sink.requests.map(({ path }) => path).toSorted()).toEqual(['/own', '/urgent']);
  expect(await deliveriesOf(org, crm)).toEqual([]);
});

test('an event from outside arrives as it was sent, and its id is the id of the delivery', async () => {
  const sink = await ok();
  const endpoint = await register(org, sink.url);
  await fire(org, { name: 'Ada', some_field: { deep_er: 1 } }, { id: 'ext-1' });
  await waitFor(async () => sink.requests.length === 1);
  const [request] = sink.requests;
  if (!request) throw new Error('nothing came');
  expect(request.headers['webhook-id']).toBe('ext-1');
  expect(verified(endpoint.secret, request)).toMatchObject({ sequence: null, data: { some_field: { deep_er: 1 } } });
  await fire(org, { name: 'again' }, { id: 'ext-1' });
  await fire(org, { name: 'another' }, { id: 'ext-2' });
  await waitFor(async () => sink.requests.length > 1);
  expect(idsAt(sink)).toEqual(['ext-1', 'ext-2']);
});

test('during a rotation both secrets verify, after it only the new one', async () => {
  const sink = await ok();
  const endpoint = await register(org, sink.url);
  const rotate = async (overlapSeconds: number) =>
    text((await org.call('POST', `${endpoint.path}/rotate-secret`, { overlapSeconds })).body['secret']);
  const second = await rotate(60);
  await fire(org);
  await waitFor(async () => sink.requests.length === 1);
  const third = await rotate(0);
  await fire(org);
  await waitFor(async () => sink.requests.length === 2);
  const [during, after] = sink.requests;
  if (!during || !after) throw new Error('nothing came');
  for (const secret of [endpoint.secret, second]) expect(verified(secret, during)).toHaveProperty('id');
  expect(verified(third, after)).toHaveProperty('id');
  for (const secret of [endpoint.secret, second]) expect(() => verified(secret, after)).toThrow();
});

test('a receiver that fails is tried ten times by a workflow, then the delivery has failed', async () => {
  const sink = await receiver(() => ({ status: 500, body: 'x'.repeat(2_000) }));
  const endpoint = await register(org, sink.url);
  await fire(org, { name: 'Ada' }, { id: 'fails' });
  const failed = await waitForDelivery(org, endpoint, { status: 'failed' }, 60_000);
  expect(sink.requests).toHaveLength(10);
  expect(new Set(idsAt(sink))).toEqual(new Set(['fails']));
  expect(list(failed['attempts'])).toHaveLength(10);
  expect(list(failed['attempts'])[9]).toMatchObject({ statusCode: 500, error: 'answered 500' });
  expect(text(list(failed['attempts'])[0]?.['response'])).toHaveLength(512);
  const shown = await org.call('GET', endpoint.path);
  expect(shown.body).toMatchObject({ status: 'active', stats24h: { ok: 0, failed: 1 } });
  expect(text(shown.body['failingSince'])).toMatch(/^2/);
}, 90_000);

test('a receiver that recovers gets the event, and the endpoint counts as healthy again', async () => {
  const sink = await receiver((_request, nth) => (nth < 4 ? { destroy: true } : { status: 204 }));
  const endpoint = await register(org, sink.url);
  await fire(org);
  const delivered = await waitForDelivery(org, endpoint, { status: 'delivered' });
  expect(list(delivered['attempts']).map((attempt) => attempt['statusCode'])).toEqual([null, null, null, 204]);
  await waitFor(async () => (await org.call('GET', endpoint.path)).body['failingSince'] === null);
}, 60_000);

test('410 disables the endpoint at once; what follows is skipped, and sent after enable and replay', async () => {
  let gone = true;
  const sink = await receiver(() => ({ status: gone ? 410 : 200 }));
  const endpoint = await register(org, sink.url);
  const from = new Date().toISOString();
  await fire(org, { name: 'one' }, { id: 'one' });
  await waitForDelivery(org, endpoint, { status: 'failed', eventId: 'one' });
  const disabled = await waitFor(async () => {
    const { body } = await org.call('GET', endpoint.path);
    return body['status'] === ('disabled' as unknown) ? body : null;
  });
  expect(disabled).toMatchObject({ disabledReason: 'gone' });
  await fire(org, { name: 'two' }, { id: 'two' });
  const skipped = await waitForDelivery(org, endpoint, { status: 'skipped', eventId: 'two' });
  expect(sink.requests).toHaveLength(1);
  const span = { from, to: new Date(Date.now() + 1_000).toISOString() };
  expect((await org.call('POST', `${endpoint.path}/replay`, span)).status).toBe(409);
  expect((await org.call('POST', `/console/api/deliveries/${text(skipped['id'])}/retry`)).status).toBe(409);
  gone = false;
  expect((await org.call('POST', `${endpoint.path}/enable`)).body).toMatchObject({
    status: 'active',
    disabledReason: null,
  });
  // A name no event has is no fault, whatever is in it.
  const nothing = await org.call('POST', `${endpoint.path}/replay`, { ...span, eventTypes: ['a\0b'] });
  expect([nothing.status, nothing.body['matched']]).toEqual([202, 0]);
  const replay = await org.call('POST', `${endpoint.path}/replay`, span);
  expect([replay.status, replay.body['matched']]).toEqual([202, 2]);
  for (const eventId of ['one', 'two']) await waitForDelivery(org, endpoint, { status: 'delivered', eventId });
  expect(
    idsAt(sink)
      .slice(1)
      .toSorted((one, other) => String(one).localeCompare(String(other))),
  ).toEqual(['one', 'two']);
}, 60_000);

test('429 with Retry-After is waited for', async () => {
  const times: number[] = [];
  const sink = await receiver((_request, nth) => {
    times.push(Date.now());
    return nth === 1 ? { status: 429, headers: { 'retry-after': '2' } } : { status: 200 };
  });
  const endpoint = await register(org, sink.url);
  await fire(org);
  await waitForDelivery(org, endpoint, { status: 'delivered' });
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(1_950);
}, 60_000);

test('a redirect is a failure, and where it points to is never reached', async () => {
  const canary = await startCanary();
  const sink = await receiver(() => ({ status: 302, headers: { location: `http://127.0.0.1:${canary.port}/secret` } }));
  const endpoint = await register(org, sink.url);
  await fire(org);
  const delivery = await waitFor(async () => {
    const [first] = await deliveriesOf(org, endpoint);
    return first && list(first['attempts']).length > 0 ? first : null;
  });
  expect(list(delivery['attempts'])[0]).toMatchObject({
    statusCode: 302,
    error: expect.stringContaining('redirect') as unknown,
  });
  await org.call('DELETE', endpoint.path);
  expect(canary.reached).toEqual([]);
  await canary.stop();
});

test('a receiver that hangs is given up after 15 s, and holds up neither agents nor other endpoints', async () => {
  const hanging = await receiver(() => ({ hang: true }));
  const sink = await ok();
  await register(org, hanging.url);
  const other = await register(org, sink.url);
  await activeAgent(org, definitionWith([VARIABLES]));
  const startedAt = Date.now();
  for (let count = 0; count < 40; count += 1) await fire(org, { name: 'Ada' }, { id: `hang-${count}` });
  await waitFor(async () => sink.requests.length === 40);
  expect(Date.now() - startedAt).toBeLessThan(14_000);
  expect(hanging.requests.length).toBeLessThanOrEqual(32);
  await waitForDelivery(org, other, { status: 'delivered', eventId: 'hang-39' });
  const [first] = list((await org.call('GET', `/console/api/webhooks`)).body['items']).slice(-1);
  const endpoint = { id: text(first?.['id']), secret: '', path: `/console/api/webhooks/${text(first?.['id'])}` };
  const attempted = await waitFor(
    async () => (await deliveriesOf(org, endpoint)).find((delivery) => list(delivery['attempts']).length > 0),
    { timeoutMs: 30_000 },
  );
  expect(list(attempted['attempts'])[0]).toMatchObject({
    statusCode: null,
    error: expect.stringContaining('within 15 s') as unknown,
  });
  await org.call('DELETE', endpoint.path);
}, 90_000);

test('a test event is sent at once and neither kept nor counted', async () => {
  const sink = await receiver((_request, nth) => ({ status: nth === 1 ? 200 : 500 }));
  const endpoint = await register(org, sink.url);
  const good = await org.call('POST', `${endpoint.path}/test`, { eventType: 'psa:ticket.escalated' });
  expect(good.body).toMatchObject({ delivered: true, eventType: 'psa:ticket.escalated', attempt: { statusCode: 200 } });
  const [request] = sink.requests;
  expect(request && verified(endpoint.secret, request)).toMatchObject({ data: { test: true } });
  const bad = await org.call('POST', `${endpoint.path}/test`, { eventType: 'psa:ticket.created' });
  expect(bad.body).toMatchObject({ delivered: false, attempt: { statusCode: 500 } });
  expect((await org.call('POST', `${endpoint.path}/test`, { eventType: 'psa:nothing' })).status).toBe(400);
  expect(await deliveriesOf(org, endpoint)).toEqual([]);
  expect((await webhooks.in(harness.store).findById(endpoint.id).lean())?.failures).toBe(0);
});

test('deliveries can be filtered and paged, and another org sees none', async () => {
  const sink = await ok();
  const endpoint = await register(org, sink.url);
  for (let count = 0; count < 5; count += 1) await fire(org, { name: 'Ada' }, { id: `page-${count}` });
  await waitFor(async () => (await deliveriesOf(org, endpoint, '?status=delivered')).length === 5);
  const first = await org.call('GET', `${endpoint.path}/deliveries?limit=3`);
  const rest = await org.call(
    'GET',
    `${endpoint.path}/deliveries?limit=3&continuationToken=${text(first.body['continuationToken'])}`,
  );
  const ids = [...list(first.body['items']), ...list(rest.body['items'])].map((item) => text(item['eventId']));
  expect(new Set(ids).size).toBe(5);
  expect(await deliveriesOf(org, endpoint, '?status=failed')).toEqual([]);
  expect(await deliveriesOf(org, endpoint, '?eventType=psa:custom.test')).toHaveLength(5);
  expect(await deliveriesOf(org, endpoint, `?from=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
  const other = await harness.newOrg();
  expect((await other.call('GET', `${endpoint.path}/deliveries`)).status).toBe(404);
  const id = text(list(first.body['items'])[0]?.['id']);
  expect((await other.call('POST', `/console/api/deliveries/${id}/retry`)).status).toBe(404);
  expect((await org.call('POST', `/console/api/deliveries/${id}/retry`)).status).toBe(202);
  await waitFor(async () => sink.requests.length === 6);
});

test('no secret is in the engine: its history holds the id of the delivery and times', async () => {
  const sink = await receiver((_request, nth) => ({ status: nth < 3 ? 500 : 200 }));
  const endpoint = await register(org, sink.url);
  await fire(org, { name: 'A private thing' }, { id: 'private' });
  await waitForDelivery(org, endpoint, { status: 'delivered' });
  const engine = connectEngine(readConfig(harness.address.env).temporal);
  const workflow = engine.client.workflow.getHandle(deliveryWorkflowIdOf(endpoint.id, 'private'));
  await workflow.result();
  const history = JSON.stringify(await workflow.fetchHistory());
  const decoded = [...history.matchAll(/"data":"([^"]+)"/g)].map(([, data]) =>
    Buffer.from(data ?? '', 'base64').toString(),
  );
  expect(decoded.join('\n')).toContain('delivery_id');
  expect(`${history}${decoded.join('\n')}`).not.toMatch(/whsec_|A private thing/);
  await engine.close();
});
