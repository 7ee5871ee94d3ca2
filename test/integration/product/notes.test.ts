/** Notes to tickets: written, listed and changed below their ticket, public ones by the client, too, and told of. */
import { randomUUID } from 'node:crypto';
import { derivedId } from '../../../src/domain/ids';
import { joinStack, list, text, waitFor, type Answer, type Harness, type TestOrg } from '../../support/harness';
import { callWith, made, newClient, newPerson, signedIn, type Person } from '../auth/portal-support';

let harness: Harness;
let org: TestOrg;
let ticket: string;
let path: string;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());
beforeEach(async () => {
  ticket = await made(org, '/psa/api/tickets', { subject: 'Printer offline' });
  path = `/psa/api/tickets/${ticket}/notes`;
});

const write = (body: object, headers: Record<string, string> = {}): Promise<Answer> =>
  org.call('POST', path, body, headers);
const idOf = ({ body }: Answer): string => text(body['id']);
const tagOf = (answer: Answer): string => String(answer.headers.get('etag'));
const bodiesIn = (answer: Answer): string[] => list(answer.body['items']).map(({ body }) => text(body));
/** What a refusal says, whatever request it answers. */
const saying = ({ status, body }: Answer): unknown => ({ status, body: { ...body, requestId: null } });

const told = (note: string, type = 'ticket.note_added') =>
  waitFor(async () => {
    const answer = await org.call('GET', `/agents/api/event-log/${derivedId('evt', note, 1, type)}`);
    return answer.status === 200 && answer.body;
  });

test('a note is internal unless said otherwise, and has the author its credential names', async () => {
  const written = await write({ body: 'Fuse blown' });
  const note = idOf(written);
  const by = text(written.body['createdBy']);
  expect([written.status, written.body]).toMatchObject([
    201,
    { ticketId: ticket, body: 'Fuse blown', visibility: 'internal', authorId: by, version: 1 },
  ]);
  expect(by).toMatch(/^key_/);
  expect(written.headers.get('location')).toBe(`${path}/${note}`);
  const read = await org.call('GET', `${path}/${note}`);
  expect([read.status, read.text, tagOf(read)]).toEqual([200, written.text, tagOf(written)]);
  expect((await org.call('GET', `${path}/${note}`, undefined, { 'if-none-match': tagOf(read) })).status).toBe(304);
  for (const [body, at] of [
    [{}, '/body'],
    [{ body: '' }, '/body'],
    [{ body: 'x', visibility: 'secret' }, '/visibility'],
    [{ body: 'x', authorId: 'usr_other' }, '/authorId'],
    [{ body: 'x', ticketId: 'tkt_other' }, '/ticketId'],
  ] as const) {
    const refused = await write(body);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(at) as unknown]);
  }
  expect((await write({ body: 'é'.repeat(65_536) })).status).toBe(201);
});

test('its event names ticket, client and author, and can be filtered by them', async () => {
  const companyId = await made(org, '/psa/api/companies', { name: 'Northwind' });
  await org.call('PATCH', `/psa/api/tickets/${ticket}`, { companyId });
  const written = await write({ body: 'Call me', visibility: 'public' });
  const entry = await told(idOf(written));
  expect(entry).toMatchObject({
    event_type: 'ticket.note_added',
    source_product: 'psa',
    payload: {
      ticket_id: ticket,
      note_id: idOf(written),
      body: 'Call me',
      visibility: 'public',
      author_id: text(written.body['authorId']),
      client_id: companyId,
    },
  });
  const catalog = await org.call('GET', '/agents/api/events');
  expect(catalog.text).toContain('ticket.note_added');
  const known = list(catalog.body['events']).find(({ event_type }) => text(event_type) === 'ticket.note_added');
  expect(list(known?.['filterable_fields']).map(({ path: name }) => text(name))).toEqual(
    expect.arrayContaining(['ticket_id', 'note_id', 'visibility', 'author_id', 'client_id']),
  );
});

