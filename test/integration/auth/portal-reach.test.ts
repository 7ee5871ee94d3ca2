/**
 * Threat: a client's people reach another client, or more than the portal. Every operation of every service is called
 * with tokens of two clients of one tenant; what is reached is the table below and nothing else.
 */
import type { Operation } from '../../../src/contracts/operation';
import { allOperations } from '../../../src/http/api-documents';
import { joinStack, list, text, type Answer, type Body, type Harness, type TestOrg } from '../../support/harness';
import { callWith, made, newClient, newPerson, signedIn, type Client, type Person } from './portal-support';

type RoleName = 'viewer' | 'requester' | 'approver' | 'admin';
const ROLES: RoleName[] = ['viewer', 'requester', 'approver', 'admin'];
const WRITERS: RoleName[] = ['requester', 'approver', 'admin'];
const PAYERS: RoleName[] = ['approver', 'admin'];

/** What portal tokens reach, and in which role. */
const REACH: Record<string, RoleName[]> = {
  'GET /psa/api/tickets': ROLES,
  'GET /psa/api/tickets/count': ROLES,
  'GET /psa/api/tickets/:id': ROLES,
  'POST /psa/api/tickets/batch': ROLES,
  'POST /psa/api/tickets': WRITERS,
  'PATCH /psa/api/tickets/:id': WRITERS,
  'GET /psa/api/tickets/:id/notes': ROLES,
  'GET /psa/api/tickets/:id/notes/:noteId': ROLES,
  'POST /psa/api/tickets/:id/notes': WRITERS,
  'GET /psa/api/service-catalog': ROLES,
  'GET /psa/api/service-catalog/:id': ROLES,
  'GET /portal/api/portal-settings': ROLES,
  'GET /portal/api/portal-settings/:id': ROLES,
  'GET /portal/api/portal-settings/current': ROLES,
  'GET /books/api/invoices': PAYERS,
  'GET /books/api/invoices/:id': PAYERS,
  'GET /books/api/payments': PAYERS,
  'GET /books/api/payments/:id': PAYERS,
  'GET /psa/api/contacts': ROLES,
  'GET /psa/api/contacts/:id': ROLES,
  'PATCH /psa/api/contacts/:id': ROLES,
  'GET /portal/api/client-users': ROLES,
  'GET /portal/api/client-users/:id': ROLES,
  'PATCH /portal/api/client-users/:id': ROLES,
  'POST /portal/api/client-users': ['admin'],
};
const OWN_SESSION = ['POST /portal/api/sessions/current/renew', 'DELETE /portal/api/sessions/current'];

/** One client with somebody in every role and a record of everything. */
interface Side {
  client: Client;
  people: Record<RoleName, Person>;
  ids: Record<string, string>;
  draft: string;
}

let stack: Harness;
let org: TestOrg;
let one: Side;
let other: Side;

async function newSide(name: string): Promise<Side> {
  const client = await newClient(org, name);
  const { companyId } = client;
  const roles = await Promise.all(
    ROLES.map(async (role) => [role, await signedIn(org, await newPerson(org, client, role))] as const),
  );
  const people = Object.fromEntries(roles) as Record<RoleName, Person>;
  const dates = {
    issueDate: '2026-11-20',
    dueDate: '2026-12-20',
    lines: [{ description: 'Support', quantity: 1, unitPrice: 50_000 }],
  };
  const invoice = await made(org, '/books/api/invoices', { companyId, ...dates, status: 'sent', notes: 'Pays late' });
  const draft = await made(org, '/books/api/invoices', { companyId, ...dates });
  const payment = { invoiceId: invoice, amount: 50_000, method: 'wire', reference: name };
  const ticket = {
    subject: `Printer of ${name}`,
    companyId,
    escalationLevel: 2,
    assigneeId: 'usr_somebody',
    tags: ['difficult'],
  };
  return {
    client,
    people,
    draft,
    ids: {
      '/psa/api/tickets': await made(org, '/psa/api/tickets', ticket),
      '/books/api/invoices': invoice,
      '/books/api/payments': await made(org, '/books/api/payments', payment),
      '/psa/api/contacts': people.viewer.contactId,
      '/portal/api/client-users': people.viewer.id,
    },
  };
}

