import { createGateways, type Delivery } from '../../../src/providers/gateway';
import { createHttp, type HttpClient } from '../../../src/providers/http';
import { startGateway, type GatewayStandIn } from '../../support/stand-ins/gateway';

let gateway: GatewayStandIn;
let http: HttpClient;

const NONE = { sms: '', slack: '', teams: '', webhook: '', token: '' };

beforeEach(async () => {
  gateway = await startGateway();
  http = createHttp({ allowAddresses: ['127.0.0.1'] });
});

afterEach(async () => {
  await http.close();
  await gateway.stop();
});

const delivery = (over: Partial<Delivery> = {}): Delivery => ({
  channel: 'slack',
  to: '#service-desk',
  body: 'Printer offline',
  key: 'exe_1:notify:0',
  signal: new AbortController().signal,
  ...over,
});

test.each(['sms', 'slack', 'teams', 'webhook'] as const)(
  '%s goes to its gateway with key and token',
  async (channel) => {
    const gateways = createGateways({ ...NONE, [channel]: `${gateway.url}/send`, token: 'tok_1' }, http);
    const to = channel === 'sms' ? '+1 555 123 4567' : 'https://example.com/hook';
    const result = await gateways.deliver(delivery({ channel, to, subject: 'Alert' }));
    expect(result).toEqual({ status: 202, id: 'gw_1' });
    expect(gateway.requests).toHaveLength(1);
    expect(gateway.requests[0]).toMatchObject({
      method: 'POST',
      path: '/send',
      body: { channel, to, body: 'Printer offline', subject: 'Alert', key: 'exe_1:notify:0' },
      headers: { authorization: 'Bearer tok_1', 'idempotency-key': 'exe_1:notify:0' },
    });
  },
);

test('a webhook without a gateway is posted to its recipient, and never with our token', async () => {
  const gateways = createGateways({ ...NONE, token: 'tok_1' }, http);
  await gateways.deliver(delivery({ channel: 'webhook', to: `${gateway.url}/hook`, subject: 'Alert' }));
  const [received] = gateway.requests;
  expect(received?.body).toEqual({ text: 'Printer offline', title: 'Alert', key: 'exe_1:notify:0' });
  expect(received?.headers['authorization']).toBeUndefined();
  expect(received?.headers['idempotency-key']).toBe('exe_1:notify:0');
});

test('a webhook without a gateway does not reach private addresses', async () => {
  const guarded = createHttp({ allowAddresses: [] });
  const sending = createGateways(NONE, guarded).deliver(delivery({ channel: 'webhook', to: gateway.url }));
  await expect(sending).rejects.toMatchObject({ kind: 'blocked_address', retryable: false });
  expect(gateway.connections()).toBe(0);
  await guarded.close();
});

test.each([
  ['sms', '+15551234567', 'SMS_GATEWAY_URL'],
  ['slack', '#desk', 'SLACK_GATEWAY_URL'],
  ['teams', 'desk', 'TEAMS_GATEWAY_URL'],
] as const)('%s without a gateway names the variable to set', async (channel, to, variable) => {
  const sending = createGateways(NONE, http).deliver(delivery({ channel, to }));
  await expect(sending).rejects.toMatchObject({ kind: 'not_configured', retryable: false });
  await expect(sending).rejects.toThrow(variable);
});

test.each(['+15551234567', '15551234567', '+1 (555) 123-4567', '0033.1.23.45.67', 'oncall:network-team'])(
  'sms accepts the recipient %s',
  async (to) => {
    const gateways = createGateways({ ...NONE, sms: gateway.url }, http);
    await expect(gateways.deliver(delivery({ channel: 'sms', to }))).resolves.toMatchObject({ status: 202 });
  },
);

test.each([
  '',
  'ana',
  'ana@acme.example',
  '+1',
  '123',
  '+1234567890123456',
  'oncall:',
  '+1555\r\n1234567',
  '+١٢٣٤٥٦٧٨',
])('sms refuses the recipient %j', async (to) => {
  const gateways = createGateways({ ...NONE, sms: gateway.url }, http);
  await expect(gateways.deliver(delivery({ channel: 'sms', to }))).rejects.toMatchObject({ kind: 'invalid_input' });
  expect(gateway.requests).toHaveLength(0);
});

test.each([
  [429, 'rate_limited', true],
  [401, 'auth', false],
  [403, 'auth', false],
  [400, 'rejected', false],
  [404, 'rejected', false],
  [302, 'rejected', false],
  [408, 'server_error', true],
  [500, 'server_error', true],
  [503, 'server_error', true],
])('a %i of the gateway is %s', async (status, kind, retryable) => {
  gateway.setReply(() => ({ status, headers: { 'retry-after': '7', location: gateway.url } }));
  const sending = createGateways({ ...NONE, slack: gateway.url }, http).deliver(delivery());
  await expect(sending).rejects.toMatchObject({ kind, retryable, retryAfterMs: 7_000 });
});

test('the answer of the gateway is not repeated in the error', async () => {
  gateway.setReply(() => ({ status: 500, body: { secret: 'internal detail' } }));
  const sending = createGateways({ ...NONE, slack: gateway.url }, http).deliver(delivery());
  await expect(sending).rejects.not.toThrow('internal detail');
});
