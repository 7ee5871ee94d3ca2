import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { createHttp, type HttpClient, type HttpRequest } from '../../../src/providers/http';
import { startCanary, type Canary } from '../../support/stand-ins/canary';
import { startGateway, type GatewayStandIn } from '../../support/stand-ins/gateway';

let far: GatewayStandIn;
let http: HttpClient;

beforeEach(async () => {
  far = await startGateway({ reply: () => ({ body: { ok: true } }) });
  http = createHttp({ allowAddresses: ['127.0.0.1'] });
});

afterEach(async () => {
  await http.close();
  await far.stop();
});

const request = (over: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'GET',
  url: `${far.url}/things?q=1`,
  signal: new AbortController().signal,
  guarded: true,
  ...over,
});

describe('a reply', () => {
  test('is parsed when it is JSON', async () => {
    const reply = await http.request(request());
    expect(reply).toMatchObject({ status: 200, body: { ok: true }, truncated: false });
    expect(reply.headers['content-type']).toBe('application/json');
  });

  test('keeps long numbers to the last digit, as texts where a number would round them', async () => {
    const sent = '{"id":1234567890123456789,"far":1e400,"near":9007199254740991,"text":"12345678901234567890"}';
    far.setReply(() => ({ body: sent, headers: { 'content-type': 'application/json' } }));
    expect((await http.request(request())).body).toEqual({
      id: '1234567890123456789',
      far: '1e400',
      near: 9_007_199_254_740_991,
      text: '12345678901234567890',
    });
  });

  test('is text when it is not JSON, or says so wrongly', async () => {
    far.setReply(() => ({ body: 'plain' }));
    expect((await http.request(request())).body).toBe('plain');
    far.setReply(() => ({ body: '<html>', headers: { 'content-type': 'application/json' } }));
    expect((await http.request(request())).body).toBe('<html>');
  });

  const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
  test.each([
    ['with a mark in front', 'application/json', Buffer.from('\ufeff{"name":"Müller"}')],
    ['in Latin-1', 'application/json; charset=ISO-8859-1', Buffer.from('{"name":"Müller"}', 'latin1')],
    ['in UTF-16 with a mark', 'application/json', utf16('\ufeff{"name":"Müller"}')],
    ['in UTF-16 as the type says', 'application/json; charset="utf-16le"', utf16('{"name":"Müller"}')],
    ['in a set nobody knows', 'application/json;charset=no-such', Buffer.from('{"name":"Müller"}')],
    ['called text/json', 'text/json', Buffer.from('{"name":"Müller"}')],
  ])('%s is read as it was meant', async (_how, type, body) => {
    far.setReply(() => ({ body, headers: { 'content-type': type } }));
    expect(await http.request(request())).toMatchObject({ body: { name: 'Müller' }, truncated: false });
  });

  test('in the character set of its type keeps its letters', async () => {
    const headers = { 'content-type': 'text/plain; charset=iso-8859-1' };
    far.setReply(() => ({ body: Buffer.from('Stra\xdfe 5', 'latin1'), headers }));
    expect((await http.request(request())).body).toBe('Straße 5');
  });

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('packed as %s although nobody asked for it is unpacked, up to the limit', async (encoding, pack) => {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    far.setReply(() => ({ body: pack('{"ok":true}'), headers }));
    expect(await http.request(request())).toMatchObject({ body: { ok: true }, truncated: false });
    far.setReply(() => ({ body: pack('a'.repeat(3_000_000)), headers }));
    const { body, truncated } = await http.request(request());
    expect(truncated).toBe(true);
    expect(String(body).length).toBeLessThan(1024 * 1024);
    far.setReply(() => ({ body: Buffer.alloc(0), headers }));
    expect(await http.request(request({ method: 'HEAD' }))).toMatchObject({ body: '', truncated: false });
  });

  test.each([204, 301, 302, 307, 308, 404, 429, 500])('of status %i is returned as it is', async (status) => {
    const canary = await startCanary();
    far.setReply(() => ({ status, headers: { location: `http://127.0.0.1:${canary.port}/` } }));
    expect((await http.request(request())).status).toBe(status);
    expect(canary.reached).toEqual([]);
    await canary.stop();
  });

  test('is cut at one megabyte, and earlier when asked', async () => {
    far.setReply(() => ({ body: 'a'.repeat(3_000_000) }));
    const whole = await http.request(request({ maxBytes: 50_000_000 }));
    expect(whole.truncated).toBe(true);
    expect(whole.body).toHaveLength(1024 * 1024);
    const short = await http.request(request({ maxBytes: 10 }));
    expect(short).toMatchObject({ truncated: true, body: 'aaaaaaaaaa' });
  });

  test('of exactly the limit is whole', async () => {
    far.setReply(() => ({ body: 'a'.repeat(10) }));
    expect(await http.request(request({ maxBytes: 10 }))).toMatchObject({ truncated: false, body: 'aaaaaaaaaa' });
  });
});

