/** Operation tables → OpenAPI 3.1. The document is made of what the routes are made of, so it cannot say anything else. */
import { takesIdempotencyKey, type Operation, type ServiceName } from '../contracts/operation';
import type { Access } from '../contracts/principal';
import type { TSchema } from '../contracts/schema';
import { LATEST_VERSION, VERSION_DATES } from '../contracts/version';
import { HEADERS, isConditional, successHeaders, UNCHANGED } from './openapi-headers';
import { responseRegister, type ResponseRegister } from './openapi-errors';
import { linkRegister, type LinkRegister } from './openapi-links';
import { schemaRegister, shownParameter, type Json, type SchemaRegister } from './openapi-schemas';

/** What a document is about. */
export interface DocumentInfo {
  title: string;
  /** The service, or `all` for one document over every service. */
  service: ServiceName | 'all';
  /** Base address below the host: `/psa`; empty for the document over all. */
  serverPath: string;
}

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
  PlatformVersion: {
    name: 'Platform-Version',
    in: 'header',
    description: 'Version of the API; without it the one the key is pinned to, or the latest',
    schema: { type: 'string', enum: [...VERSION_DATES] },
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
  portalToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The token of a client user: `Authorization: Bearer <token>`; it sees what belongs to their company',
  },
};

const SECURITY_OF: Record<Access['kind'], Json[]> = {
  public: [],
  session: [{ session: [] }],
  portal: [{ portalToken: [] }],
  product: [{ apiKey: [] }, { integrationKey: [] }, { session: [] }],
};

const securityOf = ({ access, portal }: Operation): Json[] => [
  ...SECURITY_OF[access.kind],
  ...(portal ? [{ portalToken: [] }] : []),
];

function accessText({ access, portal }: Operation): string {
  if (access.kind === 'public') return 'Open to everybody.';
  if (access.kind === 'portal') return 'Needs a portal token.';
  const orToken = portal ? `, or a portal token with \`${portal}\`` : '';
  const session = `a session with \`${access.permission}\``;
  if (access.kind === 'session') return `Needs ${session}.`;
  return `Needs a key with the scope ${access.scopes.map((scope) => `\`${scope}\``).join(' or ')}, or ${session}${orToken}.`;
}

function sunsetText({ deprecated }: Operation): string {
  if (!deprecated) return '';
  const { since, sunset, successor } = deprecated;
  return `Deprecated since ${since}; answers until ${sunset} at least.${successor ? ` Use \`${successor}\` in its place.` : ''}`;
}

const fieldsOf = (schema: TSchema | undefined): [string, TSchema][] =>
  Object.entries((schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {});

const requiredOf = (schema: TSchema | undefined): readonly string[] =>
  (schema as { required?: string[] } | undefined)?.required ?? [];

/** Parameters known by a pattern are the properties of one object that is written as parameters of their own. */
function patternedParameters({ query }: Operation): Json[] {
  const patterns = (query as { patternProperties?: Json } | undefined)?.patternProperties;
  if (!patterns) return [];
  const schema = { type: 'object', patternProperties: patterns, additionalProperties: false };
  const description = 'Filters by custom fields: `cf.<key>` and `cf.<key>.<operator>`';
  return [{ name: 'cf', in: 'query', description, style: 'form', explode: true, schema }];
}

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
    ...patternedParameters(operation),
    parameterRef('PlatformVersion'),
    ...(isConditional(operation) ? [parameterRef('IfNoneMatch')] : []),
    ...(operation.errors?.includes('version_conflict') ? [parameterRef('IfMatch')] : []),
    ...(takesIdempotencyKey(operation) ? [parameterRef('IdempotencyKey')] : []),
  ];
}

/** A request without a body means the empty object wherever that is a valid one. */
const mayBeEmpty = (body: TSchema): boolean =>
  requiredOf(body).length === 0 && !['minProperties', 'oneOf', 'anyOf'].some((keyword) => keyword in body);

function requestBodyOf({ body, examples = {} }: Operation, register: SchemaRegister): Json {
  if (!body) return {};
  const shown = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return {
    requestBody: {
      required: !mayBeEmpty(body),
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

function linksIn(links: LinkRegister, operation: Operation, status: number): Json {
  const next = links.linksOf(operation, status);
  return Object.keys(next).length > 0 ? { links: next } : {};
}

function successesOf(operation: Operation, register: SchemaRegister, links: LinkRegister): Json {
  const declared = Object.entries(operation.responses).map(([status, schema]) => [
    status,
    {
      description: SUCCESS[Number(status)] ?? 'Done',
      headers: successHeaders(operation, Number(status)),
      ...(schema ? { content: { 'application/json': { schema: register.show(schema) } } } : {}),
      ...linksIn(links, operation, Number(status)),
    },
  ]);
  return {
    ...(Object.fromEntries(declared) as Json),
    ...(isConditional(operation) ? { 304: { $ref: '#/components/responses/Unchanged' } } : {}),
  };
}

interface Registers {
  register: SchemaRegister;
  refusals: ResponseRegister;
  links: LinkRegister;
}

function shownOperation(operation: Operation, { register, refusals, links }: Registers): Json {
  const parameters = parametersOf(operation, register);
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: [operation.description, sunsetText(operation), accessText(operation)].filter(Boolean).join('\n\n'),
    ...(operation.deprecated ? { deprecated: true } : {}),
    tags: [operation.tag],
    security: securityOf(operation),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...requestBodyOf(operation, register),
    responses: { ...successesOf(operation, register, links), ...refusals.refusalsOf(operation) },
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
  const links = linkRegister(operations);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = templated(info.service === 'all' ? `/${operation.service}${operation.path}` : operation.path);
    paths[path] = {
      ...paths[path],
      [operation.method.toLowerCase()]: shownOperation(operation, { register, refusals, links }),
    };
  }
  const hasReads = operations.some(isConditional);
  const responses = { ...refusals.components(), ...(hasReads ? { Unchanged: UNCHANGED } : {}) };
  const written = JSON.stringify({ paths, responses });
  const schemes = new Set(
    operations.flatMap((operation) => securityOf(operation).flatMap((scheme) => Object.keys(scheme))),
  );
  return {
    openapi: '3.1.0',
    info: { title: info.title, version: LATEST_VERSION, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: info.serverPath || '/' }],
    tags: tagsOf(operations),
    paths,
    components: {
      schemas: register.components(),
      responses,
      parameters: used(PARAMETERS, 'parameters', written),
      headers: used(HEADERS, 'headers', written),
      links: links.components(),
      securitySchemes: Object.fromEntries(Object.entries(SECURITY).filter(([name]) => schemes.has(name))),
    },
  };
}
