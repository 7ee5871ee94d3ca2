import { events, FEED_HORIZON_MS, type EventRecord } from '../../../src/store/events';
import { derivedId } from '../../../src/domain/ids';
import { fire } from '../../support/agents';
import { list, text, waitFor, type Body, type Harness, type TestOrg } from '../../support/harness';
import { eachInOwnOrg } from './support';

let harness: Harness;
let org: TestOrg;
eachInOwnOrg(
  (joined) => (harness = joined),
  (given) => (org = given),
);

const FEED = '/console/api/events';
const read = async (query = '') => (await org.call('GET', `${FEED}${query}`)).body;
const idsIn = (page: Body): string[] => list(page['items']).map((item) => text(item['id']));

/** An event that was recorded some time ago. */
const past = (id: string, agoMs: number, more: Partial<EventRecord> = {}): EventRecord => ({
  _id: derivedId('evl', org.id, id),
  org_id: org.id,
  event_id: id,
  event_type: 'ticket.created',
  source_product: 'psa',
  occurred_at: new Date(Date.now() - agoMs).toISOString(),
  received_at: new Date(Date.now() - agoMs),
  client_id: null,
  payload: { subject: id },
  sequence: null,
  subject: null,
  resource_id: null,
  webhooks: [],
  outcomes: [],
  opening: false,
  ...more,
});
const store = (records: EventRecord[]) => events.in(harness.store).collection.insertMany(records as never);
const MINUTE = 60_000;

test('the log is read oldest first, and the last token leads to what comes next', async () => {
  await store([past('b', 2 * MINUTE), past('a', 3 * MINUTE), past('c', MINUTE)]);
  const first = await read('?limit=2');
  expect([idsIn(first), first['hasMore']]).toEqual([['a', 'b'], true]);
  const second = await read(`?limit=2&after=${text(first['continuationToken'])}`);
  expect([idsIn(second), second['hasMore']]).toEqual([['c'], false]);
  await store([past('d', FEED_HORIZON_MS - 1_000)]);
  const third = await waitFor(async () => {
    const page = await read(`?after=${text(second['continuationToken'])}`);
    return idsIn(page).length > 0 ? page : null;
  });
  expect(idsIn(third)).toEqual(['d']);
});

test('two tokens at once are refused, because one of them would be ignored', async () => {
  await store([past('a', 3 * MINUTE), past('b', 2 * MINUTE)]);
  const one = text((await read('?limit=1'))['continuationToken']);
  const other = text((await read('?limit=2'))['continuationToken']);
  const both = await org.call('GET', `${FEED}?after=${one}&continuationToken=${other}`);
  expect([both.status, both.text]).toEqual([400, expect.stringContaining('after: is another name')]);
  expect(idsIn(await read(`?after=${one}&continuationToken=${one}`))).toEqual(['b']);
});

test('events of one moment are neither skipped nor repeated', async () => {
  const at = { received_at: new Date(Date.now() - MINUTE) };
  await store(['p', 'q', 'r', 's', 't'].map((id) => past(id, MINUTE, at)));
  const seen: string[] = [];
  let token = '';
  for (let page = 0; page < 10; page += 1) {
    const body = await read(`?limit=2${token ? `&continuationToken=${token}` : ''}`);
    seen.push(...idsIn(body));
    token = text(body['continuationToken']);
    if (!body['hasMore']) break;
  }
  expect(seen.toSorted()).toEqual(['p', 'q', 'r', 's', 't']);
});

test('an event that becomes visible late is not behind anybody who reads along', async () => {
  await store([past('before', MINUTE)]);
  const seen: string[] = [];
  let token = text((await read())['continuationToken']);
  // Written by a process that took its time: received earlier than others that were visible before it.
  await store([past('young', 2_000)]);
  const follow = async (): Promise<void> => {
    const body = await read(`?after=${token}`);
    seen.push(...idsIn(body));
    token = text(body['continuationToken']);
  };
  await follow();
  await store([past('late', 4_000)]);
  await waitFor(
    async () => {
      await follow();
      return seen.length >= 2;
    },
    { timeoutMs: 30_000 },
  );
  expect(seen).toEqual(['late', 'young']);
}, 60_000);

test('it can be narrowed to types and to one resource, and a token is for one reading only', async () => {
  await store([
    past('t1', 5 * MINUTE, { resource_id: 'tkt_1', subject: 'tickets/tkt_1', sequence: 1 }),
    past('t2', 4 * MINUTE, {
      event_type: 'ticket.updated',
      resource_id: 'tkt_1',
      subject: 'tickets/tkt_1',
      sequence: 2,
    }),
    past('c1', 3 * MINUTE, { source_product: 'crm', event_type: 'company.created' }),
  ]);
  expect(idsIn(await read('?eventTypes=psa:ticket.*'))).toEqual(['t1', 't2']);
  expect(idsIn(await read('?eventTypes=psa:ticket.updated,crm:*'))).toEqual(['t2', 'c1']);
  const one = await read('?resourceId=tkt_1');
  expect(idsIn(one)).toEqual(['t1', 't2']);
  expect(list(one['items'])[1]).toMatchObject({
    type: 'ticket.updated',
    sequence: 2,
    data: { id: 'tkt_1', version: 2 },
  });
  const token = text(one['continuationToken']);
  expect((await org.call('GET', `${FEED}?after=${token}`)).status).toBe(400);
  const wrong = await org.call('GET', `${FEED}?eventTypes=psa:ticket.creatd`);
  expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining('psa:ticket.created')]);
});

test('thirty days are kept, and another org reads its own log only', async () => {
  await store([past('old', 31 * 86_400_000), past('new', MINUTE)]);
  expect(idsIn(await read())).toEqual(['new']);
  const other = await harness.newOrg();
  expect(idsIn((await other.call('GET', FEED)).body)).toEqual([]);
});

test('events of the product are in the feed in the spelling of the API', async () => {
  await org.call('POST', '/psa/api/tickets', { subject: 'In the feed', priority: 'low' });
  await fire(org, { name: 'Ada' }, { id: 'from-outside' });
  const items = await waitFor(
    async () => {
      const page = list((await read())['items']);
      return page.length >= 2 ? page : null;
    },
    { timeoutMs: 30_000 },
  );
  expect(items.find((item) => text(item['type']) === 'ticket.created')).toMatchObject({
    sourceProduct: 'psa',
    sequence: 1,
    data: { subject: 'In the feed', ticketId: expect.stringMatching(/^tkt_/) as unknown },
  });
}, 60_000);
