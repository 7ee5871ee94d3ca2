/** Every environment variable Signalbox reads, once: its name, type, default and meaning. */
import {
  addressRanges,
  assertComplete,
  baseUrl,
  ConfigError,
  engineAddress,
  headerToken,
  hostOf,
  httpUrl,
  oneOf,
  proxiesOf,
  secretOf,
  secretsOf,
  smtpUrl,
  wholeNumber,
} from './config-values';

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
  TEMPORAL_TASK_QUEUE: setting(
    'string',
    'signalbox',
    'Task queue of workflows and activities; installations that share a namespace have one each',
  ),
  TEMPORAL_UI_URL: setting('string', '', 'Base address of the Temporal Web UI, for links'),
  TEMPORAL_PAYLOAD_KEY: setting(
    'secret',
    '',
    'Secret that seals what workflow histories hold of events, answers and errors, 32 characters or more; empty seals nothing. Several, separated by commas: the first seals, all open',
  ),
  WORKFLOW_BUNDLE: setting('string', '', 'Path of a prebuilt workflow bundle; empty builds one at start'),
  WORKER_ACTIVITY_SLOTS: setting('integer', '100', 'Remote activities one worker runs at once'),
  WORKER_CACHED_WORKFLOWS: setting(
    'integer',
    '2000',
    'Workflows one worker keeps in memory; keep above the open executions that matter',
  ),
  SHUTDOWN_GRACE_SECONDS: setting(
    'integer',
    '20',
    'How long running activities may finish after SIGTERM; whatever ends the process must wait 15 s longer, in `docker-compose.yml` by `stop_grace_period`',
  ),
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

const PORT_MAX = 65_535;

function reader(env: Environment) {
  // An empty value counts as unset: that is what `NAME=` in an env file means.
  const text = (name: SettingName): string => env[name] || SETTINGS[name].fallback;
  return {
    text,
    url: (name: SettingName): string => httpUrl(name, text(name)),
    base: (name: SettingName): string => baseUrl(name, text(name)),
    token: (name: SettingName): string => headerToken(name, text(name)),
    integer: (name: SettingName): number => wholeNumber(name, text(name)),
    within: (name: SettingName, least: number, most: number): number => wholeNumber(name, text(name), { least, most }),
    port: (name: SettingName): number => wholeNumber(name, text(name), { least: 0, most: PORT_MAX }),
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

const DEVELOPMENT_SECRET = 'signalbox-development-secret-not-for-production';

const NO_LOOPBACK = 'WEBHOOK_LOOPBACK must be "false" in production: tenants could reach services of this machine';

const AI_PROVIDERS = ['offline', 'openai', 'anthropic', 'openai_compatible'] as const;
const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const SLOTS_MAX = 100_000;
/** The library makes room for all of them as the worker starts. */
const CACHED_MAX = 1_000_000;
const GRACE_SECONDS_MAX = 86_400;

function aiOf({ text, url, token }: ReturnType<typeof reader>) {
  const ai = {
    provider: oneOf('AI_PROVIDER', text('AI_PROVIDER'), AI_PROVIDERS) as string,
    apiKey: token('AI_API_KEY'),
    baseUrl: url('AI_BASE_URL'),
    models: {
      quick: text('AI_MODEL_QUICK'),
      standard: text('AI_MODEL_STANDARD'),
      premium: text('AI_MODEL_PREMIUM'),
      expert: text('AI_MODEL_EXPERT'),
    },
  };
  assertComplete(ai);
  return ai;
}

const gatewaysOf = ({ url, token }: ReturnType<typeof reader>) => ({
  sms: url('SMS_GATEWAY_URL'),
  slack: url('SLACK_GATEWAY_URL'),
  teams: url('TEAMS_GATEWAY_URL'),
  webhook: url('WEBHOOK_GATEWAY_URL'),
  token: token('GATEWAY_TOKEN'),
});

const temporalOf = ({ text, base, within, list }: ReturnType<typeof reader>) => ({
  address: engineAddress('TEMPORAL_ADDRESS', text('TEMPORAL_ADDRESS')),
  namespace: text('TEMPORAL_NAMESPACE'),
  taskQueue: text('TEMPORAL_TASK_QUEUE'),
  uiUrl: base('TEMPORAL_UI_URL'),
  payloadKeys: secretsOf('TEMPORAL_PAYLOAD_KEY', text('TEMPORAL_PAYLOAD_KEY'), list('TEMPORAL_PAYLOAD_KEY')),
  workflowBundle: text('WORKFLOW_BUNDLE'),
  activitySlots: within('WORKER_ACTIVITY_SLOTS', 1, SLOTS_MAX),
  cachedWorkflows: within('WORKER_CACHED_WORKFLOWS', 0, CACHED_MAX),
  shutdownGraceSeconds: within('SHUTDOWN_GRACE_SECONDS', 0, GRACE_SECONDS_MAX),
});

/** Reads and checks the environment. Production refuses to start with short or missing secrets. */
export function readConfig(env: Environment = process.env) {
  const read = reader(env);
  const { text, integer, flag, factor, list, url, base, port: portOf } = read;
  const mode = text('SIGNALBOX_MODE');
  if (mode !== 'production' && mode !== 'development')
    throw new ConfigError(`SIGNALBOX_MODE must be "production" or "development", got "${mode}"`);
  const secret = (name: SettingName): string => {
    const value = text(name);
    if (!value && mode === 'development') return `${DEVELOPMENT_SECRET}:${name}`;
    // Everybody can read it here.
    if (mode === 'production' && value.includes(DEVELOPMENT_SECRET)) return secretOf(name, '');
    return secretOf(name, value);
  };
  const loopback = flag('WEBHOOK_LOOPBACK');
  if (loopback && mode === 'production') throw new ConfigError(NO_LOOPBACK);
  const host = hostOf('HOST', text('HOST'));
  const port = portOf('PORT');
  return {
    mode,
    host,
    port,
    publicUrl: base('PUBLIC_URL') || `http://${host}:${port}`,
    workerPort: portOf('WORKER_PORT'),
    mongodbUri: text('MONGODB_URI'),
    temporal: temporalOf(read),
    secrets: { keyPepper: secret('KEY_PEPPER'), session: secret('SESSION_SECRET'), token: secret('TOKEN_SECRET') },
    rateTenantFlat: integer('RATE_TENANT_FLAT'),
    trustProxy: proxiesOf(text('TRUST_PROXY').trim(), list('TRUST_PROXY')),
    connectionsPerAddress: integer('CONNECTIONS_PER_ADDRESS'),
    mail: { smtpUrl: smtpUrl('SMTP_URL', text('SMTP_URL')), from: text('MAIL_FROM') },
    portalSignInUrl: url('PORTAL_SIGN_IN_URL'),
    gateways: gatewaysOf(read),
    httpAllowAddresses: addressRanges('HTTP_ALLOW_ADDRESSES', list('HTTP_ALLOW_ADDRESSES')),
    webhooks: { loopback, retryScale: factor('WEBHOOK_RETRY_SCALE') },
    ai: aiOf(read),
    logLevel: oneOf('LOG_LEVEL', text('LOG_LEVEL'), LOG_LEVELS),
  };
}

/** The checked configuration, built once per process and passed down inside the context. */
export type Config = ReturnType<typeof readConfig>;
