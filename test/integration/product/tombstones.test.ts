/** Deleted records: told of by lists that ask, restored within 30 days, and then gone for good. */
import { goneUpTo } from '../../../src/domain/tombstones';
import { tickets } from '../../../src/resources/tickets';
import type { AnyRecord } from '../../../src/resources/resource';
import { documentsOf } from '../../../src/store/resource-documents';
import { purgeTombstones } from '../../../src/store/resource-tombstones';
import { notesOf } from '../../../src/resources/notes';
import { RESOURCES, ROWS } from '../../../src/resources/registry';
import { pendingOutbox } from '../../../src/store/resources';
import { waitFor } from '../../support/harness';
import { startDesk, type Answer, type Desk } from './desk';

let desk: Desk;
beforeAll(async () => {
  desk = await startDesk();
});
afterAll(() => desk.stop());
beforeEach(() => {
  desk.setNow(null);
  desk.holdOutbox(false);
});

const DAY_MS = 24 * 60 * 60 * 1_000;
const daysLater = (moment: Date, days: number): Date => new Date(moment.getTime() + days * DAY_MS);
const DELETED_AT = new Date('2026-11-02T08:00:00.000Z');

let orgs = 0;
let org = '';
beforeEach(() => {
  orgs += 1;
  org = `org_tombs_${orgs}`;
});

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  desk.call(method, path, { org, headers, ...(body === undefined ? {} : { body }) });
const itemsOf = (answer: Answer): AnyRecord[] => answer.body['items'] as AnyRecord[];

async function create(path: string, body: object): Promise<AnyRecord> {
  const answer = await call('POST', path, body);
  expect(answer.status).toBe(201);
  return answer.body as unknown as AnyRecord;
}
const newTicket = (body: object = {}) => create('/psa/api/tickets', { subject: 'Printer offline', ...body });

async function deletedTicket(body: object = {}): Promise<AnyRecord> {
  const ticket = await newTicket(body);
  desk.setNow(DELETED_AT);
  expect((await call('DELETE', `/psa/api/tickets/${ticket.id}`)).status).toBe(204);
  return ticket;
}
const restore = (id: string, headers: Record<string, string> = {}) =>
  call('POST', `/psa/api/tickets/${id}/restore`, undefined, headers);

test('the notes of a record go with it for good', async () => {
  const { id } = await newTicket();
  const { id: other } = await newTicket();
  for (const ticket of [id, other]) await create(`/psa/api/tickets/${ticket}/notes`, { body: 'Seen' });
  desk.setNow(DELETED_AT);
  expect((await call('DELETE', `/psa/api/tickets/${id}`)).status).toBe(204);
  const notes = notesOf(tickets);
  const kept = () => (notes ? documentsOf(desk.store, notes).countDocuments({ tenantId: org }).exec() : 0);
  await waitFor(async () => (await pendingOutbox(desk.store, ROWS, 10)).length === 0);
  await purgeTombstones(desk.store, goneUpTo(daysLater(DELETED_AT, 29)));
  expect(await kept()).toBe(2);
  await purgeTombstones(desk.store, goneUpTo(daysLater(DELETED_AT, 31)));
  expect(await kept()).toBe(1);
});

