/** A thrown error → status, headers and the body each service's clients expect. */
import type { ServiceName } from '../contracts/operation';
import { Problem, problem, PROBLEMS, type ProblemCode } from '../contracts/problem';
import { isStoreBusy, isStoreDown } from '../store/outages';

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

const RETRY_SOON_SECONDS = '2';

/** Turns anything thrown below a handler into a refusal. Unknown errors become 500 and keep their cause for the log. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const { type, status } = error as { type?: string; status?: number };
  if (type === 'entity.parse.failed')
    return problem('invalid_json', {
      message: `The request body is not valid JSON: ${(error as Error).message}`,
    });
  if (type === 'entity.too.large')
    return problem('payload_too_large', { facts: { limit: (error as { limit?: number }).limit } });
  if (status === 400) return problem('invalid_parameter', { message: (error as Error).message });
  if (isStoreBusy(error) || isStoreDown(error))
    return problem('store_unavailable', { cause: error, headers: { 'Retry-After': RETRY_SOON_SECONDS } });
  return problem('internal_error', { cause: error });
}

/** The agent service's body: `{error, message, status}` and, where they help, `details` and `request_id`. */
function agentBody(thrown: Problem, requestId: string): Record<string, unknown> {
  if (thrown.code === 'rate_limited')
    return { ...productBody(thrown, requestId), message: thrown.message, status: thrown.status };
  const details =
    thrown.findings.length > 0 ? thrown.findings : Object.keys(thrown.facts).length > 0 ? [thrown.facts] : undefined;
  return {
    error: thrown.code,
    message: thrown.message,
    status: thrown.status,
    ...(details ? { details } : {}),
    request_id: requestId,
    docs: docsPath(thrown),
  };
}

/** Everybody else's body: `{error, code, details, requestId}`. */
function productBody(thrown: Problem, requestId: string): Record<string, unknown> {
  const errors = thrown.findings.map(({ code, ...finding }) => ({ rule: code, ...finding }));
  return {
    error: thrown.message,
    code: PROBLEMS[thrown.code].product,
    details: { ...thrown.facts, ...(errors.length > 0 ? { errors } : {}) },
    requestId,
  };
}

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** The catalogue's code behind either spelling. */
const codeOf = (spelling: unknown): ProblemCode =>
  CODES.find((code) => code === spelling || PROBLEMS[code].product === spelling) ?? 'internal_error';

/**
 * The same refusal as RFC 9457 has it: made of the body in the service's own shape, so that a stored answer can be
 * shown in either. `code` is the one that body has, `instance` the request's id.
 */
export function problemDetails(body: Record<string, unknown>, status: number, docsBase: string) {
  const spelling = body['code'] ?? body['error'];
  const code = codeOf(spelling);
  return {
    type: `${docsBase}/docs/errors/${code}`,
    title: PROBLEMS[code].text,
    status,
    detail: body['message'] ?? body['error'],
    instance: body['requestId'] ?? body['request_id'],
    code: spelling,
    ...(body['details'] === undefined ? {} : { details: body['details'] }),
  };
}

const docsPath = (thrown: Problem): string => `/docs/errors/${thrown.code}`;

/** The whole answer for a refusal on `service`. */
export function answerFor(thrown: Problem, service: ServiceName, requestId: string): Answer {
  const body = service === 'agents' ? agentBody(thrown, requestId) : productBody(thrown, requestId);
  const headers: Record<string, string> = { ...thrown.headers };
  if (thrown.status === 401) headers['WWW-Authenticate'] ??= service === 'mail' ? 'X-Mail-Key' : 'Bearer';
  if (thrown.status === 503) headers['Retry-After'] ??= RETRY_SOON_SECONDS;
  return { status: thrown.status, headers, body };
}
