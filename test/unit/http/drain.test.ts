/** A process that stops lets go of its clients: at once where they are idle, after their answer where they wait for one. */
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { drain } from '../../../src/http/drain';

const ANSWER_MS = 300;
const DRAIN_MS = 5_000;

let server: Server;
let agent: Agent;
beforeEach(async () => {
  server = createServer({ keepAliveTimeout: 60_000 }, (asked, reply) => {
    if (asked.url === '/never') return;
    setTimeout(() => reply.end('done'), ANSWER_MS);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  agent = new Agent({ keepAlive: true });
});
afterEach(() => {
  agent.destroy();
  server.closeAllConnections();
});

const ask = (path = '/'): Promise<string> =>
  new Promise((resolve, reject) => {
    const { port } = server.address() as AddressInfo;
    request({ port, host: '127.0.0.1', path, agent }, (reply) => {
      let text = '';
      reply.on('data', (chunk: Buffer) => (text += chunk.toString()));
      reply.on('end', () => resolve(text));
    })
      .once('error', reject)
      .end();
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

test('what takes longer than the limit is cut off', async () => {
  const asked = ask('/never');
  await new Promise((begun) => server.once('request', begun));
  const took = drained(ANSWER_MS);
  await expect(asked).rejects.toThrow('socket hang up');
  expect(await took).toBeGreaterThanOrEqual(ANSWER_MS - 50);
});
