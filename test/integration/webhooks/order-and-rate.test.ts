import { newId } from '../../../src/domain/ids';
import { deliveries } from '../../../src/store/deliveries';
import { fire } from '../../support/agents';
import { list, text, waitFor, type Harness, type TestOrg } from '../../support/harness';
import { deliveriesOf, eachInOwnOrg, idsAt, receiver, register, waitForDelivery } from './support';

let harness: Harness;
let org: TestOrg;
eachInOwnOrg(
  (joined) => (harness = joined),
  (given) => (org = given),
);

test('an ordered endpoint gets the versions of a resource one after the other, also through failures', async () => {
  let under = 0;
  let most = 0;
  const failed = new Set<number>();
  const got: number[] = [];
  const sink = await receiver((request) => {
    const { sequence } = request.body as { sequence: number };
    under += 1;
    most = Math.max(most, under);
    setTimeout(() => (under -= 1), 60);
    // Every version fails at first; the later ones have to wait for it.
    if (!failed.has(sequence)) {
      failed.add(sequence);
      return { status: 500, delayMs: 50 };
    }
    got.push(sequence);
    return { status: 200, delayMs: 50 };
  });
  const endpoint = await register(org, sink.url, {
    eventTypes: ['psa:ticket.created', 'psa:ticket.updated'],
    ordered: true,
  });
  const id = text((await org.call('POST', '/psa/api/tickets', { subject: 'Ordered', priority: 'low' })).body['id']);
  for (let version = 2; version <= 6; version += 1)
    await org.call('PATCH', `/psa/api/tickets/${id}`, { subject: `Ordered ${version}` });
  await waitFor(async () => got.length === 6, { timeoutMs: 60_000, what: 'all six versions' });
  expect(got).toEqual([1, 2, 3, 4, 5, 6]);
  expect(most).toBe(1);
  await waitFor(async () => (await deliveriesOf(org, endpoint, '?status=delivered')).length === 6);
}, 90_000);

test('resources of an ordered endpoint do not wait for each other', async () => {
  const sink = await receiver((request) => ({ status: JSON.stringify(request.body).includes('Bad') ? 500 : 200 }));
  const endpoint = await register(org, sink.url, { eventTypes: ['psa:ticket.*'], ordered: true });
  await org.call('POST', '/psa/api/tickets', { subject: 'Bad', priority: 'low' });
  const good = await org.call('POST', '/psa/api/tickets', { subject: 'Good', priority: 'low' });
  const delivered = await waitForDelivery(org, endpoint, { status: 'delivered' });
  expect(delivered['resourceId']).toBe(good.body['id']);
});

