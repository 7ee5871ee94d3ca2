import { createServer, type AddressInfo, type Server } from 'node:net';
import { accepts, choosePort, choosePortFor, releasePort } from '../../../scripts/services/ports';

function listen(port = 0): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer().listen(port, '127.0.0.1', () => resolve(server));
  });
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

const closed = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));

test('a preferred port that is free is used', async () => {
  const free = await choosePort();
  releasePort(free);
  expect(await choosePort(free)).toBe(free);
});

test('a taken port gives way to the next free one, which is announced', async () => {
  const server = await listen();
  const lines: string[] = [];
  const port = await choosePortFor('store', portOf(server), (line) => lines.push(line));
  expect(port).toBeGreaterThan(portOf(server));
  expect(lines).toEqual([`store: port ${portOf(server)} is taken, using ${port}`]);
  await closed(server);
});

test('a port that is chosen but not listened on yet is not chosen twice', async () => {
  const first = await choosePort();
  expect(await choosePort(first)).not.toBe(first);
});

test('ports without a preference lie below those of outgoing connections', async () => {
  const port = await choosePort();
  expect(port).toBeGreaterThanOrEqual(15_000);
  expect(port).toBeLessThan(32_768);
});

test('accepts tells a listening port from a silent one', async () => {
  const server = await listen();
  const port = portOf(server);
  expect(await accepts('127.0.0.1', port)).toBe(true);
  await closed(server);
  expect(await accepts('127.0.0.1', port)).toBe(false);
});
