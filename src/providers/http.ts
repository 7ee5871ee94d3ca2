/** The HTTP client of steps and gateways: bounded in time and size, and guarded where a tenant chose the address. */
import { ProviderError } from './error';
import { createAgents, type Agents } from './http-agents';
import { createAddressGuard, type Lookup } from './addresses';
import { readReply, type Reply } from './http-reply';
import { readTarget, requestBody, requestHeaders } from './http-request';
import { withDeadline } from './deadline';

const BODY_BYTES_MAX = 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** One request. `guarded` says that somebody other than the operator chose the URL. */
export interface HttpRequest {
  method: string;
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** A string or bytes are sent as they are, anything else as JSON. */
  body?: unknown;
  timeoutMs?: number;
  /** How much of the reply is read; at most and by default 1 MB. */
  maxBytes?: number;
  signal: AbortSignal;
  idempotencyKey?: string;
  guarded: boolean;
}

/** A reply of any status: only the caller knows which ones it wants. Redirects are not followed. */
export type HttpReply = Reply;

/** Sends requests over pooled connections. */
export interface HttpClient {
  request(request: HttpRequest): Promise<HttpReply>;
  close(): Promise<void>;
}

interface HttpOptions {
  allowAddresses: readonly string[];
  /** How names become addresses; the system's resolver unless a test says otherwise. */
  lookup?: Lookup;
}

const SYSTEM_TIMEOUTS: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

function asProviderError(error: unknown, host: string): Error {
  if (error instanceof ProviderError) return error;
  const { code, message } = error as { code?: string; message?: string };
  // undici checks the header values itself; what it refuses never left.
  if (code === 'UND_ERR_INVALID_ARG') return new ProviderError('invalid_input', String(message), { cause: error });
  if (code && SYSTEM_TIMEOUTS.has(code))
    return new ProviderError('timeout', `${host} did not answer in time`, { cause: error });
  return new ProviderError('network', `Cannot reach ${host}${code ? ` (${code})` : ''}`, { cause: error });
}

async function send(agents: Agents, input: HttpRequest): Promise<HttpReply> {
  const url = readTarget(input.url);
  const body = requestBody(input.body);
  const headers = requestHeaders(input, body);
  const maxBytes = Math.min(input.maxBytes ?? BODY_BYTES_MAX, BODY_BYTES_MAX);
  const deadline = { signal: input.signal, timeoutMs: input.timeoutMs ?? TIMEOUT_MS, from: url.host };
  return withDeadline(deadline, async (signal) => {
    try {
      const reply = await agents.pick(url, input.guarded).request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: input.method.toUpperCase() as 'GET',
        headers,
        body: body.content,
        signal,
      });
      return await readReply(reply, maxBytes);
    } catch (error) {
      signal.throwIfAborted();
      throw asProviderError(error, url.host);
    }
  });
}

/** Builds the client. Proxies named by the environment are ignored: they would undo the guard. */
export function createHttp(options: HttpOptions): HttpClient {
  const agents = createAgents(createAddressGuard(options.allowAddresses), options.lookup);
  return {
    request: (request) => send(agents, request),
    close: () => agents.close(),
  };
}
