/** A value that cannot be used stops a process at start, with a sentence that names the variable. */
import { readConfig } from '../../../src/config';
import { ConfigError } from '../../../src/config-values';
import { apiPortOf } from '../../../scripts/dev/environment';

const AI = { AI_API_KEY: 'key', AI_MODEL_QUICK: 'small' };
const read = (env: Record<string, string>) => readConfig({ SIGNALBOX_MODE: 'development', ...env });

test.each([
  ['PORT', 'abc'],
  ['PORT', '-1'],
  ['PORT', '99999'],
  ['WORKER_PORT', '70000'],
  ['HOST', '999.1.1.1'],
  ['HOST', 'a b'],
  ['PUBLIC_URL', 'nonsense'],
  ['PUBLIC_URL', 'https://user:pass@signalbox.example.com'],
  ['PUBLIC_URL', 'https://signalbox.example.com/?from=mail'],
  ['PUBLIC_URL', 'https://signalbox.example.com/#top'],
  ['PUBLIC_URL', 'https://a.example.com,https://b.example.com'],
  ['TEMPORAL_UI_URL', 'http://temporal.example.com/?namespace=signalbox'],
  ['SMS_GATEWAY_URL', 'foo'],
  ['SLACK_GATEWAY_URL', 'foo'],
  ['TEAMS_GATEWAY_URL', 'ftp://foo'],
  ['WEBHOOK_GATEWAY_URL', 'foo'],
  ['TEMPORAL_UI_URL', 'foo'],
  ['AI_BASE_URL', 'foo'],
  ['LOG_LEVEL', 'verbose'],
  ['AI_PROVIDER', 'gemini'],
  ['HTTP_ALLOW_ADDRESSES', '10.0.0.0/8,nonsense'],
  ['WORKER_ACTIVITY_SLOTS', '0'],
  ['WORKER_CACHED_WORKFLOWS', '5000000000'],
  ['SHUTDOWN_GRACE_SECONDS', '9999999999'],
  ['TEMPORAL_ADDRESS', 'http://temporal:7233'],
  ['TEMPORAL_ADDRESS', 'temporal:port'],
  ['TEMPORAL_ADDRESS', 'a b'],
  ['GATEWAY_TOKEN', 'one\ntwo'],
  ['AI_API_KEY', 'kéy→'],
  ['SMTP_URL', 'mail.example.com:25'],
  ['SMTP_URL', 'smtp://user:pa/ss@mail.example.com'],
  ['SMTP_URL', 'smtp://user:100%sure@mail.example.com'],
])('%s=%s is refused by its name', (name, value) => {
  expect(() => read({ [name]: value })).toThrow(ConfigError);
  expect(() => read({ [name]: value })).toThrow(new RegExp(`^${name} must be `));
});

test.each([
  ['openai', { AI_MODEL_QUICK: 'small' }, 'AI_API_KEY'],
  ['anthropic', { AI_API_KEY: 'key' }, 'at least one of AI_MODEL_QUICK'],
  ['openai_compatible', AI, 'AI_BASE_URL'],
])('AI_PROVIDER=%s asks for what it cannot answer without', (provider, env, missing) => {
  expect(() => read({ AI_PROVIDER: provider, ...env })).toThrow(`AI_PROVIDER is ${provider}, so ${missing}`);
});

test.each(['short', `${'k'.repeat(32)},short`, ',', ' '])(
  'TEMPORAL_PAYLOAD_KEY=%s is refused without being said again',
  (keys) => {
    const TEMPORAL_PAYLOAD_KEY = keys;
    expect(() => read({ TEMPORAL_PAYLOAD_KEY })).toThrow(
      /^TEMPORAL_PAYLOAD_KEY must have 32 characters(?!.*(short|kk))/,
    );
    expect(read({ TEMPORAL_PAYLOAD_KEY: '' }).temporal.payloadKeys).toEqual([]);
  },
);

test.each([' '.repeat(40), 'signalbox-development-secret-not-for-production:KEY_PEPPER'])(
  'KEY_PEPPER=%s is no secret in production',
  (KEY_PEPPER) => {
    expect(() => readConfig({ KEY_PEPPER })).toThrow(/^KEY_PEPPER must have 32 characters .* openssl rand -hex 32$/);
  },
);

test('what stands around a base address and a token does not count', () => {
  expect(read({ PUBLIC_URL: 'HTTPS://Signalbox.example.com:443/ ' }).publicUrl).toBe('https://signalbox.example.com');
  expect(read({ PUBLIC_URL: 'https://example.com/signalbox/' }).publicUrl).toBe('https://example.com/signalbox');
  expect(read({ GATEWAY_TOKEN: 'token\n' }).gateways.token).toBe('token');
  expect(read({ AI_API_KEY: 'key\r\n' }).ai.apiKey).toBe('key');
});

test('a password that makes no address is not said again', () => {
  const SMTP_URL = 'smtps://user:geh:e/im@mail.example.com';
  expect(() => read({ SMTP_URL })).toThrow(/^SMTP_URL must be an address such as (?!.*(geh|e\/im|mail\.example))/);
});

test.each([
  { HOST: 'localhost', PORT: '65535' },
  { HOST: '::' },
  { TEMPORAL_ADDRESS: 'Temporal' },
  { TEMPORAL_ADDRESS: 'engine-1.internal:80' },
  { TEMPORAL_ADDRESS: '[::1]:7233' },
  { SMTP_URL: 'smtps://user%40example.com:p%2Fss@mail.example.com:465' },
  { HTTP_ALLOW_ADDRESSES: '0.0.0.0/0, fd00::1' },
  { AI_PROVIDER: 'openai', ...AI },
])('%j can be used', (env) => {
  expect(() => read(env)).not.toThrow();
});

test.each(['abc', '0', '-1', '99999'])('npm run dev refuses PORT=%s', (PORT) => {
  expect(() => apiPortOf({ PORT }, 3000)).toThrow(/^PORT must be a whole number from 1 to 65535/);
});