beforeAll(async () => {
  stack = joinStack();
  org = await stack.newOrg();
  one = await newSide('Northwind');
  other = await newSide('Bluefin');
});
afterAll(() => stack.close());

const as = (person: Person, method: string, path: string, body?: unknown): Promise<Answer> =>
  callWith(stack.address.baseUrl, person.token, { method, path, ...(body === undefined ? {} : { body }) });

const nameOf = ({ method, service, path }: Operation): string => `${method} /${service}${path}`;
const filled = (path: string, id: string): string => path.replace(':id', id).replace(/:[A-Za-z]+/g, 'none');
const bodyFor = ({ method, body }: Operation): unknown => (method === 'GET' || !body ? undefined : {});
const called = (person: Person, operation: Operation, id: string): Promise<Answer> =>
  as(person, operation.method, `/${operation.service}${filled(operation.path, id)}`, bodyFor(operation));
/** What a refusal says, whatever request it answers. */
const saying = ({ status, body }: Answer): unknown => ({
  status,
  body: { ...body, requestId: null, request_id: null },
});

const closed = allOperations.filter(
  (operation) =>
    operation.access.kind !== 'public' &&
    !REACH[nameOf(operation)] &&
    !OWN_SESSION.includes(nameOf(operation)) &&
    // Approvals have a suite of their own.
    !operation.path.startsWith('/api/approvals'),
);

test('the table names operations that exist', () => {
  const known = new Set(allOperations.map(nameOf));
  expect([...Object.keys(REACH), ...OWN_SESSION].filter((name) => !known.has(name))).toEqual([]);
  expect(closed.length).toBeGreaterThan(200);
});

test.each(ROLES)('every operation beside the table refuses the role %s', async (role) => {
  const wrong: string[] = [];
  for (const operation of closed) {
    const { status, body } = await called(one.people[role], operation, 'x');
    const code = text(body['code']) || text(body['error']);
    const expected = operation.service === 'agents' ? 'forbidden' : 'PORTAL_NOT_ALLOWED';
    if (status !== 403 || code !== expected) wrong.push(`${nameOf(operation)}: ${status} ${code}`);
  }
  expect(wrong).toEqual([]);
});

test('the document of every service lists the token on exactly the operations it reaches', () => {
  const listed = allOperations
    .filter(({ portal, path }) => portal !== undefined && !path.startsWith('/api/approvals'))
    .map(nameOf);
  expect(listed.sort()).toEqual(Object.keys(REACH).sort());
});

test('each operation of the table admits exactly its roles', async () => {
  const wrong: string[] = [];
  for (const operation of allOperations.filter((candidate) => REACH[nameOf(candidate)])) {
    for (const role of ROLES) {
      const { status } = await called(one.people[role], operation, 'x');
      if ((status === 403) === REACH[nameOf(operation)]?.includes(role)) wrong.push(`${nameOf(operation)} ${role}`);
    }
  }
  expect(wrong).toEqual([]);
});

const directions: [string, () => [Side, Side]][] = [
  ['the first client at the second’s records', () => [one, other]],
  ['the second client at the first’s records', () => [other, one]],
];

