/** What a request says is taken for what it means, or refused: nothing is guessed, dropped or changed. */
import { joinStack, type Harness, type TestOrg } from '../../support/harness';

let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());

test.each([
  '/psa/api/tickets/tck_1/restore',
  '/agents/api/executions/exe_1/retry',
  '/console/api/webhooks/whk_1/enable',
])('POST %s takes no body: a field in it is refused by name, an empty one is none', async (path) => {
  const refused = await org.call('POST', path, { reason: 'x' });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('/reason') as string]);
  expect((await org.call('POST', path, {})).status).toBe(404);
  expect((await org.call('POST', path)).status).toBe(404);
});

test.each(['0x10', '1e1000', ' 5', '%20', '5%20', '+5', '٣'])('limit=%s is no number', async (text) => {
  expect((await org.call('GET', `/psa/api/tickets?limit=${text}`)).status).toBe(400);
});

test.each(['0x3E8', '%20', ''])('number.gte=%s is no number', async (text) => {
  expect((await org.call('GET', `/psa/api/tickets?number.gte=${text}`)).status).toBe(400);
});

test.each(['cf.city=M%FCnchen', 'cf.city.ne=%ED%A0%80', 'cf.city=100%'])(
  '%s is not percent-encoded UTF-8: it is refused, not read as another text',
  async (query) => {
    const refused = await org.call('GET', `/psa/api/tickets?${query}`);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('percent-encoding') as string]);
    expect((await org.call('GET', '/psa/api/tickets?cf.city=M%C3%BCnchen+100%25')).status).toBe(200);
  },
);

test('a moment whose offset lost its plus on the way says what to write', async () => {
  for (const [path, name] of [
    ['/psa/api/tickets', 'createdAt.gte'],
    ['/agents/api/executions', 'from'],
  ] as const) {
    const refused = await org.call('GET', `${path}?${name}=2026-11-23T10:00:00+11:00`);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('+ of its offset as %2B') as string]);
    expect((await org.call('GET', `${path}?${name}=2026-11-23T10:00:00%2B11:00`)).status).toBe(200);
  }
});

test.each([
  ['kunde@bücher.de', 'must be a mail address with its domain in ASCII', { suggestion: 'kunde@xn--bcher-kva.de' }],
  ['kunde', 'must be a mail address', {}],
])('of %s as a mail address is said what to send', async (email, message, more) => {
  const refused = await org.call('POST', '/console/api/users', { email, displayName: 'K', roleIds: ['r'] });
  expect(refused.status).toBe(400);
  expect(refused.body).toMatchObject({ details: { errors: [{ path: '/email', message, ...more }] } });
});

test('numbers, truth values and those of custom fields are read from their text', async () => {
  for (const query of ['limit=5', 'includeDeleted=true', 'number.gte=1000', 'cf.tier.exists=false'])
    expect([query, (await org.call('GET', `/psa/api/tickets?${query}`)).status]).toEqual([query, 200]);
  for (const query of ['includeDeleted=yes', 'includeDeleted=1', 'cf.tier.exists=maybe'])
    expect([query, (await org.call('GET', `/psa/api/tickets?${query}`)).status]).toEqual([query, 400]);
});

/** The body as bytes, so that the client adds no type of its own. */
async function send(type: string | null, body = Buffer.from('{"name":"Northwind"}')) {
  const reply = await fetch(`${harness.address.baseUrl}/psa/api/companies`, {
    method: 'POST',
    headers: { authorization: `Bearer ${org.key}`, ...(type === null ? {} : { 'content-type': type }) },
    body,
  });
  return { status: reply.status, text: await reply.text() };
}

test.each([
  'application/xml',
  'text/xml; charset=utf-8',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  'application/jsonl',
  'application/json; charset=utf-16',
  'application/json; charset=latin1',
  'nonsense',
])('a body of type %s is refused by that name, whatever is in it', async (type) => {
  const refused = await send(type);
  expect([refused.status, refused.text]).toEqual([415, expect.stringContaining('UNSUPPORTED_MEDIA_TYPE') as string]);
  expect(JSON.parse(refused.text)).toMatchObject({ details: { contentType: type } });
});

test.each([
  null,
  'application/json',
  'Application/JSON; charset=UTF-8',
  'application/vnd.api+json',
  'application/merge-patch+json',
  // What fetch and curl say when nobody tells them.
  'text/plain;charset=UTF-8',
  'application/x-www-form-urlencoded',
])('a body of type %s is read as JSON', async (type) => {
  expect((await send(type)).status).toBe(201);
});

test.each(['application/json; charset=utf-16', 'application/json; charset=latin1'])(
  'a body of type %s is told that its character set is what is wrong',
  async (type) => {
    expect(JSON.parse((await send(type)).text)).toMatchObject({ error: expect.stringContaining('UTF-8') as string });
  },
);

