/** What requests may look like: methods of spelled-out paths beside paths with an id, and lists of values. */
import { Agent, get } from 'node:http';
import { joinStack, type Harness } from '../../support/harness';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

test.each([
  ['/psa/api/tickets', 'GET, POST, HEAD'],
  ['/psa/api/tickets/batch', 'POST'],
  ['/psa/api/tickets/tkt_01KAJ5Q3Z8M4T7V9X2B6C1D0EF', 'GET, PATCH, DELETE, HEAD'],
  ['/agents/api/agents', 'GET, POST, HEAD'],
  ['/agents/api/events/ingest', 'POST'],
  ['/psa/api/openapi.json', 'GET, HEAD'],
  ['/openapi.json', 'GET, HEAD'],
  ['/docs', 'GET, HEAD'],
  ['/docs/errors/not_found', 'GET, HEAD'],
  ['/healthz', 'GET, HEAD'],
  ['/readyz', 'GET, HEAD'],
])('OPTIONS %s answers Allow: %s, and other methods are 405', async (path, allow) => {
  const org = await harness.newOrg();
  const options = await org.call('OPTIONS', path);
  expect([options.status, options.headers.get('allow')]).toEqual([204, allow]);
  const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => !allow.split(', ').includes(method));
  for (const method of others) {
    const answer = await org.call(method, path, method === 'GET' ? undefined : {});
    expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, allow]);
  }
});

/** The status of a GET whose target is sent as it stands. */
const statusOf = (target: string, key: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(harness.address.baseUrl);
    const options = { hostname, port, path: target, headers: { authorization: `Bearer ${key}` } };
    get(options, (reply) => resolve(reply.resume().statusCode ?? 0)).once('error', reject);
  });

test('a connection is kept open longer than any usual proxy keeps its end', async () => {
  const { hostname, port } = new URL(harness.address.baseUrl);
  const agent = new Agent({ keepAlive: true });
  const kept = await new Promise((resolve, reject) => {
    get({ hostname, port, path: '/healthz', agent }, (reply) => resolve(reply.resume().headers['keep-alive'])).once(
      'error',
      reject,
    );
  });
  agent.destroy();
  expect(kept).toBe('timeout=75');
});

test.each([
  ['/psa/api/tickets?limit=1', 200],
  ['http://psa.example/psa/api/tickets?limit=1', 200],
  ['/psa', 404],
  ['/psa/', 404],
  ['/psa?limit=1', 404],
  ['/PSA/api/tickets', 404],
  ['/psax/api/tickets', 404],
  ['//psa/api/tickets', 404],
  ['/psa/api/tickets/%zz', 400],
])('GET %s is %i: a service is what the first part of the path names', async (target, status) => {
  const org = await harness.newOrg();
  expect(await statusOf(target, org.key)).toBe(status);
});

test('400: a filter takes at most a hundred values, repeated ones included', async () => {
  const org = await harness.newOrg();
  const list = (count: number) => org.call('GET', `/psa/api/tickets?status=${Array(count).fill('open').join(',')}`);
  expect((await list(100)).status).toBe(200);
  const answer = await list(101);
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('at most 100 values')]);
});

test('400: each value of a filter is as long as a single one may be', async () => {
  const org = await harness.newOrg();
  const list = (length: number) => org.call('GET', `/psa/api/tickets?tags.in=vpn,${'x'.repeat(length)}`);
  expect((await list(255)).status).toBe(200);
  const answer = await list(256);
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('more than 255 characters')]);
});

test('400: more than ten filters are refused by a rule of that name', async () => {
  const org = await harness.newOrg();
  const filters = ['status', 'priority', 'boardId', 'companyId', 'contactId', 'assigneeId', 'source'];
  const query = [...filters, ...filters.slice(2, 6).map((name) => `${name}.ne`)].map((name) => `${name}=x`);
  const valid = query.map((pair) => pair.replace('status=x', 'status=new').replace('priority=x', 'priority=low'));
  const answer = await org.call('GET', `/psa/api/tickets?${valid.join('&').replace('source=x', 'source=api')}`);
  expect(answer.status).toBe(400);
  expect(answer.body['details']).toMatchObject({ errors: [{ rule: 'too_many_filters' }] });
});

test('a parameter that is repeated for its values is refused with how they are written', async () => {
  const org = await harness.newOrg();
  const repeated = await org.call('GET', '/psa/api/tickets?status=new&status=open');
  expect([repeated.status, repeated.body['error']]).toEqual([
    400,
    'status: status may be given once, with commas between its values: status=…,…',
  ]);
  const single = await org.call('GET', '/psa/api/tickets?limit=1&limit=2');
  expect([single.status, single.body['error']]).toEqual([400, 'limit: limit may be given once']);
});