describe.each(directions)('%s', (_name, sides) => {
  test('a foreign id is answered like one that never was, byte for byte', async () => {
    const [mine, theirs] = sides();
    const { admin } = mine.people;
    for (const [path, id] of Object.entries(theirs.ids)) {
      const [foreign, missing] = [await as(admin, 'GET', `${path}/${id}`), await as(admin, 'GET', `${path}/none`)];
      expect([path, saying(foreign)]).toEqual([path, saying(missing)]);
      expect(foreign.status).toBe(404);
      expect((await as(admin, 'GET', `${path}/${mine.ids[path]}`)).status).toBe(200);
    }
    const changes = { tickets: { description: 'x' }, contacts: { title: 'x' } };
    for (const [name, change] of Object.entries(changes)) {
      const path = `/psa/api/${name}`;
      const foreign = await as(admin, 'PATCH', `${path}/${theirs.ids[path]}`, change);
      expect(saying(foreign)).toEqual(saying(await as(admin, 'PATCH', `${path}/none`, change)));
      expect(foreign.status).toBe(404);
    }
    const user = await as(admin, 'PATCH', `/portal/api/client-users/${theirs.people.admin.id}`, { lastName: 'x' });
    expect(user.status).toBe(404);
    expect((await as(admin, 'GET', `/books/api/invoices/${mine.draft}`)).status).toBe(404);
  });

  test('lists, filters, batches and pages show the own client alone', async () => {
    const [mine, theirs] = sides();
    const { admin } = mine.people;
    for (const path of Object.keys(mine.ids)) {
      const { status, text: shown } = await as(admin, 'GET', path);
      expect([path, status, shown.includes(mine.ids[path] ?? '?')]).toEqual([path, 200, true]);
      for (const id of [theirs.client.companyId, theirs.draft, mine.draft, ...Object.values(theirs.ids)])
        expect([path, shown.includes(id)]).toEqual([path, false]);
    }
    const filters = [
      `/psa/api/tickets?companyId=${theirs.client.companyId}`,
      `/books/api/invoices?status=draft`,
      `/books/api/payments?invoiceId=${theirs.ids['/books/api/invoices']}`,
      `/portal/api/client-users?email=${theirs.people.admin.email}`,
    ];
    for (const path of filters) expect([path, (await as(admin, 'GET', path)).body['items']]).toEqual([path, []]);
    const counted = `/psa/api/tickets/count?companyId=${theirs.client.companyId}`;
    expect((await as(admin, 'GET', counted)).body['count']).toBe(0);
    const ids = [theirs.ids['/psa/api/tickets'], mine.ids['/psa/api/tickets']];
    const batch = await as(admin, 'POST', '/psa/api/tickets/batch', { ids });
    expect(list(batch.body['items']).map(({ id }) => text(id))).toEqual([ids[1]]);
    expect(batch.body['missing']).toEqual([ids[0]]);
    const page = await as(admin, 'GET', '/portal/api/client-users?limit=1');
    const next = `/portal/api/client-users?limit=1&continuationToken=${text(page.body['continuationToken'])}`;
    expect((await as(admin, 'GET', next)).status).toBe(200);
    const carried = await as(theirs.people.admin, 'GET', next);
    expect([carried.status, text(carried.body['code'])]).toEqual([400, 'INVALID_CONTINUATION_TOKEN']);
  });

  test('what is created belongs to the own client, and names nobody of another', async () => {
    const [mine, theirs] = sides();
    const { requester, admin } = mine.people;
    const made_ = await as(requester, 'POST', '/psa/api/tickets', { subject: 'Screen is black' });
    expect(made_.body).toMatchObject({
      companyId: mine.client.companyId,
      contactId: requester.contactId,
      source: 'portal',
    });
    const record = await org.call('GET', `/psa/api/tickets/${text(made_.body['id'])}`);
    expect(record.body).toMatchObject({ createdBy: requester.id, companyId: mine.client.companyId });
    const foreign = { subject: 'x', companyId: theirs.client.companyId };
    const unknown = { subject: 'x', companyId: 'cmp_none' };
    const told = (answer: Answer) => answer.text.replaceAll(theirs.client.companyId, 'cmp_none');
    const [refused, never] = [
      await as(requester, 'POST', '/psa/api/tickets', foreign),
      await as(requester, 'POST', '/psa/api/tickets', unknown),
    ];
    const withoutId = (content: string): string => content.replace(/req_\w+/, '');
    expect([refused.status, withoutId(told(refused))]).toEqual([400, withoutId(told(never))]);
    const { contactId } = theirs.people.viewer;
    const named = await as(admin, 'POST', '/psa/api/tickets', { subject: 'x', contactId });
    expect([named.status, named.text]).toEqual([400, expect.stringContaining('/contactId') as unknown]);
    const invited = await as(admin, 'POST', '/portal/api/client-users', {
      email: 'new@client.example',
      role: 'viewer',
    });
    expect(invited.body).toMatchObject({ companyId: mine.client.companyId, status: 'invited', role: 'viewer' });
  });
});

