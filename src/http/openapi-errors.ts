/** The refusals of an operation as OpenAPI responses, each with the body that really is sent. */
import { takesIdempotencyKey, type Operation, type ServiceName } from '../contracts/operation';
import { problem, PROBLEMS, type ProblemCode } from '../contracts/problem';
import { Anything, Enum, Json as OpenObject, Type, type TSchema } from '../contracts/schema';
import type { Json, SchemaRegister } from './openapi-schemas';
import { refusalHeaders } from './openapi-headers';
import { PROBLEM_TYPE } from './accepts';
import { answerFor } from './problems';

const EXAMPLE_REQUEST = 'req_01KAJ5Q3Z8M4T7V9X2B6C1D0EF';
const CODES = Object.keys(PROBLEMS) as ProblemCode[];
const productCodes = [...new Set(CODES.map((code) => PROBLEMS[code].product))];

const limitDetails = Type.Object({
  limit: Type.Integer(),
  window: Type.String(),
  retryAfter: Type.Integer({ description: 'Seconds' }),
});

const agentFields = { message: Type.String(), status: Type.Integer() };

const AgentError = Type.Object(
  {
    error: Enum(CODES),
    ...agentFields,
    details: Type.Optional(
      Type.Array(OpenObject({ description: 'What is wrong and where, or facts about the refusal' })),
    ),
    request_id: Type.String(),
    docs: Type.String({ description: 'Page that explains the code' }),
  },
  { $id: 'AgentError' },
);

const ProductError = Type.Object(
  {
    error: Type.String({ description: 'What is wrong, in words' }),
    code: Enum(productCodes),
    details: OpenObject({ description: 'Facts; `errors` lists at most 20 findings `{path, rule, message}`' }),
    requestId: Type.String(),
  },
  { $id: 'Error' },
);

const rateLimit = {
  error: Type.String(),
  code: Type.Literal(PROBLEMS.rate_limited.product),
  details: limitDetails,
  requestId: Type.String(),
};
const RateLimitError = Type.Object(rateLimit, { $id: 'RateLimitError' });
const AgentRateLimitError = Type.Object({ ...rateLimit, ...agentFields }, { $id: 'AgentRateLimitError' });

/**
 * What `Accept: application/problem+json` gets in place of any of them. One for each spelling of the codes: generators
 * name the members of an enum without regard to case, and give up on two that differ in nothing else.
 */
const problemDetails = ($id: string, codes: readonly string[]) =>
  Type.Object(
    {
      type: Type.String({ format: 'uri', description: 'Page that explains the code' }),
      title: Type.String(),
      status: Type.Integer(),
      detail: Type.String({ description: 'What is wrong, in words' }),
      instance: Type.String({ description: 'Id of the request' }),
      code: Enum(codes),
      details: Type.Optional(Anything({ description: 'The same as in the other format' })),
    },
    { $id },
  );
const ProblemDetails = problemDetails('ProblemDetails', productCodes);
const AgentProblemDetails = problemDetails('AgentProblemDetails', [...CODES, PROBLEMS.rate_limited.product]);

const EXAMPLE_FACTS: Partial<Record<ProblemCode, Parameters<typeof problem>[1]>> = {
  rate_limited: {
    message: 'Rate limit exceeded: 100 requests per 1m for this tenant. Retry in 23 s.',
    facts: { limit: 100, window: '1m', retryAfter: 23 },
  },
  validation_error: {
    message: 'limit: must be >= 1',
    findings: [{ path: 'limit', code: 'minimum', message: 'must be >= 1' }],
  },
};

const exampleOf = (code: ProblemCode, service: ServiceName): Json => ({
  value: answerFor(problem(code, EXAMPLE_FACTS[code]), service, EXAMPLE_REQUEST).body,
});

const schemaOf = (code: ProblemCode, service: ServiceName): TSchema => {
  if (code === 'rate_limited') return service === 'agents' ? AgentRateLimitError : RateLimitError;
  return service === 'agents' ? AgentError : ProductError;
};

const takesInput = ({ body, query }: Operation): boolean => body !== undefined || query !== undefined;

/** Every refusal an operation can answer: its own and those that come with how it is reached. */
function codesOf(operation: Operation): ProblemCode[] {
  const { access, body, params, errors = [], invalidBody } = operation;
  const codes: ProblemCode[] = [
    ...errors,
    'unknown_version',
    'headers_too_large',
    'internal_error',
    'store_unavailable',
  ];
  if (takesInput(operation)) codes.push('validation_error');
  if (body) codes.push('invalid_json', 'payload_too_large', 'unsupported_media_type');
  if (invalidBody) codes.push(invalidBody);
  if (params && !errors.some((code) => code.endsWith('not_found'))) codes.push('not_found');
  if (access.kind === 'public') return [...codes, 'rate_limited'];
  codes.push('unauthorized', 'forbidden', 'rate_limited');
  if (access.kind === 'product') codes.push('ambiguous_credentials');
  if (operation.method !== 'GET') codes.push('csrf_failed');
  if (takesIdempotencyKey(operation))
    codes.push('validation_error', 'idempotency_in_progress', 'idempotency_key_reused', 'idempotency_quota_exceeded');
  return codes;
}

function responseOf(codes: ProblemCode[], service: ServiceName, register: SchemaRegister): Json {
  const schemas = [...new Set(codes.map((code) => schemaOf(code, service)))].map((schema) => register.show(schema));
  const status = PROBLEMS[codes[0] ?? 'internal_error'].status;
  return {
    description: codes.map((code) => PROBLEMS[code].text).join(' '),
    headers: refusalHeaders(status),
    content: {
      'application/json': {
        schema: schemas.length === 1 ? schemas[0] : { anyOf: schemas },
        examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code, service)])),
      },
      [PROBLEM_TYPE]: { schema: register.show(service === 'agents' ? AgentProblemDetails : ProblemDetails) },
    },
  };
}

/** Responses that many operations share, by content; the document names each once. */
export interface ResponseRegister {
  refusalsOf(operation: Operation): Json;
  components(): Json;
}

/** In the document over all services the agent service's bodies need names of their own. */
const nameOf = (codes: ProblemCode[], service: ServiceName): string => {
  const words = codes.join('_or_').split('_');
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return service !== 'agents' || name.startsWith('Agent') ? name : `Agent${name}`;
};

/** Opens an empty register of refusals. */
export function responseRegister(register: SchemaRegister): ResponseRegister {
  const named = new Map<string, Json>();
  const shared = (codes: ProblemCode[], service: ServiceName): Json => {
    const name = nameOf(codes, service);
    if (!named.has(name)) named.set(name, responseOf(codes, service, register));
    return { $ref: `#/components/responses/${name}` };
  };
  return {
    refusalsOf(operation) {
      const possible = codesOf(operation);
      const codes = CODES.filter((code) => possible.includes(code));
      const statuses = [...new Set(codes.map((code) => PROBLEMS[code].status))];
      return Object.fromEntries(
        statuses.map((status) => [
          status,
          shared(
            codes.filter((code) => PROBLEMS[code].status === status),
            operation.service,
          ),
        ]),
      );
    },
    components: () => Object.fromEntries([...named.entries()].toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
}
