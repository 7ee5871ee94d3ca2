/** An endpoint that is changed or deleted while events wait for it: what was answered holds for every event not yet sent. */
import { fire } from '../../support/agents';
import { waitFor, type TestOrg } from '../../support/harness';
import { eachInOwnOrg, receiver, register, waitForDelivery } from './support';

let org: TestOrg;
eachInOwnOrg(
  () => undefined,
  (given) => (org = given),
);

/** As many as a process sends to one endpoint at a time, and some that wait behind them. */
const AT_ONCE = 32;
const WAITING = 8;

/** A receiver that is slow, an endpoint that leads to it, and more events than it is sent at once. */
async function crowded() {
  const slow = await receiver(() => ({ delayMs: 3_000 }));
  const endpoint = await register(org, slow.url);
  for (let event = 0; event < AT_ONCE + WAITING; event += 1) await fire(org);
  await waitFor(async () => slow.requests.length === AT_ONCE, { what: 'the lane is full' });
  return { slow, endpoint };
}

test('after a change of the address was answered nothing more goes to the old one', async () => {
  const { slow, endpoint } = await crowded();
  const mended = await receiver(() => ({}));
  expect((await org.call('PATCH', endpoint.path, { url: mended.url })).status).toBe(200);
  await waitFor(async () => mended.requests.length === WAITING, { what: 'those that waited arrive' });
  expect(slow.requests).toHaveLength(AT_ONCE);
});

test('after a deletion was answered nothing more is sent', async () => {
  const { slow, endpoint } = await crowded();
  // Answers later than the slow one: when it has, those that waited behind the slow ones had their turn.
  const later = await receiver(() => ({ delayMs: 5_000 }));
  const beside = await register(org, later.url);
  expect((await org.call('DELETE', endpoint.path)).status).toBe(204);
  await fire(org, {}, { id: 'last' });
  await waitForDelivery(org, beside, { status: 'delivered', eventId: 'last' });
  expect(slow.requests).toHaveLength(AT_ONCE);
});

test('an address that was given up cannot switch off the endpoint by saying that it is gone', async () => {
  const slow = await receiver(() => ({ status: 410, delayMs: 2_000 }));
  const endpoint = await register(org, slow.url);
  await fire(org, {}, { id: 'early' });
  await waitFor(async () => slow.requests.length === 1);
  const mended = await receiver(() => ({}));
  await org.call('PATCH', endpoint.path, { url: mended.url });
  await waitForDelivery(org, endpoint, { status: 'failed', eventId: 'early' });
  const { body } = await org.call('GET', endpoint.path);
  expect(body).toMatchObject({ status: 'active', disabledReason: null, failingSince: null });
  await fire(org, {}, { id: 'next' });
  await waitForDelivery(org, endpoint, { status: 'delivered', eventId: 'next' });
});
