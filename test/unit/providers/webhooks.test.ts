import { createAddressGuard } from '../../../src/providers/addresses';
import { createWebhookSender } from '../../../src/providers/webhooks';
import { urlFlaw } from '../../../src/domain/webhooks/check';
import { startCanary } from '../../support/stand-ins/canary';
import { startHttpServer } from '../../support/stand-ins/http-server';

/** One address or more of every family that is not the public internet. */
const INSIDE = [
  '0.0.0.0',
  '10.0.0.1',
  '10.255.255.254',
  '100.64.0.1',
  '100.127.255.254',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.254',
  '192.0.0.1',
  '192.0.0.170',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.254',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:10.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:0:10.0.0.1',
  '64:ff9b::a00:1',
  '64:ff9b:1::a00:1',
  '100::1',
  '2001::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:a00:1::1',
  '3ffe::1',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
];

test.each(INSIDE)('%s is not the public internet', (address) => {
  expect(createAddressGuard([])(address)).toBe(false);
});

const HOSTS = [
  '127.0.0.1',
  'localhost',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '0',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:127.0.0.1]',
  'localhost.',
  '127.0.0.1.',
  '①②⑦.⓪.⓪.①',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
];

/** Not every resolver knows a name with a dot behind it. */
const insideOf = (host: string): unknown =>
  host === 'localhost.' ? expect.stringMatching(/not public|ENOTFOUND/) : 'the address is not public';

test('no spelling of this machine gets through, by http or https, on any port', async () => {
  const canary = await startCanary();
  const sender = createWebhookSender({ loopback: false });
  // What the address says of itself is refused before anybody looks where it leads; of the last two only the guard knows.
  const refusals = HOSTS.flatMap((host): [string, unknown][] => [
    [`http://${host}:${canary.port}/`, 'the address must begin with https://'],
    [`https://${host}:${canary.port}/`, 'the address must use port 443 or 8443'],
    [`https://${host}/`, insideOf(host)],
    [`https://${host}:8443/`, insideOf(host)],
  ]);
  for (const [url, refusal] of refusals) {
    const { statusCode, error, response } = await sender.send({ url, headers: {}, body: '{}' });
    expect([url, statusCode, error, response]).toEqual([url, null, refusal, null]);
  }
  expect(canary.reached).toEqual([]);
  await Promise.all([canary.stop(), sender.close()]);
});

test('a gigabyte of answer is cut off after 64 KiB, and the beginning of it is kept', async () => {
  let sent = 0;
  const { createServer } = await import('node:http');
  const server = createServer((_request, response) => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    response.writeHead(200, { 'content-length': String(2 ** 30) });
    const pump = (): void => {
      while (sent < 2 ** 30 && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', pump);
      }
    };
    pump();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const sender = createWebhookSender({ loopback: true });
  const outcome = await sender.send({ url: `http://127.0.0.1:${port}/`, headers: {}, body: '{}' });
  expect(outcome).toMatchObject({ statusCode: 200, error: null, response: 'x'.repeat(512) });
  expect(sent).toBeLessThan(64 * 2 ** 20);
  server.closeAllConnections();
  await Promise.all([new Promise((resolve) => server.close(resolve)), sender.close()]);
});

test('a name that does not resolve and a server that speaks no TLS are outcomes, not errors', async () => {
  const plain = await startHttpServer(() => ({ status: 200 }));
  const sender = createWebhookSender({ loopback: true });
  for (const url of ['https://nothing.invalid/', `https://127.0.0.1:${plain.port}/`]) {
    const { statusCode, error } = await sender.send({ url, headers: {}, body: '{}' });
    expect([statusCode, error]).toEqual([null, expect.stringContaining('Cannot reach')]);
  }
  await Promise.all([plain.stop(), sender.close()]);
});

test.each([
  ['https://hooks.example.com/x', null],
  ['https://hooks.example.com:443/x', null],
  ['https://hooks.example.com:8443/x', null],
  ['https://hooks.example.com:22/', 'port'],
  ['http://hooks.example.com/', 'https'],
  ['http://127.0.0.1/', 'https'],
  ['https://hooks.example.com/#part', 'fragment'],
])('%s in production', (url, flaw) => {
  expect(urlFlaw(url, false)).toEqual(flaw === null ? null : expect.stringContaining(flaw));
});
