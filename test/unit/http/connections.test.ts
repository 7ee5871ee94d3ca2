/** One connection too many is answered before it is read: as busy, with when to come back. */
import { EventEmitter } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { rawAnswers } from '../../../src/http/client-errors';
import { limitConnections } from '../../../src/http/connections';

let server: Server;
const sockets: Socket[] = [];
beforeAll(async () => {
  server = createServer((_request, response) => void response.end());
  const guard: Parameters<typeof rawAnswers>[0] = {
    headersFor: ({ socket }) => ({ 'X-RateLimit-Limit': `60 of ${socket.remoteAddress}` }),
  };
  const answer = rawAnswers(guard, { publicUrl: 'https://signalbox.test' });
  limitConnections(server, { max: 1, isProxy: () => false, answer });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((closed) => server.close(closed));
});

function open(): Socket {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  return socket;
}

test('503 with Retry-After, the rate headers of the address and the version', async () => {
  const first = open();
  await new Promise((connected) => first.once('connect', connected));
  const second = open();
  let said = '';
  second.on('data', (chunk) => (said += chunk.toString()));
  await new Promise((closed) => second.once('close', closed));
  const [head = '', body = ''] = said.split('\r\n\r\n');
  expect(head.split('\r\n')).toEqual(
    expect.arrayContaining([
      'HTTP/1.1 503 Service Unavailable',
      'Retry-After: 1',
      'X-RateLimit-Limit: 60 of 127.0.0.1',
      expect.stringMatching(/^Platform-Version: \d{4}-\d{2}-\d{2}$/),
      'Connection: close',
    ]),
  );
  expect(JSON.parse(body)).toMatchObject({ code: 'TOO_MANY_CONNECTIONS' });
});

/** A server and its connections as far as the limit looks: nobody has so many addresses to connect from. */
function servedOf(addresses: readonly string[], max: number): string[] {
  const listening = createServer();
  listening.removeAllListeners('connection');
  const served: string[] = [];
  listening.on('connection', ({ remoteAddress }: Socket) => served.push(remoteAddress ?? ''));
  limitConnections(listening, { max, isProxy: () => false, answer: () => '' });
  for (const remoteAddress of addresses) {
    const socket = Object.assign(new EventEmitter(), { remoteAddress, resume: () => undefined, end: () => undefined });
    listening.emit('connection', socket);
    refused.push(socket);
  }
  return served;
}
const refused: EventEmitter[] = [];
// What is refused waits to be closed.
afterEach(() => refused.splice(0).forEach((socket) => socket.emit('close')));

test('one IPv6 subscriber has a network of addresses, and no more connections for it', () => {
  const near = Array.from({ length: 5 }, (_unused, n) => `2001:db8:0:1::${n + 1}`);
  expect(servedOf([...near, '2001:db8:0:2::1', '192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1'], 2)).toEqual([
    ...near.slice(0, 2),
    '2001:db8:0:2::1',
    '192.0.2.1',
    '::ffff:192.0.2.1',
  ]);
});