test('a body that is compressed in an unknown way is refused by the name of that way', async () => {
  const refused = await org.call('POST', '/psa/api/companies', { name: 'Northwind' }, { 'content-encoding': 'zstd' });
  expect([refused.status, refused.body]).toMatchObject([415, { details: { contentEncoding: 'zstd' } }]);
});

test('a request without a body may name any type', async () => {
  const read = await org.call('GET', '/psa/api/tickets', undefined, { 'content-type': 'application/xml' });
  expect(read.status).toBe(200);
  const bodiless = await org.call('POST', '/psa/api/tickets/tck_1/restore', undefined, { 'content-type': 'text/xml' });
  expect(bodiless.status).toBe(404);
});

test('bytes that are no UTF-8 are refused, not stored as something else', async () => {
  const refused = await send('application/json', Buffer.from('{"name":"M\xfcller"}', 'latin1'));
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('UTF-8') as string]);
});

/** An event whose payload is this JSON text, to the letter. */
async function ingest(payload: string) {
  const reply = await fetch(`${harness.address.baseUrl}/agents/api/events/ingest`, {
    method: 'POST',
    headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
    body: `{"event_type":"custom.numbers","source_product":"psa","payload":${payload}}`,
  });
  return { status: reply.status, body: (await reply.json()) as { event_id: string } & Record<string, unknown> };
}

test.each([
  ['{"ids":[1,1234567890123456789]}', '/payload/ids/1', '1234567890123456789'],
  ['{"a/b":{"id":-9007199254740993}}', '/payload/a~1b/id', '-9007199254740993'],
  ['{"text":"1234567890123456789 \\" 5","id":9007199254740993}', '/payload/id', '9007199254740993'],
  ['{"size":1e400}', '/payload/size', '1e400'],
])('%s would be kept as another number: refused at %s', async (payload, path, number) => {
  const { status, body } = await ingest(payload);
  expect([status, body]).toEqual([400, expect.objectContaining({ error: 'validation_error' })]);
  expect(JSON.stringify(body)).toContain(`"path":"${path}","code":"inexact_number"`);
  expect(JSON.stringify(body)).toContain(`${number} `);
});

test('numbers that are kept as they are pass, and so do digits in texts and names', async () => {
  const payload =
    '{"most":9007199254740991,"least":-9007199254740991,"much":1e20,"round":100000000000000000000,"part":0.12345678901234567890,' +
    '"1234567890123456789":"1234567890123456789","twice":1234567890123456789,"twice":5}';
  const { status, body } = await ingest(payload);
  expect(status).toBe(202);
  const kept = await org.call('GET', `/agents/api/event-log/${body.event_id}`);
  expect(kept.body).toMatchObject({ payload: JSON.parse(payload) as Record<string, unknown> });
});

test('a definition with such a number is refused as one', async () => {
  const definition =
    '{"name":"n","trigger":{"type":"bus_event","event_type":"custom.x","source_product":"psa"},' +
    '"steps":[{"type":"set_variables","id":"v","values":{"id":1234567890123456789}}]}';
  const reply = await fetch(`${harness.address.baseUrl}/agents/api/agents`, {
    method: 'POST',
    headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
    body: definition,
  });
  expect([reply.status, await reply.text()]).toEqual([400, expect.stringContaining('invalid_agent_config') as string]);
});

test.each([
  ['POST', '/psa/api/tickets', { subject: 'x', slaStatus: 'ok' }, '/slaStatus'],
  ['POST', '/psa/api/tickets', { subject: 'x', id: 'tkt_1' }, '/id'],
  ['PATCH', '/defend/api/response-actions/rsp_1', { status: 'succeeded' }, '/status'],
])('%s %s with %j: the field is known, and only the server writes it', async (method, path, body, at) => {
  const { status, body: refusal } = await org.call(method, path, body);
  const message = `${at.slice(1)} is set by the server; leave it out`;
  expect([status, refusal['error']]).toEqual([400, `${at}: ${message}`]);
  expect(refusal['details']).toEqual({ errors: [{ rule: 'unknown_field', path: at, message }] });
});

test.each([
  ['/rmm/api/devices', { hostname: 'pc1', companyId: 'cmp_1', ipAddress: '300.1.1.1' }, 'an IPv4 or IPv6 address'],
  ['/portal/api/portal-settings', { brandName: 'B', logoUrl: 'javascript:x' }, 'an http or https address'],
])('%s says in words what an address must be', async (path, body, words) => {
  const { status, text } = await org.call('POST', path, body);
  expect([status, text]).toEqual([400, expect.stringContaining(`: must be ${words}`) as string]);
});

test('what was probably meant is said once', async () => {
  const url = 'https://hooks.example.com/in';
  const filters = [{ field: 'prio', operator: 'eq', value: 'x' }];
  const { text } = await org.call('POST', '/console/api/webhooks', { url, eventTypes: ['psa:ticket.*'], filters });
  const { error } = JSON.parse(text) as { error: string };
  expect(error.match(/did you mean/gi)).toEqual(['Did you mean']);
});
