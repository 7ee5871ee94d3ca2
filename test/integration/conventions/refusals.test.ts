/** How refusals are sent: in the format that was asked for, from requests that are none, and to the right address. */
import { connect } from 'node:net';
import { PROBLEM_TYPE } from '../../../src/http/accepts';
import { newKey, newTenant, openTestStore, signIn, testConfig, testContext, type TestStore } from '../auth/support';
import { request, SUITE_ADDRESS, type Answer } from '../../support/harness';
import { serveAll, type Served } from './served';

let store: TestStore;
let served: Served;
let key: string;
let cookie: string;
beforeAll(async () => {
  store = await openTestStore();
  const context = testContext(store, { config: testConfig({ PUBLIC_URL: 'https://box.example' }) });
  served = await serveAll(context);
  const orgId = await newTenant(store);
  ({ key } = await newKey(context, orgId, { scopes: ['PSA', 'Agents'] }));
  ({ cookie } = await signIn(context, orgId));
});
afterAll(async () => {
  await served.close();
  await store.close();
});

const call = (method: string, path: string, headers: Record<string, string> = {}, body?: unknown): Promise<Answer> =>
  request(served.baseUrl, {
    method,
    path,
    headers: { authorization: `Bearer ${key}`, ...headers },
    ...(body === undefined ? {} : { body }),
  });
const typeOf = (answer: Answer): string => (answer.headers.get('content-type') ?? '').split(';', 1)[0] ?? '';

describe('Accept: application/problem+json', () => {
  const problems = { accept: PROBLEM_TYPE };

  test.each([
    ['/psa/api/tickets/tkt_nope', 404, 'not_found', 'NOT_FOUND'],
    ['/psa/api/tickets?colour=red', 400, 'validation_error', 'VALIDATION_FAILED'],
    ['/psa/api/nowhere', 404, 'not_found', 'NOT_FOUND'],
    ['/nowhere', 404, 'not_found', 'NOT_FOUND'],
    ['/crm/api/deals', 403, 'forbidden', 'INSUFFICIENT_SCOPE'],
    ['/agents/api/agents/agt_nope', 404, 'agent_not_found', 'agent_not_found'],
    ['/agents/api/agents?colour=red', 400, 'validation_error', 'validation_error'],
    ['/psa/api/tickets/%zz', 400, 'invalid_parameter', 'INVALID_PARAMETER'],
  ])('GET %s is RFC 9457 with what the usual body says', async (path, status, page, code) => {
    const usual = await call('GET', path);
    const answer = await call('GET', path, problems);
    expect([typeOf(usual), typeOf(answer)]).toEqual(['application/json', PROBLEM_TYPE]);
    expect([usual.status, answer.status]).toEqual([status, status]);
    expect(answer.body).toMatchObject({
      type: `https://box.example/docs/errors/${page}`,
      status,
      code,
      instance: answer.headers.get('x-request-id'),
    });
    expect(answer.body['detail']).toEqual(usual.body['message'] ?? usual.body['error']);
    expect(answer.body['details']).toEqual(usual.body['details']);
    expect(answer.headers.get('vary')).toMatch(/accept/i);
  });

  test('console sessions, 401 and 405', async () => {
    const session = { cookie, authorization: '', ...problems };
    const asSession = await request(served.baseUrl, {
      method: 'GET',
      path: '/console/api/api-keys/key_nope',
      headers: { cookie, ...problems },
    });
    expect([asSession.status, typeOf(asSession), asSession.body['code']]).toEqual([404, PROBLEM_TYPE, 'NOT_FOUND']);
    for (const [answer, status] of [
      [await call('GET', '/console/api/api-keys', { ...session, authorization: 'Bearer plat_nope' }), 401],
      [await call('PUT', '/psa/api/tickets', problems), 405],
    ] as const) {
      expect([answer.status, typeOf(answer)]).toEqual([status, PROBLEM_TYPE]);
    }
  });

  test('successes stay JSON, and a header that wants JSON more gets the usual body', async () => {
    expect(typeOf(await call('GET', '/psa/api/tickets', problems))).toBe('application/json');
    const answer = await call('GET', '/psa/api/nowhere', { accept: `${PROBLEM_TYPE};q=0.5, application/json` });
    expect([typeOf(answer), answer.body['code']]).toEqual(['application/json', 'NOT_FOUND']);
  });

  test('a refusal that is repeated by its idempotency key comes in the format of the repeat', async () => {
    const post = (accept: string) =>
      call(
        'POST',
        '/psa/api/tickets',
        { accept, 'idempotency-key': 'refused' },
        { subject: 'x', companyId: 'cmp_nope' },
      );
    const first = await post('application/json');
    const second = await post(PROBLEM_TYPE);
    expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([400, 400, 'true']);
    expect([typeOf(first), typeOf(second)]).toEqual(['application/json', PROBLEM_TYPE]);
    expect([second.body['instance'], second.body['details']]).toEqual([first.body['requestId'], first.body['details']]);
  });
});