test('a list pages, filters and orders like any other, and its token opens below this ticket alone', async () => {
  for (const [body, visibility] of [
    ['one', 'public'],
    ['two', 'internal'],
    ['three', 'public'],
  ])
    expect((await write({ body, visibility })).status).toBe(201);
  expect(bodiesIn(await org.call('GET', `${path}?orderDirection=asc`))).toEqual(['one', 'two', 'three']);
  expect(bodiesIn(await org.call('GET', `${path}?visibility=public`))).toEqual(['three', 'one']);
  expect(bodiesIn(await org.call('GET', `${path}?createdAt.gt=2100-01-01T00:00:00Z`))).toEqual([]);
  expect(bodiesIn(await org.call('GET', `${path}?orderBy=updatedAt&createdAt.gt=2020-01-01T00:00:00Z`))).toHaveLength(
    3,
  );
  expect((await org.call('GET', `${path}?body=one`)).status).toBe(400);
  const first = await org.call('GET', `${path}?limit=2`);
  const query = `limit=2&continuationToken=${encodeURIComponent(text(first.body['continuationToken']))}`;
  expect(bodiesIn(first)).toEqual(['three', 'two']);
  expect(bodiesIn(await org.call('GET', `${path}?${query}`))).toEqual(['one']);
  const other = await made(org, '/psa/api/tickets', { subject: 'Other' });
  const carried = await org.call('GET', `/psa/api/tickets/${other}/notes?${query}`);
  expect([carried.status, text(carried.body['code'])]).toEqual([400, 'INVALID_CONTINUATION_TOKEN']);
  expect(bodiesIn(await org.call('GET', `/psa/api/tickets/${other}/notes`))).toEqual([]);
});

test('a change is made to the version that was read, and a deletion is for good', async () => {
  const written = await write({ body: 'Draft' });
  const at = `${path}/${idOf(written)}`;
  const changed = await org.call('PATCH', at, { body: 'Final', visibility: 'public' }, { 'if-match': tagOf(written) });
  expect([changed.status, changed.body]).toMatchObject([200, { body: 'Final', visibility: 'public', version: 2 }]);
  expect((await org.call('PATCH', at, { body: 'Late' }, { 'if-match': tagOf(written) })).status).toBe(412);
  expect((await org.call('DELETE', at, undefined, { 'if-match': tagOf(written) })).status).toBe(412);
  expect((await org.call('DELETE', at)).status).toBe(204);
  for (const method of ['GET', 'DELETE']) expect((await org.call(method, at)).status).toBe(404);
  expect(bodiesIn(await org.call('GET', path))).toEqual([]);
});

test('a repeat by its key writes one note', async () => {
  const key = { 'idempotency-key': randomUUID() };
  const [once, twice] = [await write({ body: 'Once' }, key), await write({ body: 'Once' }, key)];
  expect([twice.text, twice.headers.get('idempotency-replayed')]).toEqual([once.text, 'true']);
  expect(bodiesIn(await org.call('GET', path))).toEqual(['Once']);
});

test('what is not there and what belongs to others is answered alike, ticket and note', async () => {
  const note = idOf(await write({ body: 'Ours' }));
  const stranger = await harness.newOrg();
  const theirs = await made(stranger, '/psa/api/tickets', { subject: 'Theirs' });
  const ask = async (method: string, at: string, body?: object) =>
    saying(await stranger.call(method, `/psa/api/tickets/${at}`, body));
  for (const [method, body] of [['GET'], ['PATCH', { body: 'x' }], ['DELETE']] as const) {
    const missing = await ask(method, 'tkt_none/notes/nte_none', body);
    expect(missing).toMatchObject({ status: 404 });
    expect(await ask(method, `${ticket}/notes/${note}`, body)).toEqual(missing);
    expect(await ask(method, `${ticket}/notes/nte_none`, body)).toEqual(missing);
    const noNote = await ask(method, `${theirs}/notes/nte_none`, body);
    expect(noNote).toMatchObject({ status: 404 });
    expect(await ask(method, `${theirs}/notes/${note}`, body)).toEqual(noNote);
  }
  expect(await ask('GET', `${ticket}/notes`)).toEqual(await ask('GET', 'tkt_none/notes'));
  expect(await ask('POST', `${ticket}/notes`, { body: 'x' })).toEqual(
    await ask('POST', 'tkt_none/notes', { body: 'x' }),
  );
  // Below another ticket of the same tenant it is not there either.
  const other = await made(org, '/psa/api/tickets', { subject: 'Other' });
  expect((await org.call('GET', `/psa/api/tickets/${other}/notes/${note}`)).status).toBe(404);
  expect((await org.call('GET', `${path}/${note}`)).body).toMatchObject({ body: 'Ours', version: 1 });
});

