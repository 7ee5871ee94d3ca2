/** What the parser of HTTP refuses is answered in the format and by the service that was asked. */
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { clientErrorListener, rawAnswers } from '../../../src/http/client-errors';

const PROBLEM = 'Accept: application/problem+json\r\n';

let server: Server;
beforeAll(async () => {
  const limits = { headersTimeout: 300, requestTimeout: 400, connectionsCheckingInterval: 50 };
  // Waits for a body, as services do.
  server = createServer(limits, (request) => void request.resume());
  const answer = rawAnswers({ headersFor: () => ({}) }, { publicUrl: 'https://signalbox.test' });
  server.on('clientError', clientErrorListener(answer));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

/** Sends bytes and answers what came back until the connection was closed. */
const send = (bytes: string): Promise<{ head: string; body: Record<string, unknown> }> =>
  new Promise((resolve, reject) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let said = '';
    socket.on('data', (chunk) => (said += chunk.toString()));
    socket.on('error', reject);
    socket.on('close', () => {
      const [head = '', body = ''] = said.split('\r\n\r\n');
      resolve({ head, body: JSON.parse(body) as Record<string, unknown> });
    });
    socket.write(bytes);
  });

const LONG = `X-Long: ${'x'.repeat(17_000)}\r\n`;
const HALF_A_BODY = 'Content-Length: 20\r\n\r\n{';

test.each([
  ['headers that are too large', `GET /psa/api/tickets HTTP/1.1\r\nHost: x\r\n${PROBLEM}${LONG}\r\n`, 431],
  ['what is not HTTP', `FETCH /psa/api/tickets HTTP/1.1\r\nHost: x\r\n${PROBLEM}\r\n`, 400],
  ['a body that does not come', `POST /psa/api/tickets HTTP/1.1\r\nHost: x\r\n${PROBLEM}${HALF_A_BODY}`, 408],
])('%s: problem details for those who ask for them', async (_case, bytes, status) => {
  const { head, body } = await send(bytes);
  expect(head).toContain(`HTTP/1.1 ${status} `);
  expect(head).toContain('\r\nContent-Type: application/problem+json; charset=utf-8\r\n');
  expect(head).toContain('\r\nVary: Accept\r\n');
  expect(body['status']).toBe(status);
  expect(body['type']).toMatch(/^https:\/\/signalbox.test\/docs\/errors\/[a-z_]+$/);
  const plain = await send(bytes.replace(PROBLEM, 'Accept: */*\r\n'));
  expect(plain.head).toContain('\r\nContent-Type: application/json; charset=utf-8\r\n');
  expect(plain.body['code']).toMatch(/^[A-Z_]+$/);
});

test('a body that does not come to the agent service is refused in its shape', async () => {
  const { body } = await send(`POST /agents/api/agents HTTP/1.1\r\nHost: x\r\n${HALF_A_BODY}`);
  expect(body).toMatchObject({ error: 'request_timeout', status: 408 });
});
