/** Processes die around a webhook delivery: it arrives all the same, and a second copy has the same id. */
import { fire } from '../support/agents';
import { list, text, waitFor } from '../support/harness';
import { startWebhookStage, type WebhookStage } from '../support/webhook-stage';
import { events } from '../../src/store/events';

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
}, 240_000);
afterAll(() => stage.stop());

beforeEach(() => {
  stage.receiver.isUp = true;
  stage.receiver.delayMs = 0;
});

test('api killed between the request and its record: the event arrives again under the same id and is recorded', async () => {
  const org = await stage.harness.newOrg();
  const id = await stage.endpoint(org, ['psa:custom.*']);
  stage.receiver.delayMs = 2_000;
  await fire(org, { name: 'Ada' }, { id: 'cut-off' });
  await waitFor(async () => stage.receivedBy(org).length === 1);
  await stage.stack.api.kill();
  stage.receiver.delayMs = 0;
  await stage.stack.api.start();
  await waitFor(
    async () => {
      const { body } = await org.call('GET', `/console/api/webhooks/${id}/deliveries`);
      return text(list(body['items'])[0]?.['status']) === 'delivered';
    },
    { timeoutMs: 120_000, what: 'the lease to run out and the relay to deliver' },
  );
  expect(new Set(stage.idsReceivedBy(org))).toEqual(new Set(['cut-off']));
}, 240_000);

test('an event handed over twice, because its outbox was not cleared, is delivered once', async () => {
  const org = await stage.harness.newOrg();
  const id = await stage.endpoint(org, ['psa:ticket.created']);
  const created = await org.call('POST', '/psa/api/tickets', { subject: 'Twice', priority: 'low' });
  await waitFor(async () => stage.receivedBy(org).length === 1);
  const [record] = await events.in(stage.harness.store).find({ org_id: org.id }).lean();
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
  const tickets = stage.harness.store.connection.collection('psa_tickets');
  const ticket = { _id: text(created.body['id']) } as never;
  await tickets.updateOne(ticket, { $set: { ob: true, _out: [event] } });
  await waitFor(async () => (await tickets.findOne(ticket))?.['ob'] === undefined, { timeoutMs: 60_000 });
  const { body } = await org.call('GET', `/console/api/webhooks/${id}/deliveries`);
  expect(list(body['items'])).toHaveLength(1);
  expect(stage.receivedBy(org)).toHaveLength(1);
}, 120_000);

test('engine away: the first attempt is made, the retries come from the relay, and nothing is lost', async () => {
  const org = await stage.harness.newOrg();
  const id = await stage.endpoint(org, ['psa:ticket.created']);
  stage.receiver.isUp = false;
  await stage.stack.services.engine.kill();
  await org.call('POST', '/psa/api/tickets', { subject: 'Engine away', priority: 'low' });
  await waitFor(async () => stage.receivedBy(org).length >= 2, {
    timeoutMs: 60_000,
    what: 'a retry without the engine',
  });
  stage.receiver.isUp = true;
  await waitFor(
    async () => {
      const { body } = await org.call('GET', `/console/api/webhooks/${id}/deliveries`);
      return text(list(body['items'])[0]?.['status']) === 'delivered';
    },
    { timeoutMs: 120_000 },
  );
  await stage.stack.services.engine.start();
}, 240_000);

test('all workers away: retries come from the relay', async () => {
  const org = await stage.harness.newOrg();
  const id = await stage.endpoint(org, ['psa:ticket.created']);
  stage.receiver.isUp = false;
  await stage.stack.worker.kill();
  await org.call('POST', '/psa/api/tickets', { subject: 'No worker', priority: 'low' });
  await waitFor(async () => stage.receivedBy(org).length >= 1);
  stage.receiver.isUp = true;
  await waitFor(
    async () => {
      const { body } = await org.call('GET', `/console/api/webhooks/${id}/deliveries`);
      return text(list(body['items'])[0]?.['status']) === 'delivered';
    },
    { timeoutMs: 150_000, what: 'the relay to step in after its grace' },
  );
  await stage.stack.worker.start();
}, 240_000);
