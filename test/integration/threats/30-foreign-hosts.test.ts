/** Redirects, host headers and cross-origin reads: nothing a caller writes sends anybody elsewhere. */
import { request as send } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { SUITE_ADDRESS } from '../../support/harness';
import { nameOf, openBorder, operations, type Border, type Tenant } from './tenants';

const EVIL = 'evil.example';

let border: Border;
let tenant: Tenant;
beforeAll(async () => {
  border = openBorder();
  tenant = await border.newTenant({ isEmpty: true });
}, 120_000);
afterAll(() => border.stop());

interface Raw {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** As sent: `fetch` would correct the path and own the Host header. */
function raw(method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<Raw> {
  const { hostname, port } = new URL(border.address.baseUrl);
  return new Promise((resolve, reject) => {
    const own = { localAddress: SUITE_ADDRESS, setHost: headers['host'] === undefined };
    const request = send({ hostname, port, method, path, headers, ...own }, (reply) => {
      let text = '';
      reply.on('data', (chunk: Buffer) => (text += chunk.toString()));
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: text }));
    });
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const names = (answer: Raw): string => JSON.stringify(answer);

describe('host header', () => {
  const forged: Record<string, string>[] = [
    { host: EVIL },
    { 'x-forwarded-host': EVIL },
    { 'x-forwarded-host': EVIL, 'x-forwarded-proto': 'https', forwarded: `host=${EVIL}` },
    { 'x-original-url': `https://${EVIL}/`, 'x-rewrite-url': `https://${EVIL}/` },
  ];
  const PATHS = [
    '/',
    '/docs',
    '/docs/errors/not_found',
    '/psa/api/openapi.json',
    '/psa/api/tickets',
    '/console/api/session',
    '/readyz',
    '/nowhere',
  ];

  test.each(forged)('%j is echoed by no page, document, reply or header', async (headers) => {
    for (const path of PATHS) {
      const answer = await raw('GET', path, { ...headers, authorization: `Bearer ${tenant.key}` });
      expect([path, names(answer).includes(EVIL)]).toEqual([path, false]);
    }
    const created = await raw(
      'POST',
      '/psa/api/boards',
      { ...headers, authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json' },
      { name: 'x' },
    );
    expect([created.status, created.headers.location]).toEqual([
      201,
      expect.stringMatching(/^\/psa\/api\/boards\/brd_/),
    ]);
  });
});

test.each([
  `//${EVIL}`,
  `//${EVIL}/%2e%2e`,
  `/\\${EVIL}`,
  `/%5c${EVIL}`,
  `/%2f%2f${EVIL}`,
  `https://${EVIL}/psa/api/tickets`,
  `/docs//${EVIL}`,
  `/docs/..//${EVIL}`,
  `/psa//${EVIL}`,
  `/console?next=https://${EVIL}`,
  `/docs?return=//${EVIL}`,
  `/console/api/session?redirect=https://${EVIL}`,
])('%s redirects nobody', async (path) => {
  const answer = await raw('GET', path, {});
  expect([answer.status < 300 || answer.status >= 400, answer.headers.location]).toEqual([true, undefined]);
});

test('no operation lets a page of another origin read its answer', async () => {
  const origin = `https://${EVIL}`;
  const asked = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };
  const { cookie = '' } = tenant.sessions.owner;
  const reads = operations.filter(({ method, path }) => method === 'GET' && !path.includes('/:'));
  for (const operation of reads) {
    const path = `/${operation.service}${operation.path}`;
    const answers = [await raw('OPTIONS', path, asked), await raw('GET', path, { origin, cookie })];
    const allowed = answers.flatMap(({ headers }) =>
      Object.keys(headers).filter((name) => name.startsWith('access-control')),
    );
    expect([nameOf(operation), allowed]).toEqual([nameOf(operation), []]);
  }
});
