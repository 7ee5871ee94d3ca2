/** Every environment variable Signalbox reads, once: its name, type, default and meaning. */
import { isIP } from 'node:net';

type Kind = 'string' | 'integer' | 'boolean' | 'list' | 'secret';

interface Setting {
  kind: Kind;
  fallback: string;
  meaning: string;
}

const setting = (kind: Kind, fallback: string, meaning: string): Setting => ({ kind, fallback, meaning });

/** The whole surface an operator can configure. Names are what `docker-compose.yml` and `.env` use. */
export const SETTINGS = {
  SIGNALBOX_MODE: setting(
    'string',
    'production',
    '`production` or `development`; development allows the seeded login and loopback http',
  ),
  HOST: setting('string', '127.0.0.1', 'Address the API listens on'),
  PORT: setting('integer', '3000', 'Port the API listens on'),
  PUBLIC_URL: setting('string', '', 'Base address clients use; default is http://HOST:PORT'),
  WORKER_PORT: setting('integer', '0', 'Port of the worker health endpoint; 0 picks a free one'),
  MONGODB_URI: setting(
    'secret',
    'mongodb://127.0.0.1:27017/signalbox',
    'MongoDB connection string, database name included',
  ),
  TEMPORAL_ADDRESS: setting('string', '127.0.0.1:7233', 'Temporal frontend, host:port'),
  TEMPORAL_NAMESPACE: setting('string', 'default', 'Temporal namespace'),
  TEMPORAL_TASK_QUEUE: setting('string', 'signalbox', 'Task queue of workflows and activities'),
  TEMPORAL_UI_URL: setting('string', '', 'Base address of the Temporal Web UI, for links'),
  WORKFLOW_BUNDLE: setting('string', '', 'Path of a prebuilt workflow bundle; empty builds one at start'),
  WORKER_ACTIVITY_SLOTS: setting('integer', '100', 'Remote activities one worker runs at once'),
  WORKER_CACHED_WORKFLOWS: setting(
    'integer',
    '2000',
    'Workflows one worker keeps in memory; keep above the open executions that matter',
  ),
  SHUTDOWN_GRACE_SECONDS: setting('integer', '20', 'How long running activities may finish after SIGTERM'),
  KEY_PEPPER: setting(
    'secret',
    '',
    'Secret mixed into API key hashes, and seed of the key that encrypts webhook secrets; 32 characters or more',
  ),
  SESSION_SECRET: setting('secret', '', 'Seed of the session signing key and of CSRF tokens, 32 characters or more'),
  TOKEN_SECRET: setting(
    'secret',
    '',
    'Seed of the key that seals continuation tokens and cursors, and of the marks around data in prompts, 32 characters or more',
  ),
  RATE_TENANT_FLAT: setting(
    'integer',
    '0',
    'One request limit per minute for every tenant, whatever its tier; 0 uses the tier',
  ),
  TRUST_PROXY: setting(
    'string',
    '',
    'Reverse proxies whose `X-Forwarded-For` is believed: their addresses or CIDR ranges, or how many stand in a row (1 to 10); empty believes nobody',
  ),
  CONNECTIONS_PER_ADDRESS: setting(
    'integer',
    '100',
    'Connections one address may hold to one API process, the proxies of `TRUST_PROXY` excepted; 0 counts none',
  ),
  SMTP_URL: setting('secret', 'smtp://127.0.0.1:1025', 'SMTP relay for notification mail'),
  MAIL_FROM: setting('string', 'Signalbox <agents@signalbox.localhost>', 'Sender of notification mail'),
  PORTAL_SIGN_IN_URL: setting(
    'string',
    '',
    'Page of your client portal that sign-in mails link to, with `code` added; without it they hold the code alone',
  ),
  SMS_GATEWAY_URL: setting('string', '', 'HTTP gateway that takes {channel, to, body} for sms'),
  SLACK_GATEWAY_URL: setting('string', '', 'HTTP gateway for slack messages'),
  TEAMS_GATEWAY_URL: setting('string', '', 'HTTP gateway for teams messages'),
  WEBHOOK_GATEWAY_URL: setting('string', '', 'HTTP gateway for webhook messages; empty posts to each recipient URL'),
  GATEWAY_TOKEN: setting('secret', '', 'Bearer token sent to the HTTP gateways'),
  HTTP_ALLOW_ADDRESSES: setting(
    'list',
    '',
    'Private addresses or CIDR ranges that http_request steps may reach all the same',
  ),
  WEBHOOK_LOOPBACK: setting(
    'boolean',
    'false',
    'Webhook endpoints may be on loopback, by http and on any port; development mode only',
  ),
  WEBHOOK_RETRY_SCALE: setting(
    'string',
    '1',
    'Factor on the pauses between attempts at a webhook delivery; below 1 for tests and demonstrations',
  ),
  AI_PROVIDER: setting('string', 'offline', '`offline`, `openai`, `anthropic` or `openai_compatible`'),
  AI_API_KEY: setting('secret', '', 'Key of the AI provider'),
  AI_BASE_URL: setting('string', '', 'Base address of an OpenAI-compatible provider, or an override for the others'),
  AI_MODEL_QUICK: setting('string', '', 'Model of the quick tier'),
  AI_MODEL_STANDARD: setting('string', '', 'Model of the standard tier'),
  AI_MODEL_PREMIUM: setting('string', '', 'Model of the premium tier'),
  AI_MODEL_EXPERT: setting('string', '', 'Model of the expert tier'),
  LOG_LEVEL: setting('string', 'info', '`debug`, `info`, `warn`, `error` or `silent`'),
} as const satisfies Record<string, Setting>;

