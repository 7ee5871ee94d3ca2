/** One record's life through the API: created, read, changed under preconditions, deleted, and never seen by others. */
import { startDesk, type Answer, type Desk } from './desk';

let desk: Desk;
beforeAll(async () => {
  desk = await startDesk();
});
afterAll(() => desk.stop());
beforeEach(() => desk.setNow(null));

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const idOf = (answer: Answer): string => String(answer.body['id']);
const rules = (answer: Answer): { rule: string; path: string; suggestion?: string }[] =>
  (answer.body['details'] as { errors: { rule: string; path: string }[] }).errors;

async function create(path: string, body: object, org?: string): Promise<string> {
  const answer = await desk.call('POST', path, { body, ...(org ? { org } : {}) });
  expect(answer).toMatchObject({ status: 201 });
  return idOf(answer);
}
const ticket = (body: object = {}, org?: string) =>
  create('/psa/api/tickets', { subject: 'Printer offline', ...body }, org);

describe('201', () => {
  test('a create answers the whole record with its defaults, its tag and its address', async () => {
    const answer = await desk.call('POST', '/psa/api/tickets', { body: { subject: 'Printer offline' } });
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^tkt_[0-9A-HJKMNP-TV-Z]{26}$/) as unknown,
      version: 1,
      number: expect.any(Number) as unknown,
      subject: 'Printer offline',
      description: null,
      status: 'new',
      priority: 'medium',
      boardId: null,
      companyId: null,
      contactId: null,
      assigneeId: null,
      source: 'api',
      escalationLevel: 0,
      dueAt: null,
      slaStatus: 'ok',
      slaTarget: null,
      slaDueAt: null,
      resolvedAt: null,
      closedAt: null,
      tags: [],
      externalRefs: [],
      customFields: {},
      createdAt: expect.stringMatching(ISO) as unknown,
      updatedAt: expect.stringMatching(ISO) as unknown,
      createdBy: 'key_org_one',
      deletedAt: null,
    });
    expect(answer.headers.get('etag')).toBe(`W/"${idOf(answer)}.1"`);
    expect(answer.headers.get('location')).toBe(`/psa/api/tickets/${idOf(answer)}`);
  });

  test('moments in any offset come back in UTC with milliseconds', async () => {
    const answer = await desk.call('POST', '/psa/api/tickets', {
      body: { subject: 'x', dueAt: '2026-11-21T17:00:00+02:00' },
    });
    expect(answer.body['dueAt']).toBe('2026-11-21T15:00:00.000Z');
  });

  test('ticket numbers of a tenant rise one by one, however many are created at once', async () => {
    const created = await Promise.all(
      Array.from({ length: 25 }, () =>
        desk.call('POST', '/psa/api/tickets', { org: 'org_numbers', body: { subject: 'x' } }),
      ),
    );
    const numbers = created.map(({ body }) => Number(body['number'])).sort((one, other) => one - other);
    expect(numbers).toEqual(Array.from({ length: 25 }, (_, index) => 1_001 + index));
  });

  test('companies and contacts are the same records under psa and crm', async () => {
    const companyId = await create('/crm/api/companies', { name: 'Northwind' });
    const contactId = await create('/psa/api/contacts', { firstName: 'Ana', lastName: 'Reyes', companyId });
    expect(await desk.call('GET', `/psa/api/companies/${companyId}`)).toMatchObject({
      status: 200,
      body: { name: 'Northwind' },
    });
    expect(await desk.call('GET', `/crm/api/contacts/${contactId}`)).toMatchObject({
      status: 200,
      body: { companyId },
    });
  });
});

