/** Deliveries of one resource take turns: the next one goes when the one before it has ended, whenever that is. */
import { newId } from '../../../src/domain/ids';
import type { Context } from '../../../src/context';
import { deliver } from '../../../src/events/webhooks/deliver';
import * as store from '../../../src/store/deliveries';
import { findWebhook } from '../../../src/store/webhooks';
import type { Harness, TestOrg } from '../../support/harness';
import { eachInOwnOrg, register } from './support';

jest.mock('../../../src/store/deliveries', () => {
  const actual: typeof store = jest.requireActual('../../../src/store/deliveries');
  return { ...actual, firstInLane: jest.fn(actual.firstInLane), takeLane: jest.fn(actual.takeLane) };
});
const actual: typeof store = jest.requireActual('../../../src/store/deliveries');

let harness: Harness;
let org: TestOrg;
eachInOwnOrg(
  (joined) => (harness = joined),
  (given) => (org = given),
);

const event = () => ({
  org_id: org.id,
  event_id: newId('evt'),
  event_type: 'ticket.updated',
  source_product: 'psa',
  occurred_at: new Date().toISOString(),
  payload: {},
  sequence: 1,
  subject: 'tickets/tkt_1',
});

/** A delivery in the lane, claimed by a process that is at it. */
async function claimed(webhookId: string, sequence: number): Promise<store.DeliveryRecord> {
  const now = new Date();
  const until = new Date(now.getTime() + store.LEASE_MS);
  const record: store.DeliveryRecord = {
    _id: newId('dlv'),
    orgId: org.id,
    webhookId,
    eventId: newId('evt'),
    eventType: 'psa:ticket.updated',
    resourceId: 'tkt_1',
    sequence,
    status: 'pending',
    reason: null,
    attempts: [],
    tries: 0,
    claims: 1,
    isClaimed: true,
    nextAttemptAt: until,
    dueAt: until,
    slotAt: null,
    lane: `${webhookId}:tkt_1`,
    holdsLane: false,
    attemptedAt: null,
    lastOk: false,
    lastMs: null,
    deliveredAt: null,
    replayId: null,
    createdAt: now,
    expiresAt: new Date(now.getTime() + 3_600_000),
  };
  await store.openDeliveries(harness.store, [record]);
  return record;
}

/** A process that delivers at once. */
const context = () =>
  ({
    store: harness.store,
    clock: { now: () => new Date() },
    config: { webhooks: { loopback: true, retryScale: 1 } },
    secrets: { open: () => 'whsec_c2VjcmV0' },
    sender: { send: () => Promise.resolve({ statusCode: 200, ms: 1, error: null, response: '', retryAfterMs: null }) },
  }) as unknown as Context;

/** The two at work on one resource, and how either is sent. */
async function two() {
  const { id } = await register(org, 'http://127.0.0.1:9/x', { eventTypes: ['psa:ticket.*'], ordered: true });
  const webhook = (await findWebhook(harness.store, org.id, id)) ?? undefined;
  const known = { ...(webhook ? { webhook } : {}), event: event() };
  const send = (delivery: store.DeliveryRecord) => deliver(context(), delivery, known);
  return { first: await claimed(id, 1), second: await claimed(id, 2), send };
}

/** It is its turn, or it has had it. */
async function hasItsTurn({ _id }: store.DeliveryRecord): Promise<boolean> {
  const found = await actual.findDelivery(harness.store, _id);
  return found?.status !== 'pending' || (found.nextAttemptAt?.getTime() ?? Infinity) <= Date.now();
}

test('one that ends while the next one looks who is before it holds that up no longer', async () => {
  const { first, second, send } = await two();
  jest.mocked(store.firstInLane).mockImplementationOnce(async (...asked) => {
    const found = await actual.firstInLane(...asked);
    expect((await send(first))?.status).toBe('delivered');
    return found;
  });
  await send(second);
  expect(await hasItsTurn(second)).toBe(true);
});

test('one that gives the lane back while the next one asks for it holds that up no longer', async () => {
  const { first, second, send } = await two();
  // It was opened later than the one behind it, which has the lane.
  expect(await actual.takeLane(harness.store, second)).toBe(true);
  jest.mocked(store.takeLane).mockImplementationOnce(async (...asked) => {
    const taken = await actual.takeLane(...asked);
    expect((await send({ ...second, holdsLane: true }))?.status).toBe('delivered');
    return taken;
  });
  await send(first);
  expect(await hasItsTurn(first)).toBe(true);
});

test('one that comes first but not to the lane waits for whoever has it', async () => {
  const { first, second, send } = await two();
  expect(await actual.takeLane(harness.store, second)).toBe(true);
  await send(first);
  expect(await hasItsTurn(first)).toBe(false);
});
