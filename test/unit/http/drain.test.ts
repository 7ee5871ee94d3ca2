/** A process that stops lets go of its clients: at once where they are idle, after their answer where they wait for one. */
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { drain } from '../../../src/http/drain';

const ANSWER_MS = 300;
const DRAIN_MS = 5_000;

let server: Server;
let agent: Agent;
let port: number;
beforeEach(async () => {
  server = createServer({ keepAliveTimeout: 60_000 }, (asked, reply) => {
    if (asked.url === '/never') return;
    setTimeout(() => reply.end('done'), asked.url === '/quick' ? 1 : ANSWER_MS);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  port = (server.address() as AddressInfo).port;
  agent = new Agent({ keepAlive: true });
});
afterEach(() => {
  agent.destroy();
  server.closeAllConnections();
});

const ask = (path = '/'): Promise<string> =>
  new Promise((resolve, reject) => {
    const asked = request({ port, host: '127.0.0.1', path, agent }, (reply) => {
      let text = '';
      reply.on('data', (chunk: Buffer) => (text += chunk.toString()));
      reply.on('end', () => resolve(text));
    });
    asked.once('error', (error) => reject(Object.assign(error, { isKept: asked.reusedSocket })));
    asked.end();
  });

async function drained(limitMs: number): Promise<number> {
  const startedAt = performance.now();
  await drain(server, limitMs);
  return performance.now() - startedAt;
}

test('an idle connection that is kept open does not hold the process up', async () => {
  expect(await ask()).toBe('done');
  expect(await drained(DRAIN_MS)).toBeLessThan(DRAIN_MS / 2);
});

test('a request under way is answered, and its kept connection closed behind it', async () => {
  const asked = ask();
  await new Promise((begun) => server.once('request', begun));
  const took = drained(DRAIN_MS);
  expect(await asked).toBe('done');
  expect(await took).toBeLessThan(DRAIN_MS / 2);
});

test('clients that go on asking are all answered, and told to ask elsewhere the next time', async () => {
  const connections = 20;
  agent.maxSockets = connections;
  /** Until a new connection is refused: one that was kept must not break over a request. */
  const askOn = async (): Promise<boolean> => {
    try {
      for (;;) await ask('/quick');
    } catch (error) {
      return (error as { isKept: boolean }).isKept;
    }
  };
  const asking = Promise.all(Array.from({ length: connections }, askOn));
  await new Promise<void>((busy) => {
    let seen = 0;
    server.on('request', () => (seen += 1) === connections * 5 && busy());
  });
  await drain(server, DRAIN_MS);
  expect((await asking).filter((isKept) => isKept)).toEqual([]);
});

test('what takes longer than the limit is cut off', async () => {
  const asked = ask('/never');
  await new Promise((begun) => server.once('request', begun));
  const took = drained(ANSWER_MS);
  await expect(asked).rejects.toThrow('socket hang up');
  expect(await took).toBeGreaterThanOrEqual(ANSWER_MS - 50);
});