describe('lists', () => {
  const path = '/psa/api/tickets?orderBy=updatedAt&orderDirection=asc';

  test('tombstones are listed to who asks, with nothing of what they held', async () => {
    const kept = await newTicket({ subject: 'kept' });
    const { id } = await deletedTicket({ subject: 'secret' });
    expect(itemsOf(await call('GET', path)).map((item) => item.id)).toEqual([kept.id]);
    expect(itemsOf(await call('GET', `${path}&includeDeleted=false`)).map((item) => item.id)).toEqual([kept.id]);
    const at = DELETED_AT.toISOString();
    expect(itemsOf(await call('GET', `${path}&includeDeleted=true`))).toEqual([
      { id, version: 2, updatedAt: at, deletedAt: at },
      kept,
    ]);
    desk.setNow(daysLater(DELETED_AT, 30));
    expect(itemsOf(await call('GET', `${path}&includeDeleted=true`)).map((item) => item.id)).toEqual([kept.id]);
  });

  test('changes since a moment are creates, changes, deletions and restores, page by page', async () => {
    const at = (minute: number): Date => new Date(DELETED_AT.getTime() + minute * 60_000);
    desk.setNow(at(0));
    const [one, two, three, old] = [await newTicket(), await newTicket(), await newTicket(), await newTicket()];
    const since = at(1).toISOString();
    desk.setNow(at(2));
    await call('DELETE', `/psa/api/tickets/${one.id}`);
    desk.setNow(at(3));
    await call('PATCH', `/psa/api/tickets/${two.id}`, { priority: 'low' });
    await call('DELETE', `/psa/api/tickets/${three.id}`);
    desk.setNow(at(4));
    await restore(three.id);
    const four = await newTicket();
    const seen: AnyRecord[] = [];
    let token = '';
    for (let page = 0; page < 9; page += 1) {
      const next = token === '' ? '' : `&continuationToken=${encodeURIComponent(token)}`;
      const answer = await call('GET', `${path}&includeDeleted=true&updatedAt.gte=${since}&limit=1${next}`);
      seen.push(...itemsOf(answer));
      if (answer.body['hasMore'] !== true) break;
      token = String(answer.body['continuationToken']);
    }
    expect(seen.map(({ id, deletedAt }) => ({ id, isDeleted: deletedAt !== null }))).toEqual([
      { id: one.id, isDeleted: true },
      { id: two.id, isDeleted: false },
      { id: three.id, isDeleted: false },
      { id: four.id, isDeleted: false },
    ]);
    expect(seen.map(({ id }) => id)).not.toContain(old.id);
  });

  test('a token made without tombstones opens no list with them', async () => {
    await newTicket();
    await newTicket();
    const first = await call('GET', `${path}&limit=1`);
    const token = encodeURIComponent(String(first.body['continuationToken']));
    expect(await call('GET', `${path}&limit=1&includeDeleted=true&continuationToken=${token}`)).toMatchObject({
      status: 400,
      body: { code: 'INVALID_CONTINUATION_TOKEN' },
    });
  });
});

