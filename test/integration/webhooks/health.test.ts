/** An endpoint that fails for days: its owners are told, it is switched off, and nothing it misses is lost. */
import { readConfig } from '../../../src/config';
import { connectEngine, type Engine } from '../../../src/engine/connect';
import { auditEntries } from '../../../src/store/audit';
import { webhooks } from '../../../src/store/webhooks';
import { subjectsTo } from '../../support/mailbox';
import { newUser } from '../auth/support';
import { activeAgent, fire, VARIABLES } from '../../support/agents';
import { sweep } from '../../support/engine';
import { list, text, waitFor, type Harness, type TestOrg } from '../../support/harness';
import { eachInOwnOrg, receiver, register, waitForDelivery, type Endpoint } from './support';

let harness: Harness;
let engine: Engine;
let org: TestOrg;
eachInOwnOrg(
  (joined) => {
    harness = joined;
    engine = connectEngine(readConfig(harness.address.env).temporal);
  },
  (given) => (org = given),
);
afterAll(() => engine.close());

const DAY = 86_400_000;

/** As if the endpoint had failed for so long, so often. */
const hasFailed = ({ id }: Endpoint, days: number, failures: number) =>
  webhooks
    .in(harness.store)
    .updateOne({ _id: id }, { $set: { failingSince: new Date(Date.now() - days * DAY), failures } });

/** The schedule starts one at a time, but an operator may start another, and a late one may meet the next. */
const sweepsAtOnce = () => Promise.all([sweep(engine), sweep(engine), sweep(engine)]);

const statusOf = async (endpoint: Endpoint) => (await org.call('GET', endpoint.path)).body;

test('owners are told half way, at three quarters and at the end, once each', async () => {
  const address = (await newUser(harness.store, org.id)).email;
  const sink = await receiver(() => ({ status: 500 }));
  const endpoint = await register(org, sink.url);
  await hasFailed(endpoint, 2.6, 10);
  await fire(org, { name: 'half' }, { id: 'half' });
  await waitFor(async () => (await webhooks.in(harness.store).findById(endpoint.id).lean())?.noticeStage === 50);
  await sweepsAtOnce();
  await waitFor(async () => (await subjectsTo(harness.address.inboxUrl, address)).length === 1);
  await hasFailed(endpoint, 4, 19);
  await fire(org, { name: 'three' }, { id: 'three' });
  await waitFor(async () => ((await webhooks.in(harness.store).findById(endpoint.id).lean())?.noticeStage ?? 0) >= 75);
  await sweepsAtOnce();
  await hasFailed(endpoint, 6, 30);
  await fire(org, { name: 'end' }, { id: 'end' });
  await waitFor(async () => text((await statusOf(endpoint))['status']) === 'disabled');
  await sweepsAtOnce();
  const subjects = await waitFor(async () => {
    const mails = await subjectsTo(harness.address.inboxUrl, address);
    return mails.length >= 3 ? mails : null;
  });
  expect(subjects.toSorted()).toEqual([
    expect.stringContaining('50 %'),
    expect.stringContaining('75 %'),
    expect.stringContaining('was disabled'),
  ]);
}, 180_000);

test('five days and twenty failures switch it off, with an event that an agent can start on', async () => {
  const watcher = await receiver(() => ({ status: 200 }));
  const watching = await register(org, watcher.url, { eventTypes: ['console:webhook.disabled'] });
  const agentId = await activeAgent(org, {
    name: 'Tell us',
    trigger: { type: 'bus_event', event_type: 'webhook.disabled', source_product: 'console', filters: [] },
    steps: [{ ...VARIABLES, values: { host: '{{event_payload.host}}' } }],
  });
  const sink = await receiver(() => ({ status: 500 }));
  const endpoint = await register(org, sink.url);
  await hasFailed(endpoint, 6, 19);
  await fire(org);
  const disabled = await waitFor(async () => {
    const body = await statusOf(endpoint);
    return text(body['status']) === 'disabled' ? body : null;
  });
  expect(disabled).toMatchObject({ disabledReason: 'failing' });
  await waitForDelivery(org, watching, { status: 'delivered' });
  expect(watcher.requests[0]?.body).toMatchObject({
    type: 'webhook.disabled',
    sourceProduct: 'console',
    data: { webhookId: endpoint.id, reason: 'failing' },
  });
  await waitFor(async () => {
    const { body } = await org.call('GET', `/agents/api/executions?agent_id=${agentId}&status=completed`);
    return list(body['executions']).length === 1;
  });
  // What was under way is kept for later, like everything that follows.
  await waitForDelivery(org, endpoint, { status: 'skipped' }, 60_000);
  const entries = await auditEntries.in(harness.store).find({ orgId: org.id, action: 'webhook.disabled' }).lean();
  expect(entries).toMatchObject([
    {
      actor: { kind: 'system', id: 'system:webhooks' },
      target: { kind: 'webhook', id: endpoint.id },
      details: { reason: 'failing' },
      at: new Date(text(disabled['disabledAt'])),
    },
  ]);
}, 120_000);

test('neither time alone nor failures alone switch it off, and one success begins it all anew', async () => {
  let isUp = false;
  const sink = await receiver(() => ({ status: isUp ? 200 : 500 }));
  const endpoint = await register(org, sink.url);
  await hasFailed(endpoint, 30, 3);
  await fire(org, { name: 'one' }, { id: 'one' });
  await waitFor(async () => sink.requests.length >= 3);
  expect(text((await statusOf(endpoint))['status'])).toBe('active');
  isUp = true;
  await waitForDelivery(org, endpoint, { status: 'delivered', eventId: 'one' }, 60_000);
  await waitFor(async () => (await webhooks.in(harness.store).findById(endpoint.id).lean())?.failures === 0);
  expect((await statusOf(endpoint))['failingSince']).toBeNull();
}, 120_000);

test('a success that another process saw counts before an endpoint is switched off', async () => {
  let isUp = true;
  const sink = await receiver(() => ({ status: isUp ? 200 : 500 }));
  const endpoint = await register(org, sink.url);
  await fire(org, { name: 'good' }, { id: 'good' });
  await waitForDelivery(org, endpoint, { status: 'delivered', eventId: 'good' });
  await hasFailed(endpoint, 6, 40);
  isUp = false;
  await fire(org, { name: 'bad' }, { id: 'bad' });
  await waitFor(async () => sink.requests.length >= 2);
  await waitForDelivery(org, endpoint, { status: 'failed', eventId: 'bad' }, 60_000);
  expect(text((await statusOf(endpoint))['status'])).toBe('active');
}, 120_000);
