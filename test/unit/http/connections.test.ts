/** One connection too many is answered before it is read: as busy, with when to come back. */
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { rawAnswers } from '../../../src/http/client-errors';
import { limitConnections } from '../../../src/http/connections';

let server: Server;
const sockets: Socket[] = [];
beforeAll(async () => {
  server = createServer((_request, response) => void response.end());
  const answer = rawAnswers({ headersFor: ({ socket }) => ({ 'X-RateLimit-Limit': `60 of ${socket.remoteAddress}` }) });
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
