/** Requests and outputs at the edge of what can be read or stored. */
import { activeAgent, definitionWith, run } from '../../support/agents';
import { joinStack, list, text, waitForExecution, type Harness } from '../../support/harness';

const COPY = '{{event_payload}}';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

test('400: a path that is not valid percent-encoding is refused in the usual shape of its service', async () => {
  const org = await harness.newOrg();
  const answer = await org.call('GET', '/agents/api/agents/%E0%A4%A');
  expect(answer.status).toBe(400);
  const message = 'The path is not valid percent-encoding.';
  expect(answer.body).toMatchObject({ error: 'invalid_parameter', message, status: 400 });
  expect(answer.headers.has('x-spec-hash')).toBe(true);
  const other = await org.call('GET', '/psa/api/tickets/%E0%A4%A');
  expect([other.status, other.body]).toEqual([
    400,
    { error: message, code: 'INVALID_PARAMETER', details: {}, requestId: other.headers.get('x-request-id') },
  ]);
});

test('400: a field name with a NUL character is refused, nothing is stored', async () => {
  const org = await harness.newOrg();
  const body = { event_type: 'custom.test', source_product: 'psa', payload: { list: [{ ['a\0b']: 1 }] } };
  const refused = await org.call('POST', '/agents/api/events/ingest', body);
  expect([refused.status, list(refused.body['details'])]).toEqual([
    400,
    [expect.objectContaining({ path: '/payload/list/0/a\0b', code: 'invalid_key' })],
  ]);
});

test('400: so is a name that the driver of the store keeps for itself, in whatever is stored', async () => {
  const org = await harness.newOrg();
  const own = { _bsontype: 'ObjectId', id: 1 };
  const event = { event_type: 'custom.test', source_product: 'psa', payload: { list: [own] } };
  const call = { type: 'http_request', id: 'call', url: 'https://example.com', body: { own } };
  const ticket = { subject: 'x', priority: 'low', customFields: own };
  const refused = [
    await org.call('POST', '/agents/api/events/ingest', event),
    await org.call('POST', '/agents/api/agents', definitionWith([call])),
    await org.call('POST', '/psa/api/tickets', ticket),
  ];
  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400]);
  const message = 'the name of this field is "_bsontype", which the store keeps for itself; leave it out';
  expect(list(refused[0]?.body['details'])).toEqual([
    { path: '/payload/list/0/_bsontype', code: 'invalid_key', message },
  ]);
});

test('200: a step may send what looks like an object of our own tools', async () => {
  const org = await harness.newOrg();
  const body = { $__: 1, $isMongooseMap: {}, toObject: 1, constructor: { name: 'x' }, $set: { 'a.b': 1 }, none: {} };
  const call = { type: 'http_request', id: 'call', method: 'POST', url: 'https://example.com', body };
  const made = await org.call('POST', '/agents/api/agents', definitionWith([call]));
  const agent = `/agents/api/agents/${text(made.body['id'])}`;
  const renamed = await org.call('PUT', agent, { name: 'Renamed', steps: [call] });
  expect([renamed.status, list(renamed.body['steps'])[0]?.['body']]).toEqual([200, body]);
  expect((await org.call('GET', agent)).body['steps']).toEqual([call]);
});

test('400: half of a surrogate pair is refused by the name of its field, a whole one is kept', async () => {
  const org = await harness.newOrg();
  const ticket = (subject: string, more = '') =>
    org.call('POST', '/psa/api/tickets', `{"subject": "${subject}", "priority": "low"${more}}`);
  const refusals = [await ticket('half \\ud83d'), await ticket('whole', ', "customFields": {"a/b": "\\udc00"}')];
  expect(refusals.map(({ status, body }) => [status, list(body['details']?.['errors'])[0]])).toEqual([
    [400, expect.objectContaining({ path: '/subject', rule: 'invalid_text' })],
    [400, expect.objectContaining({ path: '/customFields/a~1b', rule: 'invalid_text' })],
  ]);
  expect((await ticket('whole', ', "customFields": {"\\ud800": "name"}')).status).toBe(400);
  const kept = await ticket('smile \\ud83d\\ude00');
  expect([kept.status, kept.body['subject']]).toEqual([201, 'smile 😀']);
});

test('400: a step without a type is told which types there are', async () => {
  const org = await harness.newOrg();
  const answer = await org.call('POST', '/agents/api/agents', definitionWith([{ id: 'nameless' }]));
  expect(answer.body['error']).toBe('invalid_agent_config');
  expect(answer.text).toContain('one of ai_reason, notification, approval_gate');
});

test('201: a clone needs no body', async () => {
  const org = await harness.newOrg();
  const template = list((await org.call('GET', '/agents/api/templates')).body['templates'])[0];
  const clone = await org.call('POST', `/agents/api/templates/${text(template?.['id'])}/clone`);
  expect([clone.status, clone.body['status'], clone.body['name']]).toEqual([201, 'draft', template?.['name']]);
});

test('a step whose output is too large to keep fails with a code that says so, and the execution ends', async () => {
  const org = await harness.newOrg();
  await activeAgent(
    org,
    definitionWith([{ type: 'set_variables', id: 'copy', values: { a: COPY, b: COPY, c: COPY, d: COPY } }]),
  );
  const id = await run(org, { name: 'x'.repeat(150_000) });
  const ended = await waitForExecution(org, id, ['failed', 'completed']);
  expect(ended).toMatchObject({ status: 'failed', status_reason: 'step_failed', error: { code: 'output_too_large' } });
});
