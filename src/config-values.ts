/** What values of settings may look like; each refusal names the variable and says what is possible. */
import { isIP } from 'node:net';

/** Thrown at start when a variable is missing or malformed; the message names it and the fix. */
export class ConfigError extends Error {}

const PROXIES_IN_A_ROW_MAX = 10;
const RANGE_BITS: Record<number, number> = { 4: 32, 6: 128 };

/** An address or a CIDR range; its prefix is `least` bits or more. */
function isAddressRange(text: string, least: number): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const bits = RANGE_BITS[isIP(address)];
  if (bits === undefined || more.length > 0) return false;
  return prefix === undefined || (/^[0-9]{1,3}$/.test(prefix) && Number(prefix) >= least && Number(prefix) <= bits);
}

/** Whom the API believes about a caller's address: nobody, so many proxies in a row, or these addresses. */
export function proxiesOf(text: string, list: string[]): false | number | string[] {
  if (list.length === 0) return false;
  if (/^[0-9]+$/.test(text) && Number(text) >= 1 && Number(text) <= PROXIES_IN_A_ROW_MAX) return Number(text);
  // A range of no bits is everybody.
  const wrong = list.find((range) => !isAddressRange(range, 1));
  if (wrong === undefined) return list;
  throw new ConfigError(
    `TRUST_PROXY must be a number of proxies from 1 to ${PROXIES_IN_A_ROW_MAX}, or addresses and CIDR ranges such as "10.0.0.0/8,::1"; "${wrong}" is neither`,
  );
}

export function addressRanges(name: string, list: string[]): string[] {
  const wrong = list.find((range) => !isAddressRange(range, 0));
  if (wrong === undefined) return list;
  throw new ConfigError(`${name} must be addresses and CIDR ranges such as "10.0.0.0/8,::1"; "${wrong}" is neither`);
}

export function httpUrl(name: string, value: string): string {
  if (value && !(URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)))
    throw new ConfigError(`${name} must be empty or an http(s) address, got "${value}"`);
  return value;
}

/** An address that paths are put behind, without the slash at its end. Credentials in it would be mailed to people. */
export function baseUrl(name: string, value: string): string {
  if (!httpUrl(name, value)) return '';
  const { href, origin, pathname, host } = new URL(value);
  if (href === `${origin}${pathname}` && /^[\w.:[\]-]+$/.test(host)) return href.replace(/\/$/, '');
  throw new ConfigError(
    `${name} must be one http(s) address without credentials, ? and #, such as https://signalbox.example.com`,
  );
}

/** A token that is sent in a header. A line's end behind it, as files of secrets have one, is no part of it. */
export function headerToken(name: string, value: string): string {
  const token = value.trim();
  if (/^[\x20-\x7e]*$/.test(token)) return token;
  throw new ConfigError(`${name} must be one line of ASCII characters: it is sent in a header`);
}

export function wholeNumber(
  name: string,
  text: string,
  { least, most }: { least: number; most: number } = { least: 0, most: Number.MAX_SAFE_INTEGER },
): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
  throw new ConfigError(`${name} must be a whole number ${range}, got "${text}"`);
}

export function oneOf<Value extends string>(name: string, value: string, values: readonly Value[]): Value {
  const found = values.find((one) => one === value);
  if (found !== undefined) return found;
  throw new ConfigError(`${name} must be one of ${values.join(', ')}, got "${value}"`);
}

/** An address of this machine, or a name that is looked up when it is used. */
export function hostOf(name: string, value: string): string {
  if (isIP(value) || (/^[A-Za-z0-9._-]+$/.test(value) && !/^[0-9.]+$/.test(value))) return value;
  throw new ConfigError(
    `${name} must be an address or a name of this machine, such as 127.0.0.1 or 0.0.0.0, got "${value}"`,
  );
}

/** Where the engine listens: a host, with or without its port. */
export function engineAddress(name: string, value: string): string {
  const url = URL.canParse(`http://${value}`) ? new URL(`http://${value}`) : null;
  // A URL leaves away the port that it would have anyway.
  if (url && [url.host, `${url.hostname}:80`].includes(value.toLowerCase())) return value;
  throw new ConfigError(`${name} must be a host with its port, such as temporal:7233, got "${value}"`);
}

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
};

/** A mail relay. What was given is not repeated: it may hold a password. */
export function smtpUrl(name: string, value: string): string {
  if (/^smtps?:\/\/[^/]/.test(value) && URL.canParse(value) && isDecodable(value)) return value;
  throw new ConfigError(
    `${name} must be an address such as smtp://host:port or smtps://user:password@host, with / ? # @ : % in a name or a password written as %2F %3F %23 %40 %3A %25`,
  );
}

interface AiSettings {
  provider: string;
  apiKey: string;
  baseUrl: string;
  models: Record<string, string>;
}

/** What the provider cannot answer without; the first AI step would be the one to tell. */
export function assertComplete({ provider, apiKey, baseUrl, models }: AiSettings): void {
  if (provider === 'offline') return;
  const lacks = (name: string): ConfigError => new ConfigError(`AI_PROVIDER is ${provider}, so ${name} must be set`);
  if (provider === 'openai_compatible' && !baseUrl) throw lacks('AI_BASE_URL');
  if (provider !== 'openai_compatible' && !apiKey) throw lacks('AI_API_KEY');
  const names = Object.keys(models).map((tier) => `AI_MODEL_${tier.toUpperCase()}`);
  if (Object.values(models).every((model) => !model)) throw lacks(`at least one of ${names.join(', ')}`);
}

const SECRET_LENGTH = 32;

/** A secret nobody guesses. */
export function secretOf(name: string, value: string): string {
  if (value.trim().length >= SECRET_LENGTH) return value;
  throw new ConfigError(`${name} must have ${SECRET_LENGTH} characters or more; create one with: openssl rand -hex 32`);
}

/** Several of them, the current one first. None is asked for by leaving the value empty, not by a comma or a blank. */
export const secretsOf = (name: string, text: string, values: readonly string[]): string[] =>
  (text !== '' && values.length === 0 ? [text] : values).map((value) => secretOf(name, value));
