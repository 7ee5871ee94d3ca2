/** The API dies while events come in: each one that was acknowledged reaches its endpoint. */
import { postEvent } from '../support/agents';
import { list, text, waitFor, type Answer } from '../support/harness';
import { startWebhookStage, type WebhookStage } from '../support/webhook-stage';

let stage: WebhookStage;
beforeAll(async () => {
  stage = await startWebhookStage();
}, 240_000);
afterAll(() => stage.stop());

const attempt = async (call: () => Promise<Answer>): Promise<Answer | null> => {
  try {
    return await call();
  } catch {
    return null;
  }
};

test('api killed under load: every acknowledged event arrives, duplicates only under the same id', async () => {
  const org = await stage.harness.newOrg();
  const id = await stage.endpoint(org, ['psa:custom.*', 'psa:ticket.created']);
  stage.receiver.delayMs = 100;
  const events = Array.from({ length: 15 }, async (_unused, index) => {
    const eventId = `load-${index}`;
    const send = () => attempt(() => postEvent(org, { name: eventId }, { id: eventId }));
    await waitFor(async () => [200, 202].includes((await send())?.status ?? 0), { timeoutMs: 90_000 });
    return eventId;
  });
  const tickets = Array.from({ length: 15 }, (_unused, index) =>
    attempt(() => org.call('POST', '/psa/api/tickets', { subject: `Load ${index}`, priority: 'low' })),
  );
  await waitFor(async () => stage.receivedBy(org).length > 3, { timeoutMs: 30_000 });
  await stage.stack.api.kill();
  await stage.stack.api.start();
  const eventIds = await Promise.all(events);
  const created = (await Promise.all(tickets)).flatMap((answer) =>
    answer?.status === 201 ? text(answer.body['id']) : [],
  );
  await waitFor(async () => eventIds.every((eventId) => stage.idsReceivedBy(org).includes(eventId)), {
    timeoutMs: 120_000,
    what: 'every event',
  });
  await waitFor(
    async () => {
      const seen = stage.receivedBy(org).map(({ body }) => (body as { data: { ticketId?: string } }).data.ticketId);
      return created.every((ticketId) => seen.includes(ticketId));
    },
    { timeoutMs: 120_000, what: 'every ticket' },
  );
  // One delivery per event: what came twice came under one id.
  const { body } = await org.call('GET', `/console/api/webhooks/${id}/deliveries?limit=200`);
  const recorded = list(body['items']).map((delivery) => text(delivery['eventId']));
  expect(new Set(recorded).size).toBe(recorded.length);
  expect([...new Set(stage.idsReceivedBy(org))].filter((eventId) => !recorded.includes(eventId))).toEqual([]);
}, 300_000);
