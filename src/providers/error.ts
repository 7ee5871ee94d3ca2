/** The one error every outside call ends in; activities decide from it whether Temporal tries again. */

/** What went wrong, told apart by what the caller should do about it. */
export type ProviderErrorKind =
  | 'rate_limited'
  | 'server_error'
  | 'network'
  | 'timeout'
  | 'rejected'
  | 'auth'
  | 'invalid_output'
  | 'invalid_input'
  | 'not_configured'
  | 'blocked_address';

/** Tokens an AI call has cost, also when it failed afterwards. */
export interface Usage {
  input_tokens: number;
  output_tokens: number;
}

/** The model that was asked, as the step's record shows it. */
interface AskedModel {
  tier: string;
  provider: string;
  name: string;
}

interface ProviderErrorOptions {
  retryAfterMs?: number | undefined;
  usage?: Usage | undefined;
  model?: AskedModel | undefined;
  cause?: unknown;
}

// What another attempt can change; the other kinds fail the same way every time.
const RETRYABLE: ReadonlySet<ProviderErrorKind> = new Set(['rate_limited', 'server_error', 'network', 'timeout']);

/** An outside call that failed. The message is safe to show: it holds no secret and no body of a reply. */
export class ProviderError extends Error {
  readonly kind: ProviderErrorKind;
  readonly retryable: boolean;
  declare readonly retryAfterMs?: number;
  declare readonly usage?: Usage;
  declare readonly model?: AskedModel;

  constructor(kind: ProviderErrorKind, message: string, options: ProviderErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'ProviderError';
    this.kind = kind;
    this.retryable = RETRYABLE.has(kind);
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    if (options.usage !== undefined) this.usage = options.usage;
    if (options.model !== undefined) this.model = options.model;
  }
}

const RETRY_AFTER_MS_MAX = 24 * 60 * 60 * 1000;

/** Reads `Retry-After` (seconds or an HTTP date) as milliseconds; nothing when it is absent or not a time. */
export function retryAfterMsOf(value: string | undefined, nowMs: number): number | undefined {
  if (!value) return undefined;
  const seconds = Number(value);
  const waitMs = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - nowMs;
  return Number.isFinite(waitMs) ? Math.min(Math.max(Math.round(waitMs), 0), RETRY_AFTER_MS_MAX) : undefined;
}

const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 409, 425]);

function kindOfStatus(status: number): ProviderErrorKind {
  if (status === 429) return 'rate_limited';
  if (status === 401 || status === 403) return 'auth';
  if (status >= 500 || RETRIED_STATUSES.has(status)) return 'server_error';
  return 'rejected';
}

/** What answers with a status come from, and why a redirect is the end: where it leads, nobody has checked. */
export const answered = (from: string, status: number): string =>
  `${from} answered ${status}${status >= 300 && status < 400 && status !== 304 ? '; redirects are not followed' : ''}`;

interface FailedReply {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Who answered, for the message: `the sms gateway`. */
  from: string;
  /** What the far side said about it, if that is safe to show. */
  reason?: string;
  cause?: unknown;
}

/** The error for an HTTP reply that was not the wanted one. */
export function statusError({ status, headers, from, reason, cause }: FailedReply): ProviderError {
  const detail = reason ? `: ${reason.slice(0, 300)}` : '';
  return new ProviderError(kindOfStatus(status), `${answered(from, status)}${detail}`, {
    retryAfterMs: retryAfterMsOf(headers['retry-after'], Date.now()),
    cause,
  });
}