/** Sends bytes as they are and answers what came back until the connection was closed. */
const sendRaw = (bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const port = Number(new URL(served.baseUrl).port);
    const socket = connect({ port, host: '127.0.0.1', localAddress: SUITE_ADDRESS });
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
    socket.write(bytes);
  });

describe('what never becomes a request', () => {
  test.each(['/psa', '/agents'])('431: an address below %s that is too long', async (mount) => {
    const answer = await call('GET', `${mount}/api/things?name=${'x'.repeat(17_000)}`);
    expect([answer.status, typeOf(answer), answer.headers.get('connection')]).toEqual([
      431,
      'application/json',
      'close',
    ]);
    expect(answer.body).toMatchObject(
      mount === '/agents'
        ? { error: 'headers_too_large', status: 431, request_id: answer.headers.get('x-request-id') }
        : { code: 'HEADERS_TOO_LARGE', requestId: answer.headers.get('x-request-id') },
    );
  });

  test('they have the rate headers of the address, whose refusals they are not, and the version', async () => {
    const { headers } = await call('GET', '/psa/api/nowhere');
    const isNumbered = /^(x-ratelimit-(limit|remaining)|ratelimit-policy|platform-version)$/;
    const numbered = (all: Headers) => Object.fromEntries([...all].filter(([name]) => isNumbered.test(name)));
    const shown = numbered(headers);
    expect(Object.keys(shown)).toHaveLength(4);
    const { headers: refused } = await call('GET', `/psa/api/tickets?name=${'x'.repeat(17_000)}`);
    expect(numbered(refused)).toEqual(shown);
    expect(refused.get('x-ratelimit-reset')).toMatch(/^\d{10}$/);
    const unread = await sendRaw('FETCH /psa/api/tickets HTTP/1.1\r\nHost: x\r\n\r\n');
    for (const [name, value] of Object.entries(shown))
      expect(unread.toLowerCase()).toContain(`\r\n${name}: ${value}\r\n`);
  });

  test('431 on a connection that has answered before, and the server goes on', async () => {
    await call('GET', '/healthz');
    expect((await call('GET', '/healthz', { 'x-long': 'x'.repeat(17_000) })).status).toBe(431);
    expect((await call('GET', '/healthz')).status).toBe(200);
  });

  test('400: bytes that are not HTTP', async () => {
    const answer = await sendRaw('\x16\x03\x01 hello\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer).toContain('"code":"MALFORMED_REQUEST"');
  });
});

describe('the address a request counts against', () => {
  const serveWith = (trust: string): Promise<Served> =>
    serveAll(testContext(store, { config: testConfig({ TRUST_PROXY: trust }) }));
  const left = async (from: Served, forwarded: string): Promise<number> => {
    const headers = { 'x-forwarded-for': forwarded };
    const answer = await request(from.baseUrl, { method: 'GET', path: '/psa/api/tickets', headers });
    expect(answer.status).toBe(401);
    return Number(answer.headers.get('x-ratelimit-remaining'));
  };

  test('without TRUST_PROXY a client cannot change it', async () => {
    const alone = await serveWith('');
    const counts = [await left(alone, '203.0.113.1'), await left(alone, '203.0.113.2'), await left(alone, '::1')];
    expect(counts).toEqual([59, 58, 57]);
    await alone.close();
  });

  test.each(['1', '127.0.0.0/8,::1'])(
    'TRUST_PROXY=%s takes what the proxy wrote, never what the client did',
    async (trust) => {
      const behind = await serveWith(trust);
      expect(await left(behind, '203.0.113.1')).toBe(59);
      expect(await left(behind, '203.0.113.2')).toBe(59);
      // The proxy appends the address it saw; everything before it is the client's own invention.
      expect(await left(behind, '198.51.100.7, 203.0.113.1')).toBe(58);
      expect(await left(behind, '198.51.100.8, 203.0.113.1')).toBe(57);
      await behind.close();
    },
  );

  test('a proxy that is not named is a client', async () => {
    const other = await serveWith('192.0.2.1');
    expect([await left(other, '203.0.113.1'), await left(other, '203.0.113.2')]).toEqual([59, 58]);
    await other.close();
  });
});
