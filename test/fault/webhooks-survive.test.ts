/** Processes die around a webhook delivery: it arrives all the same, and a second copy has the same id. */
import { fire, postEvent } from '../support/agents';
import { joinStack, list, text, waitFor, type Answer, type Harness, type TestOrg } from '../support/harness';
import { startStack, type Stack } from '../support/stack';
import { startHttpServer, type HttpStandIn, type ReceivedRequest } from '../support/stand-ins/http-server';
import { events } from '../../src/store/events';

let stack: Stack;
let harness: Harness;
let sink: HttpStandIn;
let isUp = true;
let delayMs = 0;

beforeAll(async () => {
  sink = await startHttpServer(() => ({ status: isUp ? 200 : 500, delayMs }));
  stack = await startStack();
  harness = joinStack(stack);
}, 240_000);

afterAll(async () => {
  await harness.close();
  await stack.stop();
  await sink.stop();
});

beforeEach(() => {
  isUp = true;
  delayMs = 0;
});

const sinkUrl = (org: TestOrg): string => `${sink.url}/${org.id}`;

/** What this tenant's endpoint received: deliveries of earlier tests that were cut off come again a minute later. */
const receivedBy = (org: TestOrg): ReceivedRequest[] => sink.requests.filter(({ path }) => path === `/${org.id}`);

async function endpoint(org: TestOrg, eventTypes: string[]): Promise<string> {
  const created = await org.call('POST', '/console/api/webhooks', { url: sinkUrl(org), eventTypes });
  expect(created.status).toBe(201);
  return text(created.body['id']);
}

const idsReceivedBy = (org: TestOrg): string[] => receivedBy(org).map(({ headers }) => headers['webhook-id'] ?? '');

const attempt = async (call: () => Promise<Answer>): Promise<Answer | null> => {
  try {
    return await call();
  } catch {
    return null;
  }
};

test('api killed under load: every acknowledged event arrives, duplicates only under the same id', async () => {
  const org = await harness.newOrg();
  const id = await endpoint(org, ['psa:custom.*', 'psa:ticket.created']);
  delayMs = 100;
  const events = Array.from({ length: 15 }, async (_unused, index) => {
    const eventId = `load-${index}`;
    const send = () => attempt(() => postEvent(org, { name: eventId }, { id: eventId }));
    await waitFor(async () => [200, 202].includes((await send())?.status ?? 0), { timeoutMs: 90_000 });
    return eventId;
  });
  const tickets = Array.from({ length: 15 }, (_unused, index) =>
    attempt(() => org.call('POST', '/psa/api/tickets', { subject: `Load ${index}`, priority: 'low' })),
  );
  await waitFor(async () => receivedBy(org).length > 3, { timeoutMs: 30_000 });
  await stack.api.kill();
  await stack.api.start();
  const eventIds = await Promise.all(events);
  const created = (await Promise.all(tickets)).flatMap((answer) =>
    answer?.status === 201 ? text(answer.body['id']) : [],
  );
  await waitFor(async () => eventIds.every((eventId) => idsReceivedBy(org).includes(eventId)), {
    timeoutMs: 120_000,
    what: 'every event',
  });
  await waitFor(
    async () => {
      const seen = receivedBy(org).map(({ body }) => (body as { data: { ticketId?: string } }).data.ticketId);
      return created.every((ticketId) => seen.includes(ticketId));
    },
    { timeoutMs: 120_000, what: 'every ticket' },
  );
  // One delivery per event: what came twice came under one id.
  const { body } = await org.call('GET', `/console/api/webhooks/${id}/deliveries?limit=200`);
  const recorded = list(body['items']).map((delivery) => text(delivery['eventId']));
  expect(new Set(recorded).size).toBe(recorded.length);
  expect([...new Set(idsReceivedBy(org))].filter((eventId) => !recorded.includes(eventId))).toEqual([]);
}, 300_000);

test('api killed between the request and its record: the event arrives again under the same id and is recorded', async () => {
  const org = await harness.newOrg();
  const id = await endpoint(org, ['psa:custom.*']);
  delayMs = 2_000;
  await fire(org, { name: 'Ada' }, { id: 'cut-off' });
  await waitFor(async () => receivedBy(org).length === 1);
  await stack.api.kill();
  delayMs = 0;
  await stack.api.start();
  await waitFor(
    async () => {
      const { body } = await org.call('GET', `/console/api/webhooks/${id}/deliveries`);
      return text(list(body['items'])[0]?.['status']) === 'delivered';
    },
    { timeoutMs: 120_000, what: 'the lease to run out and the relay to deliver' },
  );
  expect(new Set(idsReceivedBy(org))).toEqual(new Set(['cut-off']));
}, 240_000);

test('an event handed over twice, because its outbox was not cleared, is delivered once', async () => {
  const org = await harness.newOrg();
  const id = await endpoint(org, ['psa:ticket.created']);
  const created = await org.call('POST', '/psa/api/tickets', { subject: 'Twice', priority: 'low' });
  await waitFor(async () => receivedBy(org).length === 1);
  const [record] = await events.in(harness.store).find({ org_id: org.id }).lean();
  if (!record) throw new Error('the event was not recorded');
  const { event_id, org_id, event_type, source_product, occurred_at, client_id, payload, sequence, subject } = record;
  const event = {
    id: event_id,
    org_id,
    event_type,
    source_product,
    occurred_at,
    client_id,
    payload,
    sequence,
    subject,
  };
  // As a process leaves it that dies between the event's record and the outbox.
  const tickets = harness.store.connection.collection('psa_tickets');
  const ticket = { _id: text(created.body['id']) } as never;
  await tickets.updateOne(ticket, { $set: { ob: true, _out: [event] } });
  await waitFor(async () => (await tickets.findOne(ticket))?.['ob'] === undefined, { timeoutMs: 60_000 });
  const { body } = await org.call('GET', `/console/api/webhooks/${id}/deliveries`);
  expect(list(body['items'])).toHaveLength(1);
  expect(receivedBy(org)).toHaveLength(1);
}, 120_000);

test('engine away: the first attempt is made, the retries come from the relay, and nothing is lost', async () => {
  const org = await harness.newOrg();
  const id = await endpoint(org, ['psa:ticket.created']);
  isUp = false;
  await stack.services.engine.kill();
  await org.call('POST', '/psa/api/tickets', { subject: 'Engine away', priority: 'low' });
  await waitFor(async () => receivedBy(org).length >= 2, { timeoutMs: 60_000, what: 'a retry without the engine' });
  isUp = true;
  await waitFor(
    async () => {
      const { body } = await org.call('GET', `/console/api/webhooks/${id}/deliveries`);
      return text(list(body['items'])[0]?.['status']) === 'delivered';
    },
    { timeoutMs: 120_000 },
  );
  await stack.services.engine.start();
}, 240_000);

test('all workers away: retries come from the relay', async () => {
  const org = await harness.newOrg();
  const id = await endpoint(org, ['psa:ticket.created']);
  isUp = false;
  await stack.worker.kill();
  await org.call('POST', '/psa/api/tickets', { subject: 'No worker', priority: 'low' });
  await waitFor(async () => receivedBy(org).length >= 1);
  isUp = true;
  await waitFor(
    async () => {
      const { body } = await org.call('GET', `/console/api/webhooks/${id}/deliveries`);
      return text(list(body['items'])[0]?.['status']) === 'delivered';
    },
    { timeoutMs: 150_000, what: 'the relay to step in after its grace' },
  );
  await stack.worker.start();
}, 240_000);