describe('restore', () => {
  test('a deleted record comes back as it was, one version on, and says so', async () => {
    const externalRefs = [{ system: 'halo', id: '9' }];
    const ticket = await deletedTicket({ externalRefs, priority: 'high', tags: ['vip'] });
    desk.takeEvents();
    desk.setNow(daysLater(DELETED_AT, 29));
    const answer = await restore(ticket.id);
    const now = daysLater(DELETED_AT, 29).toISOString();
    expect([answer.status, answer.body]).toEqual([200, { ...ticket, version: 3, updatedAt: now }]);
    expect(answer.headers.get('etag')).toBe(`W/"${ticket.id}.3"`);
    expect((await call('GET', `/psa/api/tickets/${ticket.id}`)).body).toEqual(answer.body);
    expect(itemsOf(await call('GET', '/psa/api/tickets?externalRefs=halo:9'))).toMatchObject([{ id: ticket.id }]);
    expect(desk.takeEvents()).toMatchObject([
      { event_type: 'ticket.restored', source_product: 'psa', payload: { ticket_id: ticket.id, priority: 'high' } },
    ]);
  });

  test('a record that is not deleted is answered as it is', async () => {
    const ticket = await newTicket();
    desk.takeEvents();
    expect(await restore(ticket.id)).toMatchObject({ status: 200, body: { version: 1 } });
    expect(desk.takeEvents()).toEqual([]);
  });

  test('of many restores at the same time one counts', async () => {
    const { id } = await deletedTicket();
    desk.takeEvents();
    const answers = await Promise.all(Array.from({ length: 8 }, () => restore(id)));
    expect(answers.map(({ status, body }) => [status, body['version']])).toEqual(answers.map(() => [200, 3]));
    expect(desk.takeEvents()).toHaveLength(1);
  });

  test('with If-Match only the deletion that was seen is undone', async () => {
    const { id } = await deletedTicket();
    expect(await restore(id, { 'if-match': `W/"${id}.1"` })).toMatchObject({
      status: 412,
      body: { details: { etag: `W/"${id}.2"` } },
    });
    expect(await restore(id, { 'if-match': `W/"${id}.2"` })).toMatchObject({ status: 200 });
  });

  test('a repeat by idempotency key has the first answer and no second effect', async () => {
    const { id } = await deletedTicket();
    const key = { 'idempotency-key': 'restore-1' };
    const first = await restore(id, key);
    await call('DELETE', `/psa/api/tickets/${id}`);
    const again = await restore(id, key);
    expect([again.status, again.body, again.headers.get('idempotency-replayed')]).toEqual([200, first.body, 'true']);
    expect((await call('GET', `/psa/api/tickets/${id}`)).status).toBe(404);
  });

  test('after 30 days, and for everybody else, there is no such record', async () => {
    const { id } = await deletedTicket();
    const absent = await restore('tkt_none');
    expect(absent).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    const foreign = await desk.call('POST', `/psa/api/tickets/${id}/restore`, { org: 'org_stranger' });
    expect([foreign.status, { ...foreign.body, requestId: '' }]).toEqual([404, { ...absent.body, requestId: '' }]);
    desk.setNow(daysLater(DELETED_AT, 30));
    expect((await restore(id)).status).toBe(404);
    desk.setNow(new Date(daysLater(DELETED_AT, 30).getTime() - 1));
    expect((await restore(id)).status).toBe(200);
  });

  test('an external reference that another record took meanwhile is a conflict that names it', async () => {
    const externalRefs = [{ system: 'halo', id: '10' }];
    const { id } = await deletedTicket({ externalRefs });
    const taker = await newTicket({ externalRefs });
    expect(await restore(id)).toMatchObject({
      status: 409,
      body: {
        code: 'CONFLICT',
        details: { field: 'externalRefs', externalRef: { system: 'halo', id: '10' }, id: taker.id },
      },
    });
    await call('PATCH', `/psa/api/tickets/${taker.id}`, { externalRefs: [] });
    expect((await restore(id)).status).toBe(200);
  });

  test('what it names must be there, or be restored first', async () => {
    const board = await create('/psa/api/boards', { name: 'Service desk' });
    const { id } = await deletedTicket({ boardId: board.id });
    await call('DELETE', `/psa/api/boards/${board.id}`);
    expect(await restore(id)).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', details: { errors: [{ path: '/boardId', rule: 'ref' }] } },
    });
    expect((await call('POST', `/psa/api/boards/${board.id}/restore`)).status).toBe(200);
    expect((await restore(id)).status).toBe(200);
  });
});

describe('purge', () => {
  const exists = async (id: string): Promise<boolean> =>
    (await documentsOf(desk.store, tickets).countDocuments({ _id: id })) === 1;

  test('tombstones of 30 days are removed, younger ones and records never', async () => {
    const kept = await newTicket();
    const { id } = await deletedTicket();
    await waitFor(async () => (await pendingOutbox(desk.store, RESOURCES, 10)).length === 0);
    await purgeTombstones(desk.store, goneUpTo(new Date(daysLater(DELETED_AT, 30).getTime() - 1)));
    expect(await exists(id)).toBe(true);
    await purgeTombstones(desk.store, goneUpTo(daysLater(DELETED_AT, 30)));
    expect([await exists(id), await exists(kept.id)]).toEqual([false, true]);
  });

  test('a tombstone whose events were not handed over waits', async () => {
    desk.holdOutbox(true);
    const { id } = await deletedTicket();
    await purgeTombstones(desk.store, goneUpTo(daysLater(DELETED_AT, 40)));
    expect(await exists(id)).toBe(true);
  });
});
