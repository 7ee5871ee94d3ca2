/** Checks and completes what is about to be sent. */
import { isHeaderText, isReservedHeader } from '../domain/headers';
import { ProviderError } from './error';

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

interface Body {
  content: string | Uint8Array | null;
  type: string | null;
}

/** Parses the URL; what is not plain http or https without credentials is refused. */
export function readTarget(text: string): URL {
  if (!URL.canParse(text)) throw new ProviderError('invalid_input', 'The URL cannot be read');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new ProviderError('invalid_input', `Only http and https are allowed, not ${url.protocol}`);
  if (url.username || url.password)
    throw new ProviderError('invalid_input', 'Credentials do not belong in a URL; send an Authorization header');
  return url;
}

/** Turns the given body into what is sent. */
export function requestBody(body: unknown): Body {
  if (body === undefined) return { content: null, type: null };
  if (body instanceof Uint8Array) return { content: body, type: 'application/octet-stream' };
  if (typeof body === 'string') return { content: body, type: 'text/plain; charset=utf-8' };
  return { content: JSON.stringify(body), type: 'application/json' };
}

interface HeaderSource {
  headers?: Readonly<Record<string, string>>;
  idempotencyKey?: string;
}

/** The headers to send: the caller's, checked, over our own. */
export function requestHeaders({ headers = {}, idempotencyKey }: HeaderSource, body: Body): Record<string, string> {
  const result: Record<string, string> = {
    accept: 'application/json, text/*;q=0.9, */*;q=0.5',
    'user-agent': 'Signalbox',
  };
  if (body.type) result['content-type'] = body.type;
  if (idempotencyKey) result['idempotency-key'] = idempotencyKey;
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase();
    if (isReservedHeader(name)) throw new ProviderError('invalid_input', `The header "${given}" cannot be set`);
    if (!HEADER_NAME.test(name)) throw new ProviderError('invalid_input', `"${given}" is not the name of a header`);
    if (!isHeaderText(value))
      throw new ProviderError('invalid_input', `The header "${given}" holds a forbidden character`);
    result[name] = value;
  }
  // What is packed comes whole or not at all: of a plain reply the beginning is kept.
  result['accept-encoding'] = 'identity';
  return result;
}
