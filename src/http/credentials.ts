/** Which credential a request carries, read from its headers alone: nothing here asks the store. */
import type { IncomingMessage } from 'node:http';
import type { ServiceName } from '../contracts/operation';
import { problem } from '../contracts/problem';
import { KEY_PREFIXES, parseKey, type KeyKind } from '../domain/api-key';
import { readCookie } from './session-cookie';

/** What the guard needs of a request; `ip` is Express's, which honours its trust in proxies. */
export type Caller = Pick<IncomingMessage, 'headers' | 'method' | 'url'> & {
  headersDistinct?: IncomingMessage['headersDistinct'];
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

/** Keys in addresses end up in logs and histories, so a request that has one there is refused whatever else it carries. */
export function refuseKeyInQuery(request: Caller): void {
  const address = request.originalUrl ?? request.url ?? '';
  const start = address.indexOf('?');
  if (start < 0) return;
  for (const [name, value] of new URLSearchParams(address.slice(start + 1))) {
    if (KEY_TEXT.test(value) || KEY_PARAMETERS.test(name)) {
      throw problem('invalid_parameter', {
        message: `${name}: keys are never taken from the query string; send X-Integration-Key or Authorization: Bearer, and replace this key.`,
        facts: { parameter: name },
      });
    }
  }
}

/** Every value of a header. Node keeps only the first of repeated Authorization headers, which would hide the other. */
function valuesOf(request: Caller, name: string): string[] {
  const distinct = request.headersDistinct?.[name];
  if (distinct) return distinct;
  const value = request.headers[name];
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
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
    const sent = valuesOf(request, 'x-mail-key').map((value) => value.trim());
    return sent.length === 0 ? { kind: 'none' } : keyCredential(sent, 'mail');
  }
  const bearers = valuesOf(request, 'authorization').map(bearerOf);
  const sent = [...bearers, ...valuesOf(request, 'x-integration-key').map((value) => value.trim())];
  const [bearer = ''] = bearers;
  // Only where nothing else was sent: two credentials are refused below.
  if (sent.length === 1 && SIGNED_TOKEN.test(bearer)) return { kind: 'portal', token: bearer };
  if (sent.length > 0) return keyCredential(sent, 'platform');
  const token = readCookie(request, cookieName);
  return token === null ? { kind: 'none' } : { kind: 'session', token };
}
