/** Sends one webhook request to an address a tenant chose: public addresses only, bounded in time and size. */
import { urlFlaw } from '../domain/webhooks/check';
import { retryAfterMsOf, ProviderError } from './error';
import { createHttp, type HttpReply } from './http';

const TIMEOUT_MS = 15_000;
const REPLY_BYTES_MAX = 64 * 1024;
const SHOWN_BYTES = 512;
const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/** How an attempt went. `error` is null exactly when it counts as delivered. */
export interface WebhookReply {
  statusCode: number | null;
  ms: number;
  error: string | null;
  response: string | null;
  retryAfterMs: number | null;
}

export interface WebhookSender {
  /** Never throws: whatever happens is the outcome of the attempt. */
  send(request: { url: string; headers: Record<string, string>; body: string }): Promise<WebhookReply>;
  close(): Promise<void>;
}

function errorOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? `answered ${status}; redirects are not followed` : `answered ${status}`;
}

/** The beginning of the answer, cut between characters. */
function beginningOf(body: unknown): string | null {
  const text = typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
  if (text === '') return null;
  return new TextDecoder().decode(Buffer.from(text).subarray(0, SHOWN_BYTES), { stream: true });
}

function answered({ status, headers, body }: HttpReply): Omit<WebhookReply, 'ms'> {
  return {
    statusCode: status,
    error: errorOf(status),
    response: beginningOf(body),
    retryAfterMs: retryAfterMsOf(headers['retry-after'], Date.now()) ?? null,
  };
}

/** What the log of deliveries may show: never where a name leads inside. */
function reasonOf(error: unknown): string {
  if (!(error instanceof ProviderError)) return 'the request failed';
  return error.kind === 'blocked_address' ? 'the address is not public' : error.message;
}

/** Builds the sender. `loopback` lets endpoints be on this machine, for development. */
export function createWebhookSender({ loopback }: { loopback: boolean }): WebhookSender {
  const http = createHttp({ allowAddresses: loopback ? LOOPBACK : [] });
  const attempt = async (request: Parameters<WebhookSender['send']>[0]): Promise<Omit<WebhookReply, 'ms'>> => {
    const none = { statusCode: null, response: null, retryAfterMs: null };
    const flaw = urlFlaw(request.url, loopback);
    if (flaw !== null) return { ...none, error: `the address ${flaw}` };
    try {
      return answered(
        await http.request({
          ...request,
          method: 'POST',
          timeoutMs: TIMEOUT_MS,
          maxBytes: REPLY_BYTES_MAX,
          signal: new AbortController().signal,
          guarded: true,
        }),
      );
    } catch (error) {
      return { ...none, error: reasonOf(error) };
    }
  };
  return {
    async send(request) {
      const startedAt = performance.now();
      const outcome = await attempt(request);
      return { ...outcome, ms: Math.round(performance.now() - startedAt) };
    },
    close: () => http.close(),
  };
}
