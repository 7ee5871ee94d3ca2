/** Operation tables → OpenAPI 3.1. The document is made of what the routes are made of, so it cannot say anything else. */
import { takesIdempotencyKey, type Operation, type ServiceName } from '../contracts/operation';
import type { Access } from '../contracts/principal';
import type { TSchema } from '../contracts/schema';
import { responseRegister, type ResponseRegister } from './openapi-errors';
import { schemaRegister, shownParameter, type Json, type SchemaRegister } from './openapi-schemas';

/** What a document is about. */
export interface DocumentInfo {
  title: string;
  /** The service, or `all` for one document over every service. */
  service: ServiceName | 'all';
  /** Base address below the host: `/psa`; empty for the document over all. */
  serverPath: string;
}

const VERSION = '2026-11-20';

const text = (description: string): Json => ({ description, schema: { type: 'string' } });
const whole = (description: string): Json => ({ description, schema: { type: 'integer' } });

const HEADERS: Record<string, Json> = {
  'X-Request-Id': text('Names this request in the log and in support'),
  'X-RateLimit-Limit': whole('Requests per window of the policy nearest to its limit'),
  'X-RateLimit-Remaining': whole('Requests left in its window'),
  'X-RateLimit-Reset': whole('Unix time, in seconds, when its window resets'),
  RateLimit: text('Every policy in force: requests left and seconds to its reset'),
  'RateLimit-Policy': text('Every policy in force: its quota and its window'),
  'Retry-After': whole('Seconds to wait before the next try'),
  'WWW-Authenticate': text('The scheme to authenticate with'),
  ETag: text('Weak entity tag of the answer; send it back in `If-None-Match` or `If-Match`'),
  Location: text('Address of the new record'),
  'Idempotency-Replayed': text('`true` when this answer was given to an earlier request with the same key'),
};

const headerRefs = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const LIMITED = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit', 'RateLimit-Policy'];

const PARAMETERS = {
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'Tag of the answer you have; 304 when it is still the current one',
    schema: { type: 'string' },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'Tag of the version you read; 412 when it is no longer the current one',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes the request safe to repeat: for 24 hours the same key and request get the same answer, and the effect happens once',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  },
};
const parameterRef = (name: keyof typeof PARAMETERS): Json => ({ $ref: `#/components/parameters/${name}` });

const SECURITY: Record<string, Json> = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'A `plat_…` key: `Authorization: Bearer <key>`' },
  integrationKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Integration-Key',
    description: 'The same key in a header of its own, for server-to-server calls',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-session',
    description: 'The console’s session; methods other than GET also send `X-CSRF-Token`',
  },
};

const SECURITY_OF: Record<Access['kind'], Json[]> = {
  public: [],
  session: [{ session: [] }],
  product: [{ apiKey: [] }, { integrationKey: [] }, { session: [] }],
};