describe('200', () => {
  test('a patch changes what was sent, clears with null and raises the version once', async () => {
    const id = await ticket({ description: 'long', tags: ['a'] });
    const answer = await desk.call('PATCH', `/psa/api/tickets/${id}`, {
      body: { description: null, priority: 'high' },
    });
    expect(answer).toMatchObject({
      status: 200,
      body: { version: 2, description: null, priority: 'high', tags: ['a'] },
    });
    expect(await desk.call('GET', `/psa/api/tickets/${id}`)).toMatchObject({ status: 200, body: answer.body });
  });

  test('a patch that changes nothing makes no version and no event', async () => {
    const id = await ticket({ priority: 'high' });
    desk.takeEvents();
    const answer = await desk.call('PATCH', `/psa/api/tickets/${id}`, { body: { priority: 'high', tags: [] } });
    expect(answer).toMatchObject({ status: 200, body: { version: 1 } });
    expect(desk.takeEvents()).toEqual([]);
  });

  test('patches at the same time all take effect, one version each', async () => {
    const id = await ticket();
    const bodies = [
      { priority: 'low' },
      { description: 'x' },
      { tags: ['a'] },
      { assigneeId: 'usr_1' },
      { escalationLevel: 2 },
    ];
    const answers = await Promise.all(bodies.map((body) => desk.call('PATCH', `/psa/api/tickets/${id}`, { body })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const { body } = await desk.call('GET', `/psa/api/tickets/${id}`);
    expect(body).toMatchObject({
      version: 6,
      priority: 'low',
      description: 'x',
      tags: ['a'],
      assigneeId: 'usr_1',
      escalationLevel: 2,
    });
  });

  test('a closed ticket opens again within 14 days and not after', async () => {
    const id = await ticket();
    const closedAt = new Date('2026-11-01T10:00:00.000Z');
    const patch = (status: string) => desk.call('PATCH', `/psa/api/tickets/${id}`, { body: { status } });
    desk.setNow(closedAt);
    expect((await patch('closed')).body).toMatchObject({
      closedAt: closedAt.toISOString(),
      resolvedAt: closedAt.toISOString(),
    });
    expect(await patch('in_progress')).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', details: { allowed: ['open'] } },
    });
    desk.setNow(new Date('2026-11-15T10:00:00.001Z'));
    expect(await patch('open')).toMatchObject({
      status: 409,
      body: { details: { from: 'closed', to: 'open', allowed: [] } },
    });
    desk.setNow(new Date('2026-11-15T10:00:00.000Z'));
    expect(await patch('open')).toMatchObject({
      status: 200,
      body: { status: 'open', closedAt: null, resolvedAt: null },
    });
  });

  test('a batch answers each id once, in the order asked for, and names the missing', async () => {
    const one = await ticket({ subject: 'one' });
    const two = await ticket({ subject: 'two' });
    const foreign = await ticket({}, 'org_two');
    const { status, body } = await desk.call('POST', '/psa/api/tickets/batch', {
      body: { ids: [two, 'tkt_zz', one, two, foreign] },
    });
    expect({ status, ids: (body['items'] as { id: string }[]).map(({ id }) => id), missing: body['missing'] }).toEqual({
      status: 200,
      ids: [two, one],
      missing: ['tkt_zz', foreign],
    });
  });
});

describe('204', () => {
  test('a deleted record is gone from every read, and its external reference is free again', async () => {
    const externalRefs = [{ system: 'halo', id: '77' }];
    const id = await ticket({ externalRefs });
    expect((await desk.call('GET', '/psa/api/tickets?externalRefs=halo:77')).body['items']).toMatchObject([{ id }]);
    expect(await desk.call('DELETE', `/psa/api/tickets/${id}`)).toMatchObject({ status: 204, body: {} });
    for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', { priority: 'low' }]] as const) {
      expect(await desk.call(method, `/psa/api/tickets/${id}`, { body })).toMatchObject({
        status: 404,
        body: { code: 'NOT_FOUND' },
      });
    }
    expect((await desk.call('POST', '/psa/api/tickets/batch', { body: { ids: [id] } })).body).toEqual({
      items: [],
      missing: [id],
    });
    expect((await desk.call('GET', '/psa/api/tickets?externalRefs=halo:77')).body['items']).toEqual([]);
    await ticket({ externalRefs });
  });
});

test('whatever name a record has elsewhere, lists find it by that name', async () => {
  for (const name of ['line\nbreak', '\rreturn', ' separated', 'a:b', ' ']) {
    const id = await ticket({ externalRefs: [{ system: 'halo', id: name }] });
    const found = await desk.call('GET', `/psa/api/tickets?externalRefs=${encodeURIComponent(`halo:${name}`)}`);
    expect({ name, status: found.status, items: found.body['items'] }).toMatchObject({ status: 200, items: [{ id }] });
  }
});

