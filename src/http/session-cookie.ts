/** The session cookie of a request, and the proof that the console itself sent it. */
import type { IncomingMessage } from 'node:http';
import type { Config } from '../config';
import { problem } from '../contracts/problem';
import { isSafe } from '../domain/methods';

type Headers = Pick<IncomingMessage, 'headers'>;

/** The value of the named cookie; a name sent twice counts as absent, since one of the two is not ours. */
export function readCookie({ headers }: Headers, name: string): string | null {
  const values = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 && values[0] ? values[0] : null;
}

const originOf = (url: string): string | null => (URL.canParse(url) ? new URL(url).origin : null);

function isOwnOrigin(origin: string, host: string | undefined, config: Config): boolean {
  if (origin === originOf(config.publicUrl)) return true;
  // The address bar may say localhost where the configuration says 127.0.0.1.
  return URL.canParse(origin) && host !== undefined && new URL(origin).host === host;
}

/** Refuses an unsafe request that another site made the browser send. Browsers always set these headers; programs need not. */
export function requireOwnOrigin(request: Headers & Pick<IncomingMessage, 'method'>, config: Config): void {
  if (isSafe(request.method)) return;
  const { origin, host, 'sec-fetch-site': site } = request.headers;
  const isForeign =
    (origin !== undefined && !isOwnOrigin(origin, host, config)) || (site !== undefined && site !== 'same-origin');
  if (isForeign) {
    throw problem('csrf_failed', {
      message: 'The request came from another origin; send it from the console.',
      facts: { origin: origin ?? null },
    });
  }
}

/** Unsafe methods with the cookie need the session's CSRF token beside it. */
export function requireCsrfToken(
  request: Headers & Pick<IncomingMessage, 'method'>,
  isToken: (given: string) => boolean,
): void {
  if (isSafe(request.method)) return;
  const given = request.headers['x-csrf-token'];
  if (typeof given === 'string' && isToken(given)) return;
  throw problem('csrf_failed', {
    message: given ? 'X-CSRF-Token does not belong to this session.' : 'X-CSRF-Token is missing.',
    facts: { header: 'X-CSRF-Token' },
  });
}
