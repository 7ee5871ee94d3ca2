/**
 * The `fetch` that the AI SDK is given. The platform's own spends as much CPU on streams as the whole rest of a call,
 * follows redirects with the key and reads replies of any size.
 */
import { Agent, request } from 'undici';
import { ProviderError } from './error';
import { headersOf, readUpTo } from './http-reply';

const REPLY_BYTES_MAX = 8 * 1024 * 1024;
const CONNECTIONS_MAX = 50;
/** Statuses whose replies have no body, which a `Response` insists on. */
const BODILESS: readonly number[] = [204, 205, 304];

/** Builds it, with a pool of its own; the time limit is the caller's, by its signal. */
export function createAiFetch(): typeof fetch {
  const pool = new Agent({ connections: CONNECTIONS_MAX, headersTimeout: 0, bodyTimeout: 0 });
  return async (url, { method, headers, body, signal } = {}) => {
    const reply = await request(url as string | URL, {
      dispatcher: pool,
      method: method as 'POST',
      headers: { ...(headers as Record<string, string>), 'accept-encoding': 'identity' },
      body: body as string,
      signal: signal ?? null,
    });
    const { content, truncated } = await readUpTo(reply.body, REPLY_BYTES_MAX);
    const { statusCode: status } = reply;
    // Of a failure the status is enough.
    if (truncated && status < 400)
      throw new ProviderError('invalid_output', `The AI provider answered with over ${REPLY_BYTES_MAX} bytes`);
    return new Response(BODILESS.includes(status) ? null : content, { status, headers: headersOf(reply) });
  };
}