describe('304', () => {
  test('a record and a list answer 304 until something changes', async () => {
    const id = await create('/psa/api/service-catalog', { sku: 'A-1', name: 'Desk', unitPrice: 100 });
    for (const path of ['/psa/api/service-catalog', `/psa/api/service-catalog/${id}`]) {
      const first = await desk.call('GET', path);
      const etag = String(first.headers.get('etag'));
      const again = await desk.call('GET', path, { headers: { 'if-none-match': etag } });
      expect(again).toMatchObject({ status: 304, body: {} });
      await desk.call('PATCH', `/psa/api/service-catalog/${id}`, { body: { unitPrice: Date.now() % 1_000_000 } });
      expect(await desk.call('GET', path, { headers: { 'if-none-match': etag } })).toMatchObject({ status: 200 });
    }
  });
});

describe('400', () => {
  const findingsOf = async (method: string, path: string, body?: unknown) =>
    rules(await desk.call(method, path, body === undefined ? {} : { body }));

  test('a finding says what was sent, when that is one value, and no more than 100 characters of it', async () => {
    expect(await findingsOf('POST', '/psa/api/tickets', { subject: 'x', priority: 'urgent' })).toEqual([
      expect.objectContaining({ path: '/priority', rule: 'enum', got: 'urgent' }),
    ]);
    expect(await findingsOf('POST', '/psa/api/tickets', { subject: 'x'.repeat(300), escalationLevel: 9 })).toEqual([
      expect.objectContaining({ path: '/subject', got: 'x'.repeat(100) }),
      expect.objectContaining({ path: '/escalationLevel', got: 9 }),
    ]);
    for (const body of [{ subject: ['x'] }, { subject: { a: 1 } }, {}, { subject: 'x', other: 1 }])
      for (const finding of await findingsOf('POST', '/psa/api/tickets', body))
        expect(finding).not.toHaveProperty('got');
  });

  test('what a refusal says can be acted on', async () => {
    const id = await create('/psa/api/tickets', { subject: 'x' });
    const at = `/psa/api/tickets/${id}`;
    expect(await findingsOf('PATCH', at, {})).toMatchObject([{ path: '', message: 'name at least one field' }]);
    expect(await findingsOf('PATCH', at, { subject: null })).toMatchObject([
      { path: '/subject', message: 'must be string and cannot be null', got: null },
    ]);
    expect(await findingsOf('PATCH', at, { status: null })).toMatchObject([
      { path: '/status', message: expect.stringMatching(/^must be one of new, .* and cannot be null$/) as unknown },
    ]);
    expect(await findingsOf('PATCH', at, { customFields: { 'a b': 1 } })).toMatchObject([
      { path: '/customFields/a b', message: expect.stringMatching(/^this key must be a letter, followed/) as unknown },
    ]);
    expect(await findingsOf('GET', '/psa/api/tickets?externalRefs=4711')).toMatchObject([
      { path: 'externalRefs', message: expect.stringMatching(/<system>:<id>/) as unknown },
    ]);
  });

  test('a misspelt field is refused and the right one is named', async () => {
    const answer = await desk.call('POST', '/psa/api/tickets', { body: { subject: 'x', prioriti: 'high' } });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(rules(answer)).toEqual([
      expect.objectContaining({ path: '/prioriti', rule: 'unknown_field', suggestion: 'priority' }),
    ]);
  });

  test.each(['number', 'slaStatus', 'resolvedAt', 'version', 'createdBy', 'deletedAt', 'tenantId', 'ob'])(
    'the server alone sets %s',
    async (name) => {
      const answer = await desk.call('POST', '/psa/api/tickets', { body: { subject: 'x', [name]: 1 } });
      expect(rules(answer)).toEqual([expect.objectContaining({ rule: 'unknown_field', path: `/${name}` })]);
    },
  );

  test('a reference must name a live record of the tenant', async () => {
    const foreign = await create('/psa/api/companies', { name: 'Theirs' }, 'org_two');
    const deleted = await create('/psa/api/boards', { name: 'Gone' });
    await desk.call('DELETE', `/psa/api/boards/${deleted}`);
    const answer = await desk.call('POST', '/psa/api/tickets', {
      body: { subject: 'x', companyId: foreign, boardId: deleted },
    });
    expect(rules(answer)).toEqual([
      { rule: 'ref', path: '/boardId', message: `no board ${deleted} in this tenant` },
      { rule: 'ref', path: '/companyId', message: `no company ${foreign} in this tenant` },
    ]);
  });

  test('null does not clear what a record must have', async () => {
    const id = await ticket();
    for (const name of ['subject', 'priority', 'tags']) {
      expect(await desk.call('PATCH', `/psa/api/tickets/${id}`, { body: { [name]: null } })).toMatchObject({
        status: 400,
      });
    }
  });

  test.each([[[]], [Array.from({ length: 101 }, (_, index) => `tkt_${index}`)]])(
    'a batch takes 1 to 100 ids',
    async (ids) => {
      expect(await desk.call('POST', '/psa/api/tickets/batch', { body: { ids } })).toMatchObject({ status: 400 });
    },
  );
});