function accessText(access: Access): string {
  if (access.kind === 'public') return 'Open to everybody.';
  const session = `a session with \`${access.permission}\``;
  if (access.kind === 'session') return `Needs ${session}.`;
  return `Needs a key with the scope ${access.scopes.map((scope) => `\`${scope}\``).join(' or ')}, or ${session}.`;
}

const fieldsOf = (schema: TSchema | undefined): [string, TSchema][] =>
  Object.entries((schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {});

const requiredOf = (schema: TSchema | undefined): readonly string[] =>
  (schema as { required?: string[] } | undefined)?.required ?? [];

/** A read whose answer carries a tag. */
const isConditional = ({ method, access, unmetered }: Operation): boolean =>
  method === 'GET' && access.kind === 'product' && !unmetered;

function parametersOf(operation: Operation, register: SchemaRegister): Json[] {
  const described = (schema: TSchema): Json => (schema.description ? { description: schema.description } : {});
  const path = fieldsOf(operation.params).map(([name, schema]) => ({
    name,
    in: 'path',
    required: true,
    ...described(schema),
    ...shownParameter(schema, register),
  }));
  const query = fieldsOf(operation.query).map(([name, schema]) => ({
    name,
    in: 'query',
    required: requiredOf(operation.query).includes(name),
    ...described(schema),
    ...shownParameter(schema, register),
  }));
  return [
    ...path,
    ...query,
    ...(isConditional(operation) ? [parameterRef('IfNoneMatch')] : []),
    ...(operation.errors?.includes('version_conflict') ? [parameterRef('IfMatch')] : []),
    ...(takesIdempotencyKey(operation) ? [parameterRef('IdempotencyKey')] : []),
  ];
}

function requestBodyOf({ body, examples = {} }: Operation, register: SchemaRegister): Json {
  if (!body) return {};
  const shown = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return {
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: register.show(body),
          ...(shown.length > 0 ? { examples: Object.fromEntries(shown) as Json } : {}),
        },
      },
    },
  };
}

const SUCCESS: Record<number, string> = { 200: 'Done', 201: 'Created', 202: 'Accepted', 204: 'Done; nothing to show' };

function successHeaders(operation: Operation, status: number): string[] {
  const changes = operation.method !== 'GET' && (operation.errors?.includes('version_conflict') ?? false);
  return [
    'X-Request-Id',
    ...(operation.access.kind === 'product' && !operation.unmetered ? LIMITED : []),
    ...(isConditional(operation) || (changes && status !== 204) ? ['ETag'] : []),
    ...(status === 201 ? ['Location'] : []),
    ...(takesIdempotencyKey(operation) ? ['Idempotency-Replayed'] : []),
  ];
}

function successesOf(operation: Operation, register: SchemaRegister): Json {
  const declared = Object.entries(operation.responses).map(([status, schema]) => [
    status,
    {
      description: SUCCESS[Number(status)] ?? 'Done',
      headers: headerRefs(successHeaders(operation, Number(status))),
      ...(schema ? { content: { 'application/json': { schema: register.show(schema) } } } : {}),
    },
  ]);
  const unchanged = {
    description: 'Unchanged; not counted against the rate limit',
    headers: headerRefs(['X-Request-Id', 'ETag']),
  };
  return { ...(Object.fromEntries(declared) as Json), ...(isConditional(operation) ? { 304: unchanged } : {}) };
}

function shownOperation(operation: Operation, register: SchemaRegister, refusals: ResponseRegister): Json {
  const parameters = parametersOf(operation, register);
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: [operation.description, accessText(operation.access)].filter(Boolean).join('\n\n'),
    tags: [operation.tag],
    security: SECURITY_OF[operation.access.kind],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...requestBodyOf(operation, register),
    responses: { ...successesOf(operation, register), ...refusals.refusalsOf(operation) },
  };
}

/** A tag is described by what its operations do. */
function tagsOf(operations: readonly Operation[]): Json[] {
  const summaries = (name: string) => operations.filter(({ tag }) => tag === name).map(({ summary }) => summary);
  return [...new Set(operations.map(({ tag }) => tag))].map((name) => ({
    name,
    description: `${[...new Set(summaries(name))].join('; ')}.`,
  }));
}

const templated = (path: string): string => path.replace(/:([A-Za-z]+)/g, '{$1}');

/** Headers and parameters that something in the document refers to; an unused component would only be noise. */
function used(components: Record<string, Json>, kind: string, document: string): Json {
  return Object.fromEntries(
    Object.entries(components).filter(([name]) => document.includes(`"#/components/${kind}/${name}"`)),
  );
}

/** Builds the document of these operations. */
export function openApiDocument(operations: readonly Operation[], info: DocumentInfo): Json {
  const register = schemaRegister();
  const refusals = responseRegister(register);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = templated(info.service === 'all' ? `/${operation.service}${operation.path}` : operation.path);
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: shownOperation(operation, register, refusals) };
  }
  const responses = refusals.components();
  const written = JSON.stringify({ paths, responses });
  const schemes = new Set(
    operations.flatMap(({ access }) => SECURITY_OF[access.kind].flatMap((scheme) => Object.keys(scheme))),
  );
  return {
    openapi: '3.1.0',
    info: { title: info.title, version: VERSION, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: info.serverPath || '/' }],
    tags: tagsOf(operations),
    paths,
    components: {
      schemas: register.components(),
      responses,
      parameters: used(PARAMETERS, 'parameters', written),
      headers: used(HEADERS, 'headers', written),
      securitySchemes: Object.fromEntries(Object.entries(SECURITY).filter(([name]) => schemes.has(name))),
    },
  };
}