describe('a request', () => {
  test('sends JSON, the idempotency key and the own Host header', async () => {
    await http.request(request({ method: 'post', body: { a: 1 }, idempotencyKey: 'exe_1:notify:0' }));
    const [received] = far.requests;
    expect(received).toMatchObject({ method: 'POST', path: '/things?q=1', body: { a: 1 } });
    expect(received?.headers).toMatchObject({
      host: `127.0.0.1:${far.port}`,
      'content-type': 'application/json',
      'idempotency-key': 'exe_1:notify:0',
      'accept-encoding': 'identity',
    });
  });

  test('sends the headers of the caller over its own, once each', async () => {
    await http.request(
      request({ method: 'POST', body: '<a/>', headers: { 'Content-Type': 'application/xml', 'X-A': '1' } }),
    );
    expect(far.requests[0]?.headers).toMatchObject({ 'content-type': 'application/xml', 'x-a': '1' });
    expect(far.requests[0]?.body).toBe('<a/>');
  });

  test('reuses its connections', async () => {
    for (let sent = 0; sent < 10; sent += 1) await http.request(request());
    // A connection is free again one tick after its reply was read, so the second request may open another.
    expect(far.connections()).toBeLessThanOrEqual(2);
  });

  test('under way is not cut off when tenants have named more origins than are kept', async () => {
    const many = createHttp({
      allowAddresses: ['127.0.0.1'],
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    far.setReply(({ headers }) => (headers['host']?.startsWith('slow') ? { delayMs: 1_500 } : {}));
    const slow = many.request(request({ url: `http://slow.example:${far.port}/` }));
    const names = Array.from({ length: 520 }, (_none, index) => `host-${index}.example`);
    await Promise.all(names.map(async (name) => many.request(request({ url: `http://${name}:${far.port}/` }))));
    expect((await slow).status).toBe(200);
    await many.close();
  });

  test('ignores proxies of the environment', async () => {
    const canary = await startCanary();
    const before = process.env;
    const proxy = `http://127.0.0.1:${canary.port}`;
    process.env = {
      ...before,
      HTTP_PROXY: proxy,
      http_proxy: proxy,
      HTTPS_PROXY: proxy,
      ALL_PROXY: proxy,
      NODE_USE_ENV_PROXY: '1',
    };
    const fresh = createHttp({ allowAddresses: ['127.0.0.1'] });
    await fresh.request(request());
    await fresh.request(request({ guarded: false }));
    process.env = before;
    await fresh.close();
    await canary.stop();
    expect(canary.reached).toEqual([]);
    expect(far.requests).toHaveLength(2);
  });

  test.each([
    'Host',
    'host',
    'Content-Length',
    'Transfer-Encoding',
    'Connection',
    'Keep-Alive',
    'Upgrade',
    'Expect',
    'TE',
    'Proxy-Authorization',
  ])('with a %s header of the caller is refused', async (name) => {
    await expect(http.request(request({ headers: { [name]: '1' } }))).rejects.toMatchObject({ kind: 'invalid_input' });
    expect(far.requests).toHaveLength(0);
  });

  test.each([{ 'X-A': '1\r\nHost: evil' }, { 'X-A\r\nHost': 'evil' }, { 'X A': '1' }, { 'X-A': 'a\u0000b' }])(
    'with the forged header %j is refused',
    async (headers) => {
      await expect(http.request(request({ headers }))).rejects.toMatchObject({
        kind: 'invalid_input',
        retryable: false,
      });
    },
  );

  test.each([
    'ftp://127.0.0.1/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:70/',
    'data:text/plain,hi',
    'javascript:alert(1)',
    'unix:/var/run/docker.sock',
    'http://user:secret@example.com/',
    'http://token@example.com/',
    'http://',
    '/relative',
    '',
  ])('to %s is refused', async (url) => {
    await expect(http.request(request({ url }))).rejects.toMatchObject({ kind: 'invalid_input', retryable: false });
  });

  test.each(['GET\r\nX: 1', 'CONNECT', ''])('with the method %j is refused', async (method) => {
    await expect(http.request(request({ method }))).rejects.toMatchObject({ kind: 'invalid_input' });
  });
});

describe('a failure', () => {
  test('to connect is a network error', async () => {
    await far.stop();
    await expect(http.request(request())).rejects.toMatchObject({ kind: 'network', retryable: true });
    far = await startGateway();
  });

  test('in the middle is a network error', async () => {
    far.setReply(() => ({ destroy: true }));
    await expect(http.request(request())).rejects.toMatchObject({ kind: 'network', retryable: true });
  });

  test('to answer in time is a timeout', async () => {
    far.setReply(() => ({ hang: true }));
    await expect(http.request(request({ timeoutMs: 60 }))).rejects.toMatchObject({ kind: 'timeout', retryable: true });
  });

  test('to resolve is a network error', async () => {
    const lookup = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    const lost = createHttp({ allowAddresses: [], lookup });
    const sending = lost.request(request({ url: 'http://nowhere.example/' }));
    await expect(sending).rejects.toMatchObject({ kind: 'network', retryable: true });
    await lost.close();
  });

  test('by the caller’s abort is rethrown as it is', async () => {
    far.setReply(() => ({ hang: true }));
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const sending = http.request(request({ signal: controller.signal }));
    setTimeout(() => controller.abort(reason), 30);
    await expect(sending).rejects.toBe(reason);
    await expect(http.request(request({ signal: controller.signal }))).rejects.toBe(reason);
  });
});

describe('the guard', () => {
  let canary: Canary;
  let guarded: HttpClient;

  beforeEach(async () => {
    canary = await startCanary();
    guarded = createHttp({ allowAddresses: [] });
  });

  afterEach(async () => {
    await guarded.close();
    await canary.stop();
  });

  // prettier-ignore
  const HOSTS = [
    '127.0.0.1', '127.0.0.2', '127.255.255.254', '127.1', '2130706433', '017700000001', '0x7f000001', '0x7f.0.0.1',
    '0177.0.0.1', '127.0.0.1.', '①②⑦.⓪.⓪.①', '%31%32%37.0.0.1', 'localhost', 'LOCALHOST', '0.0.0.0', '0', '0.1.2.3', '10.0.0.1',
    '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254', '2852039166', '100.64.0.1', '100.127.255.255',
    '192.0.0.1', '192.0.2.1', '192.88.99.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1',
    '239.255.255.250', '240.0.0.1', '255.255.255.255', '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::127.0.0.1]',
    '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:8.8.8.8]', '[::ffff:0:127.0.0.1]', '[64:ff9b::127.0.0.1]',
    '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001::1]', '[2001:0:7f00:1::]', '[2001:db8::1]', '[3fff::1]', '[100::1]',
    '[fc00::1]', '[fd12:3456::1]', '[fe80::1]', '[fec0::1]', '[ff02::1]', '[5f00::1]', '[4000::1]', '[3ffe::1]',
  ];

  test.each(HOSTS)('refuses http://%s and nothing is reached', async (host) => {
    const sending = guarded.request(request({ url: `http://${host}:${canary.port}/`, timeoutMs: 2_000 }));
    await expect(sending).rejects.toMatchObject({ kind: 'blocked_address', retryable: false });
    expect(canary.reached).toEqual([]);
  });

  test('is what keeps the canary alone: with loopback allowed every spelling of it arrives', async () => {
    const open = createHttp({ allowAddresses: ['127.0.0.0/8'] });
    for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '017700000001']) {
      expect((await open.request(request({ url: `http://${host}:${canary.port}/` }))).body).toBe('secret');
    }
    expect(canary.reached).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.1']);
    await open.close();
  });

  test('holds for https too', async () => {
    const sending = guarded.request(request({ url: `https://127.0.0.1:${canary.port}/` }));
    await expect(sending).rejects.toMatchObject({ kind: 'blocked_address' });
    expect(canary.reached).toEqual([]);
  });

  test('does not hold for what the operator configured', async () => {
    expect((await guarded.request(request({ guarded: false }))).status).toBe(200);
  });

  test('names the host and not the address it led to', async () => {
    const named = createHttp({ allowAddresses: [], lookup: async () => [{ address: '10.11.12.13', family: 4 }] });
    const sending = named.request(request({ url: 'http://inside.example/' }));
    await expect(sending).rejects.toThrow('inside.example');
    await expect(sending).rejects.not.toThrow('10.11.12.13');
    await named.close();
  });

  test.each([
    [['127.0.0.1']],
    [['::1']],
    [['169.254.169.254']],
    [['8.8.8.8', '127.0.0.1']],
    [['::ffff:127.0.0.1']],
    [['not an address']],
  ])('refuses a name that leads to %j', async (addresses) => {
    const lookup = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const named = createHttp({ allowAddresses: [], lookup });
    const sending = named.request(request({ url: `http://attacker.example:${canary.port}/` }));
    await expect(sending).rejects.toMatchObject({ kind: 'blocked_address' });
    expect(canary.reached).toEqual([]);
    await named.close();
  });

  test('connects to the very address it checked, and checks again for the next connection', async () => {
    const answers = ['127.0.0.2', '127.0.0.1'];
    let lookups = 0;
    const lookup = async () => {
      lookups += 1;
      return [{ address: answers.shift() ?? '127.0.0.1', family: 4 }];
    };
    const rebound = createHttp({ allowAddresses: ['127.0.0.2'], lookup });
    const url = `http://rebind.example:${canary.port}/`;
    expect((await rebound.request(request({ url }))).body).toBe('secret');
    expect(lookups).toBe(1);
    await expect(rebound.request(request({ url }))).rejects.toMatchObject({ kind: 'blocked_address' });
    expect(canary.reached).toEqual(['127.0.0.2']);
    await rebound.close();
  });

  test.each([
    [['127.0.0.1'], '127.0.0.1', true],
    [['127.0.0.0/8'], '127.9.9.9', true],
    [['127.0.0.2/32'], '127.0.0.1', false],
    [['10.0.0.0/8'], '127.0.0.1', false],
    [['127.0.0.1'], '[::ffff:127.0.0.1]', true],
  ])('with %j allowed answers for %s: %s', async (allowAddresses, host, isReached) => {
    const open = createHttp({ allowAddresses });
    const sending = open.request(request({ url: `http://${host}:${canary.port}/` }));
    if (isReached) expect((await sending).body).toBe('secret');
    else await expect(sending).rejects.toMatchObject({ kind: 'blocked_address' });
    await open.close();
  });

  test.each(['10.0.0.0/99', 'localhost', '10.0.0', ''])('refuses the allowance %j at start', (allowance) => {
    expect(() => createHttp({ allowAddresses: [allowance] })).toThrow('HTTP_ALLOW_ADDRESSES');
  });
});
