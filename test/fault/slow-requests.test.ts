/** Hundreds of connections that never finish a request: they are cut off in time, and nobody else notices them. */
import { connect, type Socket } from 'node:net';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { joinStack, waitFor, type Harness, type TestOrg } from '../support/harness';
import { startApi, startStack, type Stack } from '../support/stack';

const SECOND = 1_000;
const SLOW_HEADERS = 300;
const SLOW_BODIES = 20;
const HEADERS_MS = 10 * SECOND;
const REQUEST_MS = 30 * SECOND;
/** The process looks every second; a busy machine may look a little later. */
const LATE_MS = 5 * SECOND;
const TICKETS = '/psa/api/tickets?limit=1';
const PER_ADDRESS = 100;

let stack: Stack;
let harness: Harness;
let org: TestOrg;
const sockets: Socket[] = [];
beforeAll(async () => {
  stack = await startStack({ only: 'api' });
  harness = joinStack(stack);
  org = await harness.newOrg();
}, 240 * SECOND);
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await harness.close();
  await stack.stop();
});

interface Slow {
  socket: Socket;
  openedAt: number;
  closedAt: number | null;
  said: string;
}

interface Place {
  port: number;
  /** The loopback address that the connection comes from. */
  from: string;
}

/** A connection that sends the text, and then a byte now and then. */
function slowly(text: string, { port, from }: Place): Slow {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  sockets.push(socket);
  const slow: Slow = { socket, openedAt: performance.now(), closedAt: null, said: '' };
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => (slow.said += chunk.toString()));
  socket.write(text);
  const drip = setInterval(() => socket.writable && socket.write('a'), SECOND / 2);
  socket.on('close', () => {
    slow.closedAt = performance.now();
    clearInterval(drip);
  });
  return slow;
}

const portOf = ({ baseUrl }: { baseUrl: string }): number => Number(new URL(baseUrl).port);
const lasted = ({ openedAt, closedAt }: Slow): number => (closedAt ?? Infinity) - openedAt;
const firstLine = ({ said }: Slow): string => said.split('\r\n', 1)[0] ?? '';

const closing = (slow: Slow[], timeoutMs: number): Promise<boolean> =>
  waitFor(() => Promise.resolve(slow.every(({ closedAt }) => closedAt !== null)), { timeoutMs, what: 'closed' });

/** Milliseconds of requests of somebody else, on connections of their own. */
async function timesOfOthers(): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < 60; index += 1) {
    const startedAt = performance.now();
    expect((await org.call('GET', TICKETS)).status).toBe(200);
    times.push(performance.now() - startedAt);
  }
  return times.toSorted((a, b) => a - b);
}

test(
  'slow headers end after 10 s and slow bodies after 30 s, with 408; others are answered meanwhile',
  async () => {
    const place = { port: portOf(stack), from: '127.0.0.2' };
    await timesOfOthers();
    const before = await timesOfOthers();
    const post = `POST /psa/api/tickets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${org.key}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"subject": "`;
    const bodies = Array.from({ length: SLOW_BODIES }, () => slowly(post, place));
    const headers = Array.from({ length: SLOW_HEADERS }, () =>
      slowly('GET /psa/api/tickets HTTP/1.1\r\nHost: x\r\nX-Slow: ', place),
    );
    await waitFor(() => Promise.resolve(sockets.every(({ connecting }) => !connecting)));
    const during = await timesOfOthers();
    // None of them has been cut off yet, so this is what it is like beside all of them.
    expect(headers.every(({ closedAt }) => closedAt === null)).toBe(true);
    // A busy machine doubles a median by itself; a starved server would take seconds.
    expect(during[30]).toBeLessThan(5 * (before[30] ?? 0) + 50);

    await closing(headers, HEADERS_MS + 2 * LATE_MS);
    expect(Math.min(...headers.map(lasted))).toBeGreaterThan(HEADERS_MS - SECOND);
    expect(Math.max(...headers.map(lasted))).toBeLessThan(HEADERS_MS + LATE_MS);
    expect(new Set(headers.map(firstLine))).toEqual(new Set(['HTTP/1.1 408 Request Timeout']));

    await closing(bodies, REQUEST_MS);
    expect(Math.min(...bodies.map(lasted))).toBeGreaterThan(REQUEST_MS - SECOND);
    expect(Math.max(...bodies.map(lasted))).toBeLessThan(REQUEST_MS + LATE_MS);
    expect(new Set(bodies.map(firstLine))).toEqual(new Set(['HTTP/1.1 408 Request Timeout']));
    expect(bodies[0]?.said).toContain('"code":"REQUEST_TIMEOUT"');
    // What came half is not there at all.
    expect((await org.call('GET', '/psa/api/tickets/count')).body).toMatchObject({ count: 0 });
  },
  90 * SECOND,
);

test('headers beyond 16 KiB are 431, and the process goes on', async () => {
  const filler = `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Filler: ${'x'.repeat(16 * 1024)}\r\n\r\n`;
  const slow = slowly(filler, { port: portOf(stack), from: '127.0.0.1' });
  await waitFor(() => Promise.resolve(slow.closedAt !== null));
  expect(firstLine(slow)).toBe('HTTP/1.1 431 Request Header Fields Too Large');
  expect((await org.call('GET', TICKETS)).status).toBe(200);
});

describe('connections of one address', () => {
  /** One request on a connection of its own. */
  const ask = (
    port: number,
    from: string,
  ): Promise<Pick<IncomingMessage, 'headers'> & { status: number; text: string }> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${org.key}` };
      httpRequest({ port, host: '127.0.0.1', path: TICKETS, localAddress: from, agent: false, headers }, (reply) => {
        let text = '';
        reply.on('data', (chunk: Buffer) => (text += chunk.toString()));
        reply.on('end', () => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text }));
      })
        .on('error', reject)
        .end();
    });

  test(
    'beyond a hundred they are refused, those of others and of a proxy are not, and room comes back',
    async () => {
      const limited = await startApi(stack, { CONNECTIONS_PER_ADDRESS: '', TRUST_PROXY: '127.0.0.5' });
      const port = portOf(limited);
      const from = '127.0.0.3';
      const opened = (address: string): Slow[] =>
        Array.from({ length: 2 * PER_ADDRESS }, () => slowly('GET /', { port, from: address }));
      const [direct, proxied] = [opened(from), opened('127.0.0.5')];
      const isRefused = ({ said }: Slow): boolean => said.startsWith('HTTP/1.1 503 Service Unavailable');
      await waitFor(() => Promise.resolve(direct.filter(isRefused).length >= PER_ADDRESS));
      expect(await ask(port, from)).toMatchObject({
        status: 503,
        headers: { 'retry-after': '1', 'x-ratelimit-limit': '60' },
        text: expect.stringContaining('"code":"TOO_MANY_CONNECTIONS"') as string,
      });
      expect([(await ask(port, '127.0.0.4')).status, (await ask(port, '127.0.0.5')).status]).toEqual([200, 200]);
      expect([direct.filter(isRefused).length, proxied.filter(isRefused).length]).toEqual([PER_ADDRESS, 0]);
      direct.find((slow) => !isRefused(slow))?.socket.destroy();
      await waitFor(async () => (await ask(port, from)).status === 200);
      // Those that are left do not keep the process from ending in good order.
      const slow = slowly('GET /', { port, from: '127.0.0.6' });
      await waitFor(() => Promise.resolve(!slow.socket.connecting));
      const stoppedAt = performance.now();
      await limited.api.stop();
      expect(performance.now() - stoppedAt).toBeLessThan(14 * SECOND);
    },
    120 * SECOND,
  );
});