type SettingName = keyof typeof SETTINGS;
type Environment = Record<string, string | undefined>;

/** Thrown at start when a variable is missing or malformed; the message names it and the fix. */
export class ConfigError extends Error {}

function reader(env: Environment) {
  // An empty value counts as unset: that is what `NAME=` in an env file means.
  const text = (name: SettingName): string => env[name] || SETTINGS[name].fallback;
  return {
    text,
    httpUrl: (name: SettingName): string => {
      const value = text(name);
      if (value && !(URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)))
        throw new ConfigError(`${name} must be empty or an http(s) address, got "${value}"`);
      return value;
    },
    integer: (name: SettingName): number => {
      const value = Number(text(name));
      if (!Number.isInteger(value) || value < 0)
        throw new ConfigError(`${name} must be a whole number, got "${text(name)}"`);
      return value;
    },
    flag: (name: SettingName): boolean => {
      const value = text(name);
      if (value !== 'true' && value !== 'false')
        throw new ConfigError(`${name} must be "true" or "false", got "${value}"`);
      return value === 'true';
    },
    factor: (name: SettingName): number => {
      const value = Number(text(name));
      if (!(value > 0) || value > 10)
        throw new ConfigError(`${name} must be above 0 and at most 10, got "${text(name)}"`);
      return value;
    },
    list: (name: SettingName): string[] =>
      text(name)
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean),
  };
}

const PROXIES_IN_A_ROW_MAX = 10;
const RANGE_BITS: Record<number, number> = { 4: 32, 6: 128 };