test('a deleted ticket hides its notes, a restored one brings them back', async () => {
  const note = idOf(await write({ body: 'Kept' }));
  await org.call('DELETE', `/psa/api/tickets/${ticket}`);
  for (const at of [path, `${path}/${note}`]) expect((await org.call('GET', at)).status).toBe(404);
  expect((await write({ body: 'Late' })).status).toBe(404);
  await org.call('POST', `/psa/api/tickets/${ticket}/restore`);
  expect(bodiesIn(await org.call('GET', path))).toEqual(['Kept']);
  expect((await org.call('GET', `${path}/${note}`)).status).toBe(200);
});

describe('in the portal', () => {
  let person: Person;
  let viewer: Person;
  let foreign: Person;
  beforeAll(async () => {
    const [client, other] = [await newClient(org, 'Northwind'), await newClient(org, 'Bluefin')];
    person = await signedIn(org, await newPerson(org, client));
    viewer = await signedIn(org, await newPerson(org, client, 'viewer'));
    foreign = await signedIn(org, await newPerson(org, other, 'admin'));
  });
  beforeEach(async () => {
    const created = await as(person, 'POST', '/psa/api/tickets', { subject: 'Mouse' });
    ticket = idOf(created);
    path = `/psa/api/tickets/${ticket}/notes`;
  });
  const as = (who: Person, method: string, at: string, body?: object): Promise<Answer> =>
    callWith(harness.address.baseUrl, who.token, { method, path: at, ...(body ? { body } : {}) });

  test('public notes of own tickets are read, internal ones are not there', async () => {
    const internal = idOf(await write({ body: 'They never restart it' }));
    const open = idOf(await write({ body: 'Please restart it', visibility: 'public' }));
    const shown = await as(viewer, 'GET', path);
    expect(bodiesIn(shown)).toEqual(['Please restart it']);
    expect(Object.keys(list(shown.body['items'])[0] ?? {}).toSorted()).toEqual([
      'authorId',
      'body',
      'createdAt',
      'deletedAt',
      'id',
      'updatedAt',
      'version',
      'visibility',
    ]);
    expect((await as(viewer, 'GET', `${path}/${open}`)).status).toBe(200);
    expect(saying(await as(viewer, 'GET', `${path}/${internal}`))).toEqual(
      saying(await as(viewer, 'GET', `${path}/nte_none`)),
    );
    for (const query of ['visibility=internal', 'visibility.ne=public', 'visibility.in=internal,public&limit=1'])
      expect((await as(viewer, 'GET', `${path}?${query}`)).text).not.toContain('They never');
    for (const query of ['includeDeleted=true', 'externalRefs=halo:1', 'cf.site=x'])
      expect([query, (await as(viewer, 'GET', `${path}?${query}`)).status]).toEqual([query, 400]);
    await org.call('PATCH', `${path}/${open}`, { visibility: 'internal' });
    expect(bodiesIn(await as(viewer, 'GET', path))).toEqual([]);
  });

  test('what a client user writes is public and theirs; nothing else is taken, changed or deleted', async () => {
    const written = await as(person, 'POST', path, { body: 'It works again' });
    expect([written.status, written.body]).toMatchObject([201, { visibility: 'public', authorId: person.id }]);
    const refusals: [object, string][] = [
      [{ body: 'x', visibility: 'internal' }, '/visibility'],
      [{ body: 'x', externalRefs: [] }, '/externalRefs'],
    ];
    for (const [body, at] of refusals) {
      const refused = await as(person, 'POST', path, body);
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(at) as unknown]);
    }
    for (const method of ['PATCH', 'DELETE'])
      expect((await as(person, method, `${path}/${idOf(written)}`, { body: 'y' })).status).toBe(403);
    expect((await as(viewer, 'POST', path, { body: 'x' })).status).toBe(403);
    expect((await told(idOf(written)))['payload']).toMatchObject({ visibility: 'public', author_id: person.id });
  });

  test('the tickets of another client have no notes, like one that never was', async () => {
    const note = idOf(await write({ body: 'Hello', visibility: 'public' }));
    const none = '/psa/api/tickets/tkt_none/notes';
    for (const [method, below, body] of [
      ['GET', ''],
      ['GET', `/${note}`],
      ['POST', '', { body: 'x' }],
    ] as const) {
      const missing = saying(await as(foreign, method, `${none}${below}`, body));
      expect(missing).toMatchObject({ status: 404 });
      expect(saying(await as(foreign, method, `${path}${below}`, body))).toEqual(missing);
    }
    expect(bodiesIn(await org.call('GET', path))).toEqual(['Hello']);
  });
});
