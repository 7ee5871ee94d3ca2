/** `http_request`: a guarded call to an address the agent's author chose. */
import type { StepInput, StepResult } from '../src/contracts/messages';
import { renderText, renderUrl, renderValue } from '../src/domain/text';
import { answered, ProviderError, retryAfterMsOf } from '../src/providers/error';
import type { HttpReply } from '../src/providers/http';
import type { Deps } from './deps';
import { beating, runStep, type StepRun } from './step';
import type { Effect } from './step-end';

const ATTEMPTS_MAX = 4;
const OUTPUT_BYTES_MAX = 64 * 1024;
const HEADERS_KEPT = ['content-type', 'location', 'etag', 'retry-after', 'x-request-id'];
const RETRYABLE_STATUSES: readonly number[] = [408, 425, 429];

const headerOf = (headers: Record<string, unknown>, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : Array.isArray(value) ? String(value[0]) : undefined;
};

/** Replies are kept up to 64 KiB. Of a larger one the beginning is kept as text, and said to be that: its members are gone. */
function kept({ body, truncated }: HttpReply): { body: unknown; truncated?: true } {
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? null);
  if (Buffer.byteLength(text) > OUTPUT_BYTES_MAX)
    return { body: `${text.slice(0, OUTPUT_BYTES_MAX / 2)}…`, truncated: true };
  return { body, ...(truncated ? { truncated } : {}) };
}

function refuse(status: number, retryAfter: string | undefined): never {
  const message = `${answered('The address', status)}.`;
  const retryAfterMs = retryAfterMsOf(retryAfter, Date.now()) || undefined;
  if (status === 429) throw new ProviderError('rate_limited', message, { retryAfterMs });
  if (status >= 500 || RETRYABLE_STATUSES.includes(status))
    throw new ProviderError('server_error', message, { retryAfterMs });
  throw new ProviderError('rejected', message);
}

async function call(deps: Deps, run: StepRun<'http_request'>): Promise<Effect> {
  const { step, scope } = run;
  const render = (template: string): string => renderText(template, scope, { escapeHtml: false });
  const headers = Object.fromEntries(Object.entries(step.headers ?? {}).map(([name, value]) => [name, render(value)]));
  const reply = await deps.providers.http.request({
    method: step.method ?? 'GET',
    url: renderUrl(step.url, scope),
    headers,
    signal: run.signal,
    ...run.limits,
    idempotencyKey: run.key,
    guarded: true,
    ...(step.body === undefined ? {} : { body: renderValue(step.body, scope) }),
  });
  const wanted = step.expect_status ?? null;
  const fits = wanted ? wanted.includes(reply.status) : reply.status >= 200 && reply.status < 300;
  const given = reply.headers as Record<string, unknown>;
  if (!fits) refuse(reply.status, headerOf(given, 'retry-after'));
  const shown = HEADERS_KEPT.flatMap((name) => {
    const value = headerOf(given, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { output: { status: reply.status, headers: Object.fromEntries(shown), ...kept(reply) } };
}

/** Runs an HTTP step. */
export const httpRequest = (deps: Deps, input: StepInput): Promise<StepResult> =>
  beating(() => runStep(deps, input, { type: 'http_request', attemptsMax: ATTEMPTS_MAX }, (run) => call(deps, run)));