describe('404', () => {
  test("another tenant's record is answered exactly like one that never was", async () => {
    const id = await ticket();
    for (const [method, body] of [['GET'], ['PATCH', { priority: 'low' }], ['DELETE']] as const) {
      const foreign = await desk.call(method, `/psa/api/tickets/${id}`, { org: 'org_two', body });
      const absent = await desk.call(method, '/psa/api/tickets/tkt_none', { org: 'org_two', body });
      expect({ ...foreign.body, requestId: '' }).toEqual({ ...absent.body, requestId: '' });
      expect(foreign.status).toBe(404);
    }
    expect(await desk.call('GET', `/psa/api/tickets/${id}`)).toMatchObject({ status: 200, body: { version: 1 } });
  });
});

describe('409', () => {
  test('an external reference belongs to one record of the tenant', async () => {
    const externalRefs = [{ system: 'autotask', id: '1' }];
    const id = await ticket({ externalRefs });
    const other = await ticket();
    const details = { field: 'externalRefs', externalRef: externalRefs[0], id };
    const conflict = { status: 409, body: { code: 'CONFLICT', details } };
    expect(await desk.call('POST', '/psa/api/tickets', { body: { subject: 'x', externalRefs } })).toMatchObject(
      conflict,
    );
    expect(await desk.call('PATCH', `/psa/api/tickets/${other}`, { body: { externalRefs } })).toMatchObject(conflict);
    await ticket({ externalRefs }, 'org_two');
  });

  test('a company that records still name is kept', async () => {
    const companyId = await create('/psa/api/companies', { name: 'Busy' });
    const held = await ticket({ companyId });
    const refused = await desk.call('DELETE', `/psa/api/companies/${companyId}`);
    expect(refused).toMatchObject({ status: 409, body: { details: { referencedBy: ['tickets'] } } });
    await desk.call('PATCH', `/psa/api/tickets/${held}`, { body: { companyId: null } });
    expect(await desk.call('DELETE', `/psa/api/companies/${companyId}`)).toMatchObject({ status: 204 });
  });
});

describe('412', () => {
  test('a change or a deletion of a version that is no longer current is refused with the current tag', async () => {
    const id = await ticket();
    const path = `/psa/api/tickets/${id}`;
    const first = `W/"${id}.1"`;
    await desk.call('PATCH', path, { body: { priority: 'low' }, headers: { 'if-match': first } });
    for (const [method, body] of [['PATCH', { priority: 'high' }], ['DELETE']] as const) {
      const stale = await desk.call(method, path, { body, headers: { 'if-match': first } });
      expect(stale).toMatchObject({
        status: 412,
        body: { code: 'PRECONDITION_FAILED', details: { etag: `W/"${id}.2"` } },
      });
    }
    expect(await desk.call('DELETE', path, { headers: { 'if-match': '*' } })).toMatchObject({ status: 204 });
  });

  test('of many conditional changes to one version exactly one is made', async () => {
    const id = await ticket();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        desk.call('PATCH', `/psa/api/tickets/${id}`, {
          body: { description: `${index}` },
          headers: { 'if-match': `"${id}.1"` },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort((one, other) => one - other)).toEqual([
      200,
      ...Array.from({ length: 11 }, () => 412),
    ]);
  });
});
