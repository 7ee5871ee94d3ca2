/** The environment of the development processes: secrets that survive restarts, and addresses of what was started. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Environment, Services } from '../services';
import type { Inbox } from './inbox';

const SECRET_NAMES = ['KEY_PEPPER', 'SESSION_SECRET', 'TOKEN_SECRET'] as const;
const SECRET_BYTES = 32;

type Secrets = Record<(typeof SECRET_NAMES)[number], string>;

function parseSecrets(text: string): Partial<Secrets> {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new Error('not an object');
  const wrong = SECRET_NAMES.find((name) => name in parsed && typeof (parsed as Partial<Secrets>)[name] !== 'string');
  if (wrong) throw new Error(`${wrong} is not a text`);
  return parsed;
}

function readSecrets(path: string): Partial<Secrets> {
  if (!existsSync(path)) return {};
  try {
    return parseSecrets(readFileSync(path, 'utf8'));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `${path} cannot be read (${why}), and with new secrets no key or session of the data here would be valid any ` +
        'more. Put it right, or begin anew with `npm run dev -- --reset`.',
      { cause },
    );
  }
}

/** The secrets of this folder, made on first use. */
export function keepSecrets(path: string): Secrets {
  const known = readSecrets(path);
  const secrets = Object.fromEntries(
    SECRET_NAMES.map((name) => [name, known[name] ?? randomBytes(SECRET_BYTES).toString('hex')]),
  ) as Secrets;
  if (SECRET_NAMES.every((name) => known[name])) return secrets;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  return secrets;
}

/** The port that PORT names, or the usual one. */
export function apiPortOf(env: Environment, usual: number): number {
  const text = env['PORT'] || String(usual);
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new Error(`PORT must be a whole number from 1 to 65535, got "${text}"`);
}

export interface EnvironmentParts {
  own: Environment;
  services: Services;
  inbox: Inbox;
  secrets: Secrets;
  apiPort: number;
}

/** What api and worker are started with. The caller's own variables win, except for what was chosen here. */
export function childEnvironment({ own, services, inbox, secrets, apiPort }: EnvironmentParts): Record<string, string> {
  const defaults = {
    ...secrets,
    SMTP_URL: inbox.smtpUrl,
    SMS_GATEWAY_URL: inbox.gatewayUrl('sms'),
    SLACK_GATEWAY_URL: inbox.gatewayUrl('slack'),
    TEAMS_GATEWAY_URL: inbox.gatewayUrl('teams'),
    // So that http_request steps can be tried against something on this machine.
    HTTP_ALLOW_ADDRESSES: '127.0.0.0/8',
    WEBHOOK_LOOPBACK: 'true',
    // Somebody is waiting for the prompt to come back.
    SHUTDOWN_GRACE_SECONDS: '5',
  };
  const chosen = {
    SIGNALBOX_MODE: 'development',
    HOST: '127.0.0.1',
    PORT: String(apiPort),
    MONGODB_URI: services.mongodbUri,
    TEMPORAL_ADDRESS: services.temporalAddress,
    TEMPORAL_UI_URL: services.temporalUiUrl,
  };
  const ownValues = Object.entries(own).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return { ...defaults, ...Object.fromEntries(ownValues), ...chosen };
}