/** An address, or a range that is not everybody. */
function isAddressRange(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const bits = RANGE_BITS[isIP(address)];
  if (bits === undefined || more.length > 0) return false;
  return prefix === undefined || (/^[0-9]{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= bits);
}

/** Whom the API believes about a caller's address: nobody, so many proxies in a row, or these addresses. */
function proxiesOf(text: string, list: string[]): false | number | string[] {
  if (list.length === 0) return false;
  if (/^[0-9]+$/.test(text) && Number(text) >= 1 && Number(text) <= PROXIES_IN_A_ROW_MAX) return Number(text);
  const wrong = list.find((range) => !isAddressRange(range));
  if (wrong === undefined) return list;
  throw new ConfigError(
    `TRUST_PROXY must be a number of proxies from 1 to ${PROXIES_IN_A_ROW_MAX}, or addresses and CIDR ranges such as "10.0.0.0/8,::1"; "${wrong}" is neither`,
  );
}

const DEVELOPMENT_SECRET = 'signalbox-development-secret-not-for-production';

const NO_LOOPBACK = 'WEBHOOK_LOOPBACK must be "false" in production: tenants could reach services of this machine';

const aiOf = (text: (name: SettingName) => string) => ({
  provider: text('AI_PROVIDER'),
  apiKey: text('AI_API_KEY'),
  baseUrl: text('AI_BASE_URL'),
  models: {
    quick: text('AI_MODEL_QUICK'),
    standard: text('AI_MODEL_STANDARD'),
    premium: text('AI_MODEL_PREMIUM'),
    expert: text('AI_MODEL_EXPERT'),
  },
});

/** Reads and checks the environment. Production refuses to start with short or missing secrets. */
export function readConfig(env: Environment = process.env) {
  const { text, integer, flag, factor, list, httpUrl } = reader(env);
  const mode = text('SIGNALBOX_MODE');
  if (mode !== 'production' && mode !== 'development')
    throw new ConfigError(`SIGNALBOX_MODE must be "production" or "development", got "${mode}"`);
  const secret = (name: SettingName): string => {
    const value = text(name);
    if (value.length >= 32) return value;
    if (mode === 'production' || value)
      throw new ConfigError(`${name} must have 32 characters or more; create one with: openssl rand -hex 32`);
    return `${DEVELOPMENT_SECRET}:${name}`;
  };
  const loopback = flag('WEBHOOK_LOOPBACK');
  if (loopback && mode === 'production') throw new ConfigError(NO_LOOPBACK);
  const host = text('HOST');
  const port = integer('PORT');
  return {
    mode,
    host,
    port,
    publicUrl: (text('PUBLIC_URL') || `http://${host}:${port}`).replace(/\/$/, ''),
    workerPort: integer('WORKER_PORT'),
    mongodbUri: text('MONGODB_URI'),
    temporal: {
      address: text('TEMPORAL_ADDRESS'),
      namespace: text('TEMPORAL_NAMESPACE'),
      taskQueue: text('TEMPORAL_TASK_QUEUE'),
      uiUrl: text('TEMPORAL_UI_URL').replace(/\/$/, ''),
      workflowBundle: text('WORKFLOW_BUNDLE'),
      activitySlots: integer('WORKER_ACTIVITY_SLOTS'),
      cachedWorkflows: integer('WORKER_CACHED_WORKFLOWS'),
      shutdownGraceSeconds: integer('SHUTDOWN_GRACE_SECONDS'),
    },
    secrets: { keyPepper: secret('KEY_PEPPER'), session: secret('SESSION_SECRET'), token: secret('TOKEN_SECRET') },
    rateTenantFlat: integer('RATE_TENANT_FLAT'),
    trustProxy: proxiesOf(text('TRUST_PROXY').trim(), list('TRUST_PROXY')),
    connectionsPerAddress: integer('CONNECTIONS_PER_ADDRESS'),
    mail: { smtpUrl: text('SMTP_URL'), from: text('MAIL_FROM') },
    portalSignInUrl: httpUrl('PORTAL_SIGN_IN_URL'),
    gateways: {
      sms: text('SMS_GATEWAY_URL'),
      slack: text('SLACK_GATEWAY_URL'),
      teams: text('TEAMS_GATEWAY_URL'),
      webhook: text('WEBHOOK_GATEWAY_URL'),
      token: text('GATEWAY_TOKEN'),
    },
    httpAllowAddresses: list('HTTP_ALLOW_ADDRESSES'),
    webhooks: { loopback, retryScale: factor('WEBHOOK_RETRY_SCALE') },
    ai: aiOf(text),
    logLevel: text('LOG_LEVEL'),
  };
}

/** The checked configuration, built once per process and passed down inside the context. */
export type Config = ReturnType<typeof readConfig>;
