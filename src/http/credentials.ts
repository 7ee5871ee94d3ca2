/** Which credential a request carries, read from its headers alone: nothing here asks the store. */
import type { IncomingMessage } from 'node:http';
import type { ServiceName } from '../contracts/operation';
import { problem } from '../contracts/problem';
import { KEY_PREFIXES, parseKey, type KeyKind } from '../domain/api-key';
import { readCookie } from './session-cookie';

/** What the guard needs of a request; `ip` is Express's, which honours its trust in proxies. */
export type Caller = Pick<IncomingMessage, 'headers' | 'method' | 'url'> & {
  rawHeaders?: IncomingMessage['rawHeaders'];
  originalUrl?: string;
  ip?: string | undefined;
  socket: { remoteAddress?: string | undefined };
};

export type Credential =
  | { kind: 'none' }
  /** Something was sent that cannot be genuine. */
  | { kind: 'malformed' }
  /** A well-formed key of the kind this service takes. */
  | { kind: 'key'; key: string }
  | { kind: 'session'; token: string }
  /** A bearer token that is no key: what people at a client's portal send. */
  | { kind: 'portal'; token: string };

const KEY_TEXT = new RegExp(`^(?:${Object.values(KEY_PREFIXES).join('|')})[0-9A-Za-z]{8}`);
const KEY_PARAMETERS =
  /^(?:api[_-]?key|access[_-]?token|x-integration-key|x-mail-key|integration[_-]?key|mail[_-]?key)$/i;

/** What every query that could carry a key has in it somewhere: few have, so few are taken apart. */
const SUSPICIOUS = /%|api|key|token|plat_/i;

/** Keys in addresses end up in logs and histories, so a request that has one there is refused whatever else it carries. */
export function refuseKeyInQuery(request: Caller): void {
  const address = request.originalUrl ?? request.url ?? '';
  const start = address.indexOf('?');
  const query = start < 0 ? '' : address.slice(start + 1);
  if (!SUSPICIOUS.test(query)) return;
  for (const [name, value] of new URLSearchParams(query)) {
    if (KEY_TEXT.test(value) || KEY_PARAMETERS.test(name)) {
      throw problem('invalid_parameter', {
        message: `${name}: keys are never taken from the query string; send X-Integration-Key or Authorization: Bearer, and replace this key.`,
        facts: { parameter: name },
      });
    }
  }
}

const isNamed = (header: string, name: string): boolean =>
  header.length === name.length && header.toLowerCase() === name;

/** A header that names who is asking. Node keeps the first of repeated ones, a proxy before us may have taken the last. */
function credentialHeader(request: Caller, name: string): string | null {
  const value = request.headers[name];
  if (value === undefined) return null;
  const sent = (request.rawHeaders ?? []).filter((text, at) => at % 2 === 0 && isNamed(text, name));
  if (sent.length > 1 || typeof value !== 'string')
    throw problem('invalid_parameter', {
      message: `${name}: this header was sent more than once; send it once.`,
      facts: { parameter: name },
    });
  return value.trim();
}

const BEARER = /^Bearer +([^\s,]+) *$/i;
const bearerOf = (value: string): string => BEARER.exec(value)?.[1] ?? '';

function keyCredential(sent: string[], kind: KeyKind): Credential {
  const different = new Set(sent);
  if (different.size > 1) throw problem('ambiguous_credentials');
  const [key] = different;
  return key !== undefined && parseKey(key) === kind ? { kind: 'key', key } : { kind: 'malformed' };
}

/** Three parts in base64url; a key has no dots. */
const SIGNED_TOKEN = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;

/** The mail service takes only X-Mail-Key; all others take both key headers, and the session cookie when there is neither. */
export function readCredential(request: Caller, service: ServiceName, cookieName: string): Credential {
  if (service === 'mail') {
    const sent = credentialHeader(request, 'x-mail-key');
    return sent === null ? { kind: 'none' } : keyCredential([sent], 'mail');
  }
  const authorization = credentialHeader(request, 'authorization');
  const bearer = authorization === null ? null : bearerOf(authorization);
  const sent = [bearer, credentialHeader(request, 'x-integration-key')].filter((value) => value !== null);
  // Only where nothing else was sent: two credentials are refused below.
  if (sent.length === 1 && bearer !== null && SIGNED_TOKEN.test(bearer)) return { kind: 'portal', token: bearer };
  if (sent.length > 0) return keyCredential(sent, 'platform');
  const token = readCookie(request, cookieName);
  return token === null ? { kind: 'none' } : { kind: 'session', token };
}