describe('what is hidden', () => {
  const ticketPath = (): string => `/psa/api/tickets/${one.ids['/psa/api/tickets']}`;

  test('only the listed fields leave, in reads, lists, batches and answers to changes', async () => {
    const { requester } = one.people;
    const ids = [one.ids['/psa/api/tickets']];
    const shown: Body[] = [
      (await as(requester, 'GET', ticketPath())).body,
      list((await as(requester, 'GET', '/psa/api/tickets')).body['items'])[0] ?? {},
      list((await as(requester, 'POST', '/psa/api/tickets/batch', { ids })).body['items'])[0] ?? {},
      (await as(requester, 'PATCH', ticketPath(), { description: 'It smokes' })).body,
    ];
    const fields = [
      'closedAt',
      'companyId',
      'contactId',
      'createdAt',
      'deletedAt',
      'description',
      'dueAt',
      'id',
      'number',
      'priority',
      'resolvedAt',
      'source',
      'status',
      'subject',
      'updatedAt',
      'version',
    ];
    expect(shown.map((record) => Object.keys(record).sort())).toEqual(Array.from({ length: 4 }, () => fields));
    const invoice = await as(one.people.approver, 'GET', `/books/api/invoices/${one.ids['/books/api/invoices']}`);
    expect(invoice.text).not.toContain('Pays late');
    expect(invoice.body).toMatchObject({ total: 50_000, balance: expect.any(Number) as unknown });
  });

  test('filters and orders by hidden fields are unknown parameters', async () => {
    const { admin } = one.people;
    const asked = [
      'tickets?assigneeId=usr_somebody',
      'tickets?escalationLevel.gte=1',
      'tickets?tags=difficult',
      'tickets?slaStatus=ok',
      'tickets?includeDeleted=true',
      'tickets/count?escalationLevel=2',
      'tickets?externalRefs=halo:1',
      'contacts?lifecycle=lead',
    ];
    for (const query of asked) {
      const { status, body } = await as(admin, 'GET', `/psa/api/${query}`);
      expect([query, status, text(body['error'])]).toEqual([query, 400, expect.stringContaining('unknown field')]);
    }
    const ordered = await as(admin, 'GET', '/psa/api/tickets?orderBy=escalationLevel');
    expect([ordered.status, text(ordered.body['error'])]).toEqual([400, expect.not.stringContaining('escalation')]);
    expect((await as(admin, 'GET', '/psa/api/tickets?orderBy=priority&status=new')).status).toBe(200);
  });
});

describe('what may be changed', () => {
  test('of a ticket: its description, and closing it', async () => {
    const { requester } = one.people;
    const id = text((await as(requester, 'POST', '/psa/api/tickets', { subject: 'Mouse' })).body['id']);
    const path = `/psa/api/tickets/${id}`;
    const refused = [
      { status: 'resolved' },
      { priority: 'critical' },
      { companyId: other.client.companyId },
      { subject: 'y' },
    ];
    for (const change of refused)
      expect([change, (await as(requester, 'PATCH', path, change)).status]).toEqual([change, 400]);
    const closed_ = await as(requester, 'PATCH', path, { status: 'closed', description: 'It was unplugged' });
    expect(closed_.body).toMatchObject({ status: 'closed', description: 'It was unplugged' });
  });

  test('of people: the own name and number, never role, company or status', async () => {
    const { viewer, admin } = one.people;
    const [contact, user] = [`/psa/api/contacts/${viewer.contactId}`, `/portal/api/client-users/${viewer.id}`];
    expect((await as(viewer, 'PATCH', contact, { phone: '+1 555 0199', title: 'Owner' })).body).toMatchObject({
      title: 'Owner',
    });
    expect((await as(viewer, 'PATCH', user, { lastName: 'Reyes' })).body).toMatchObject({ lastName: 'Reyes' });
    const grabs = [
      { role: 'admin' },
      { companyId: other.client.companyId },
      { status: 'active' },
      { email: 'x@y.example' },
    ];
    for (const grab of grabs) {
      expect([grab, (await as(viewer, 'PATCH', user, grab)).status]).toEqual([grab, 400]);
      expect([grab, (await as(admin, 'PATCH', user, grab)).status]).toEqual([grab, 400]);
    }
    const foreign = await as(admin, 'PATCH', contact, { title: 'Nobody' });
    expect([foreign.status, text(foreign.body['code'])]).toEqual([403, 'PORTAL_NOT_ALLOWED']);
  });
});

