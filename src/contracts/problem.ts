/** The catalogue of every refusal: one code, one status, one sentence. Each code has a page under docs/reference/errors. */

interface ProblemKind {
  status: number;
  /** Code on the product, mail and console APIs; the agent service uses the key itself. */
  product: string;
  text: string;
}

const kind = (status: number, product: string, text: string): ProblemKind => ({ status, product, text });

export const PROBLEMS = {
  malformed_request: kind(400, 'MALFORMED_REQUEST', 'The request is not valid HTTP.'),
  invalid_json: kind(400, 'INVALID_JSON', 'The request body is not valid JSON.'),
  validation_error: kind(400, 'VALIDATION_FAILED', 'The request is not valid.'),
  invalid_parameter: kind(400, 'INVALID_PARAMETER', 'A query parameter is not valid.'),
  invalid_cursor: kind(400, 'INVALID_CONTINUATION_TOKEN', 'The continuation token does not belong to this list.'),
  query_too_slow: kind(
    400,
    'QUERY_TOO_SLOW',
    'These filters look at more records than two seconds allow; add a filter on another field, or a range of createdAt.',
  ),
  invalid_agent_config: kind(400, 'INVALID_AGENT_CONFIG', 'The agent definition failed validation.'),
  unknown_version: kind(400, 'UNKNOWN_VERSION', 'Platform-Version names no version of this API.'),
  unauthorized: kind(401, 'UNAUTHORIZED', 'Missing or invalid authentication.'),
  ambiguous_credentials: kind(401, 'AMBIGUOUS_CREDENTIALS', 'Two different credentials were sent; send one.'),
  credit_insufficient: kind(402, 'CREDIT_INSUFFICIENT', 'The org has no remaining credit allocation.'),
  forbidden: kind(403, 'INSUFFICIENT_SCOPE', 'This credential does not permit the operation.'),
  csrf_failed: kind(
    403,
    'CSRF_FAILED',
    'The request did not come from the console: send X-CSRF-Token from the console origin.',
  ),
  portal_not_allowed: kind(403, 'PORTAL_NOT_ALLOWED', 'Portal tokens do not reach this endpoint.'),
  sso_required: kind(403, 'SSO_REQUIRED', 'This client portal takes single sign-on only.'),
  not_found: kind(404, 'NOT_FOUND', 'No such resource.'),
  agent_not_found: kind(404, 'AGENT_NOT_FOUND', 'No such agent in this org.'),
  execution_not_found: kind(404, 'EXECUTION_NOT_FOUND', 'No such execution in this org.'),
  approval_not_found: kind(404, 'APPROVAL_NOT_FOUND', 'No such approval in this org.'),
  template_not_found: kind(404, 'TEMPLATE_NOT_FOUND', 'No such template.'),
  event_not_found: kind(404, 'EVENT_NOT_FOUND', 'No such event in this org.'),
  event_type_not_found: kind(404, 'EVENT_TYPE_NOT_FOUND', 'No such event type in the catalog.'),
  method_not_allowed: kind(405, 'METHOD_NOT_ALLOWED', 'The path exists, but not with this method.'),
  request_timeout: kind(408, 'REQUEST_TIMEOUT', 'The request did not arrive in time.'),
  conflict: kind(409, 'CONFLICT', 'The change conflicts with the current state.'),
  invalid_status_transition: kind(409, 'INVALID_STATUS_TRANSITION', 'The status cannot change this way.'),
  agent_not_active: kind(409, 'AGENT_NOT_ACTIVE', 'The agent is not active.'),
  execution_not_cancellable: kind(409, 'EXECUTION_NOT_CANCELLABLE', 'The execution has already ended.'),
  execution_not_retryable: kind(409, 'EXECUTION_NOT_RETRYABLE', 'Only failed or cancelled executions can be retried.'),
  already_retried: kind(409, 'ALREADY_RETRIED', 'A retry of this execution is still under way.'),
  approval_already_decided: kind(409, 'APPROVAL_ALREADY_DECIDED', 'The approval was decided before.'),
  approval_expired: kind(409, 'APPROVAL_EXPIRED', 'The approval expired before a decision was made.'),
  approval_closed: kind(409, 'APPROVAL_CLOSED', 'The execution ended, so the approval can no longer be decided.'),
  idempotency_in_progress: kind(
    409,
    'IDEMPOTENCY_IN_PROGRESS',
    'The request with this Idempotency-Key is still under way.',
  ),
  version_conflict: kind(412, 'PRECONDITION_FAILED', 'The resource changed since it was read.'),
  payload_too_large: kind(413, 'PAYLOAD_TOO_LARGE', 'The request body is too large.'),
  unsupported_media_type: kind(415, 'UNSUPPORTED_MEDIA_TYPE', 'Send application/json.'),
  idempotency_key_reused: kind(422, 'IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used for another request.'),
  rate_limited: kind(429, 'RATE_LIMIT_EXCEEDED', 'Rate limit exceeded.'),
  agent_limit_reached: kind(
    429,
    'AGENT_LIMIT_REACHED',
    'The active agent count is at the limit of the subscription tier.',
  ),
  idempotency_quota_exceeded: kind(
    429,
    'IDEMPOTENCY_QUOTA_EXCEEDED',
    'The tenant’s idempotency keys of the day are used up.',
  ),
  headers_too_large: kind(431, 'HEADERS_TOO_LARGE', 'The address and the headers of the request are too long.'),
  internal_error: kind(500, 'INTERNAL', 'Something failed on our side. The request id finds it in the log.'),
  too_many_connections: kind(
    503,
    'TOO_MANY_CONNECTIONS',
    'This address has too many connections open; reuse them, or close some.',
  ),
  engine_unavailable: kind(503, 'ENGINE_UNAVAILABLE', 'The workflow engine cannot be reached; retry shortly.'),
  store_unavailable: kind(503, 'UNAVAILABLE', 'The store cannot be reached; retry shortly.'),
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One finding about the input: where, what rule, what is wrong and, where we can tell, what was meant. */
export interface Finding {
  /** JSON pointer into the body, or the parameter's name. */
  path: string;
  code: string;
  message: string;
  suggestion?: string;
  /** The value that was sent, where it is one value of a record and no secret. */
  got?: string | number | boolean | null;
}

interface ProblemOptions {
  message?: string;
  findings?: Finding[];
  /** Facts for programs, merged into the body's `details`. */
  facts?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** An expected refusal. Thrown anywhere below a handler, turned into the service's error body by http/problems.ts. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly findings: Finding[];
  readonly facts: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(code: ProblemCode, options: ProblemOptions) {
    super(options.message ?? PROBLEMS[code].text, { cause: options.cause });
    this.name = 'Problem';
    this.code = code;
    this.status = PROBLEMS[code].status;
    this.findings = options.findings ?? [];
    this.facts = options.facts ?? {};
    this.headers = options.headers ?? {};
  }
}

/** Builds the refusal to throw: `throw problem('agent_not_found')`. */
export const problem = (code: ProblemCode, options: ProblemOptions = {}): Problem => new Problem(code, options);

/** The end of a sentence about a name that nobody knows, where another is near. */
export const didYouMean = (suggestion: string | undefined): string =>
  suggestion ? `; did you mean ${suggestion}?` : '';

/** A finding with what was probably meant. Findings of definitions say it in their own words. */
export const withSuggestion = ({ message, suggestion }: Finding): string =>
  /did you mean/i.test(message) ? message : `${message}${didYouMean(suggestion)}`;

/** Refuses a request with findings: the only one is told in full, several by their number. */
export function refuseFindings(
  findings: Finding[],
  where: 'query' | 'body',
  code: ProblemCode = 'validation_error',
): void {
  const [first] = findings;
  if (!first) return;
  // A finding about the body as a whole points nowhere within it.
  const message =
    findings.length === 1
      ? `${first.path || 'body'}: ${withSuggestion(first)}`
      : `${findings.length} problems in the ${where}`;
  throw problem(code, { message, findings });
}