test('a rate spaces deliveries evenly and loses none', async () => {
  const times: number[] = [];
  const sink = await receiver(() => {
    times.push(Date.now());
    return { status: 200 };
  });
  await register(org, sink.url, { ratePerMinute: 60 });
  await Promise.all(['a', 'b', 'c', 'd'].map((id) => fire(org, { name: id }, { id })));
  await waitFor(async () => times.length === 4, { timeoutMs: 30_000 });
  expect(new Set(idsAt(sink)).size).toBe(4);
  expect((times[3] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(2_900);
}, 60_000);

test('a delivery whose process died between claim and record is found by the relay', async () => {
  const sink = await receiver(() => ({ status: 200 }));
  const endpoint = await register(org, sink.url);
  await fire(org, { name: 'Ada' }, { id: newId('evt') });
  const done = await waitForDelivery(org, endpoint, { status: 'delivered' });
  // The record as such a process leaves it: claimed, its lease over.
  await deliveries
    .in(harness.store)
    .updateOne(
      { _id: text(done['id']) },
      { $set: { status: 'pending', isClaimed: true, tries: 0, nextAttemptAt: new Date(0), dueAt: new Date(0) } },
    );
  await waitFor(async () => sink.requests.length === 2);
  await waitForDelivery(org, endpoint, { status: 'delivered' });
  expect(new Set(idsAt(sink)).size).toBe(1);
  expect(list((await org.call('GET', `${endpoint.path}/deliveries`)).body['items'])).toHaveLength(1);
});

test('a rate that is raised holds up nothing that comes after', async () => {
  const sink = await receiver(() => ({ status: 200 }));
  const endpoint = await register(org, sink.url, { ratePerMinute: 1 });
  for (const id of ['first', 'second', 'third']) await fire(org, { name: id }, { id });
  await waitFor(async () => sink.requests.length === 1);
  await waitFor(async () =>
    (await deliveriesOf(org, endpoint, '?status=pending')).every(({ reason }) => text(reason) !== ''),
  );
  expect((await org.call('PATCH', endpoint.path, { ratePerMinute: 600 })).status).toBe(200);
  await fire(org, { name: 'after' }, { id: 'after' });
  await waitForDelivery(org, endpoint, { status: 'delivered', eventId: 'after' });
});

/** An endpoint at which events wait for their places, and what it has received since. */
async function waitingForPlaces(ratePerMinute: number, waiting: number) {
  const times: number[] = [];
  const sink = await receiver(() => {
    times.push(Date.now());
    return { status: 200 };
  });
  const endpoint = await register(org, sink.url, { ratePerMinute });
  for (let nth = 0; nth <= waiting; nth += 1) await fire(org, {}, { id: `waits-${nth}` });
  await waitFor(async () => (await deliveriesOf(org, endpoint, '?status=delivered')).length === 1);
  await waitFor(async () => {
    const pending = await deliveriesOf(org, endpoint, '?status=pending');
    return pending.length === waiting && pending.every(({ reason }) => text(reason) === 'the endpoint has a rate');
  });
  return { endpoint, times };
}

test.each([600, null])('what waits for its place in a rate goes at the new one: %s', async (ratePerMinute) => {
  const { endpoint, times } = await waitingForPlaces(1, 3);
  expect((await org.call('PATCH', endpoint.path, { ratePerMinute })).status).toBe(200);
  await waitFor(async () => times.length === 4, { timeoutMs: 10_000, what: 'all that waited' });
});

test('what waits for its place in a rate that is lowered goes no faster than the new one', async () => {
  const { endpoint, times } = await waitingForPlaces(12, 3);
  expect((await org.call('PATCH', endpoint.path, { ratePerMinute: 1 })).status).toBe(200);
  const changed = times.length;
  await waitFor(async () => {
    const places = (await deliveriesOf(org, endpoint, '?status=pending'))
      .map(({ nextAttemptAt }) => Date.parse(text(nextAttemptAt)))
      .toSorted((one, other) => one - other);
    const apart = places.slice(1).map((place, nth) => place - (places[nth] ?? 0));
    return places.length > 1 && apart.every((gap) => gap >= 60_000);
  });
  expect(times.length - changed).toBeLessThanOrEqual(1);
});

test('thousands that wait for one endpoint hold up no deliveries to another', async () => {
  const stuck = await receiver(() => ({ status: 200, delayMs: 14_000 }));
  const busy = await register(org, stuck.url, { eventTypes: ['psa:custom.replayed'] });
  await fire(org, { name: 'Ada' }, { id: newId('evt'), event_type: 'custom.replayed' });
  const [one] = await waitFor(async () => {
    const found = await deliveries.in(harness.store).find({ webhookId: busy.id }).lean();
    return found.length > 0 ? found : null;
  });
  const copies = Array.from({ length: 3_000 }, () => {
    const due = { nextAttemptAt: new Date(0), dueAt: new Date(0), isClaimed: false };
    return { ...one, ...due, _id: newId('dlv') } as never;
  });
  await deliveries.in(harness.store).collection.insertMany(copies);
  const sink = await receiver(() => ({ status: 200 }));
  // The second delivery waits for its place in the rate, and is the relay's then.
  await register(org, sink.url, { eventTypes: ['psa:custom.spaced'], ratePerMinute: 60 });
  for (const id of ['first', 'second']) await fire(org, { name: id }, { id, event_type: 'custom.spaced' });
  await waitFor(async () => sink.requests.length === 2, { timeoutMs: 12_000, what: 'the second delivery' });
  await org.call('DELETE', busy.path);
  await deliveries.in(harness.store).deleteMany({ webhookId: busy.id });
}, 60_000);