test('threat: taking a colleague’s place. Client users say of nobody, themselves included, which contact they are', async () => {
  const { admin, viewer, requester } = one.people;
  const path = '/portal/api/client-users';
  for (const { contactId } of [viewer, admin]) {
    const asked = [
      await as(admin, 'POST', path, { email: 'mallory@client.example', role: 'viewer', contactId }),
      await as(admin, 'PATCH', `${path}/${admin.id}`, { contactId }),
      await as(requester, 'PATCH', `${path}/${requester.id}`, { contactId }),
    ];
    const refused = { rule: 'unknown_field', path: '/contactId' };
    for (const { status, body } of asked) expect([status, body['details']?.['errors']]).toMatchObject([400, [refused]]);
  }
  const listed = await as(admin, 'GET', `${path}?email=mallory@client.example`);
  expect(listed.body['items']).toEqual([]);
});

test('a role that was taken away is gone with the next request', async () => {
  const person = await signedIn(org, await newPerson(org, one.client, 'approver'));
  expect((await as(person, 'GET', '/books/api/invoices')).status).toBe(200);
  await org.call('PATCH', `/portal/api/client-users/${person.id}`, { role: 'viewer' });
  expect((await as(person, 'GET', '/books/api/invoices')).status).toBe(403);
});

test('threat: repeating what was asked at another client. Answers kept for an Idempotency-Key stay with the company', async () => {
  const [former, next] = [await newClient(org, 'Contoso'), await newClient(org, 'Fabrikam')];
  const person = await signedIn(org, await newPerson(org, former));
  const theirs = await made(org, '/psa/api/tickets', { subject: 'Secret of Contoso', ...former });
  const asked = (token: string) => {
    const headers = { 'idempotency-key': 'kept' };
    const send = (method: string, path: string, body: unknown) =>
      callWith(stack.address.baseUrl, token, { method, path, body, headers });
    return Promise.all([
      send('POST', '/psa/api/tickets/batch', { ids: [theirs] }),
      send('PATCH', `/psa/api/tickets/${theirs}`, { description: 'More of Contoso' }),
    ]);
  };
  for (const answer of await asked(person.token))
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('Contoso') as unknown]);
  const again = await asked(person.token);
  expect(again.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual(['true', 'true']);
  await org.call('PATCH', `/portal/api/client-users/${person.id}`, { ...next, contactId: null });
  const [batch, change] = await asked((await signedIn(org, person)).token);
  expect([batch.status, batch.body]).toEqual([200, { items: [], missing: [theirs] }]);
  expect([change.status, change.text]).toEqual([404, expect.not.stringContaining('Contoso') as unknown]);
});

test('rarely changing lists answer 304 to portal tokens too', async () => {
  await made(org, '/psa/api/service-catalog', { sku: 'SUP', name: 'Support hour', unitPrice: 100 });
  const call = { method: 'GET', path: '/psa/api/service-catalog' };
  const { token } = one.people.viewer;
  const tag = (await callWith(stack.address.baseUrl, token, call)).headers.get('etag') ?? '';
  const again = await callWith(stack.address.baseUrl, token, { ...call, headers: { 'if-none-match': tag } });
  expect(again.status).toBe(304);
});
