/** operation + handler → route: admit, validate, run, answer. The one place where HTTP and handlers meet. */
import express, { Router, type Request, type RequestHandler, type Response } from 'express';
import type { Context } from '../context';
import type { Call, Handler, Handlers, Operation, Reply, ServiceName } from '../contracts/operation';
import { problem, refuseFindings, type Finding } from '../contracts/problem';
import { API_VERSIONS, LATEST_VERSION, type Sent, type VersionTable } from '../contracts/version';
import { deprecationFault, deprecationHeaders } from '../domain/deprecation';
import { newId } from '../domain/ids';
import { matchesTag, weakTag } from '../domain/etag';
import { fillCompany } from './auth-access';
import { answerFor, toProblem } from './problems';
import { refuse, sendRefusal } from './refuse';
import type { Admission, Guard } from './guard';
import { enterOnce, type Replay, type Run } from './idempotency';
import { bodyValidator, depthFindings, textValidator, type Validator } from './validate';
import { tagIn, versionOf, waysOf, withPlainTags, type Way } from './versions';

const VARY = 'Authorization, X-Integration-Key, Cookie, Platform-Version';
const BODY_BYTES_MAX = 256 * 1024;

interface Route {
  operation: Operation;
  handler: Handler<Operation, Context>;
  params: Validator | null;
  query: Validator | null;
  body: Validator | null;
  /** By version; only where the operation has changed since. */
  ways: ReadonlyMap<string, Way>;
  /** Headers that announce the end of a deprecated operation. */
  notice: Record<string, string> | null;
}

/** What a mount works with. */
interface MountParts {
  guard: Guard;
  context: Context;
  versions: VersionTable;
}

/** A table of operations with its handlers, ready to mount. */
export interface Bound {
  operations: Operation[];
  handlers: Record<string, Handler<Operation, Context>>;
}

/** Joins a table with its handlers; the parameter types refuse a missing or mistyped handler. */
export const bind = <Table extends Record<string, Operation>>(
  table: Table,
  handlers: Handlers<Table, Context>,
): Bound => ({
  operations: Object.values(table),
  handlers: handlers as unknown as Record<string, Handler<Operation, Context>>,
});

const singleValued = (query: Record<string, unknown>): Finding[] =>
  Object.entries(query)
    .filter(([, value]) => Array.isArray(value))
    .map(([name]) => ({ path: name, code: 'repeated', message: `${name} may be given once` }));

function check(findings: Finding[], operation: Operation, where: 'query' | 'body'): void {
  refuseFindings(findings, where, where === 'body' ? operation.invalidBody : undefined);
}

const noParameters = (query: Record<string, unknown>): Finding[] =>
  Object.keys(query).map((name) => ({
    path: name,
    code: 'unknown_field',
    message: 'this endpoint takes no query parameters',
  }));

/** The body as sent. Depth first: a recursive schema must not follow nesting that nobody needs. */
function readBody(route: Route, sent: unknown): unknown {
  if (!route.body) return sent;
  // A request without a body means the empty object wherever that is a valid one.
  const mayBeEmpty = sent === undefined && route.body({}).length === 0;
  const body: unknown = mayBeEmpty ? {} : sent;
  if (body === undefined) {
    throw problem(route.operation.invalidBody ?? 'validation_error', {
      message: 'A JSON body is required; send it as application/json.',
    });
  }
  check(depthFindings(body), route.operation, 'body');
  check(route.body(body), route.operation, 'body');
  return body;
}

/** Express parses `?a=1` into text; a copy is validated and coerced in place. */
function readInput(route: Route, request: Request, way: Way | undefined) {
  const params: Record<string, unknown> = { ...request.params };
  // A path id that no record can have is simply an id that does not exist.
  if (route.params && route.params(params).length > 0) throw problem(notFoundCode(route.operation));
  check(singleValued(request.query), route.operation, 'query');
  const sent = { query: { ...request.query } as Record<string, unknown>, body: request.body as unknown };
  const { query, body } = way ? raised(route, sent, way) : sent;
  check(named(route.query ? route.query(query) : noParameters(query)), route.operation, 'query');
  return { query, params, body: readBody(route, body) };
}

/** A request of an older version, checked as that version has it and then made one of the latest. */
function raised({ operation }: Route, sent: Sent, way: Way): Sent {
  if (way.query) check(named(way.query(sent.query)), operation, 'query');
  if (way.body) {
    check(depthFindings(sent.body), operation, 'body');
    check(way.body(sent.body ?? {}), operation, 'body');
  }
  return way.up(sent);
}

/** Query findings name the parameter, not a pointer. */
const named = (findings: Finding[]): Finding[] =>
  findings.map((finding) => ({ ...finding, path: finding.path.replace(/^\//, '') }));

const notFoundCode = (operation: Operation) =>
  operation.errors?.find((code) => code.endsWith('not_found')) ?? 'not_found';

interface Exchange {
  request: Request;
  response: Response;
  requestId: string;
  startedAt: number;
  admission: Admission | null;
}

const REFUSED_FROM = 400;

function sendReplay(response: Response, replay: Replay, way: Way | undefined, context: Context): void {
  const { status, headers, body } = replay;
  response.set(headers).status(status);
  if (body === null) response.end();
  else if (status >= REFUSED_FROM)
    sendRefusal(response, { status, body: JSON.parse(body) as Record<string, unknown> }, context);
  else response.type('json').send(way ? JSON.stringify(way.down(JSON.parse(body), status)) : body);
}

/** Runs the handler and keeps what it answers for repeats of the request, before anybody sees it. */
async function handled(route: Route, call: Call<Operation, Context>, run: Run): Promise<Reply<Operation>> {
  try {
    const reply = await route.handler(call);
    const tag = reply.etag === undefined ? {} : { ETag: weakTag(reply.etag) };
    await run.keep({ status: reply.status, headers: { ...reply.headers, ...tag }, body: reply.body });
    return reply;
  } catch (error) {
    await run.refused(answerFor(toProblem(error), route.operation.service, call.requestId));
    throw error;
  }
}

async function answer(route: Route, exchange: Exchange, { context, versions }: MountParts): Promise<void> {
  const { request, response, admission } = exchange;
  const { principal, epoch } = admission as Admission;
  const version = versionOf(request.headers['platform-version'], principal, versions);
  const way = route.ways.get(version);
  response.set('Platform-Version', version);
  fillCompany(route.operation, request.body, principal);
  const input = readInput(route, request, way);
  const entry = await enterOnce(context, { operation: route.operation, request, principal, input });
  if ('replay' in entry) {
    sendReplay(response, entry.replay, way, context);
    return;
  }
  const { run } = entry;
  const call = {
    ...input,
    principal,
    epoch,
    context,
    requestId: exchange.requestId,
    headers: withPlainTags(request.headers, way),
  };
  const reply = await handled(route, { ...call, newId: run.newId, isRepeat: run.isRepeat }, run);
  if (reply.headers) response.set(reply.headers);
  if (reply.etag !== undefined) {
    const tag = weakTag(tagIn(reply.etag, way));
    response.set({ ETag: tag, 'Cache-Control': 'private, no-cache', Vary: VARY });
    if (request.method === 'GET' && matchesTag(request.headers['if-none-match'], tag)) {
      if (admission) response.set(admission.refund());
      response.status(304).end();
      return;
    }
  }
  if (admission?.exhausted) throw admission.exhausted;
  if (reply.body === undefined) response.status(reply.status).end();
  else response.status(reply.status).json(way ? way.down(reply.body, reply.status) : reply.body);
}

const logLine = (exchange: Exchange, operationId: string, context: Context): void => {
  const { request, response, admission } = exchange;
  context.log.info('request', {
    request_id: exchange.requestId,
    operation: operationId,
    method: request.method,
    path: request.originalUrl.split('?', 1)[0],
    status: response.statusCode,
    ms: Math.round((performance.now() - exchange.startedAt) * 10) / 10,
    ...(admission ? { org: admission.principal.orgId, by: admission.principal.id } : {}),
  });
};

function serve(route: Route, parts: MountParts): RequestHandler {
  const { guard, context } = parts;
  const parse = express.json({
    limit: route.operation.bodyBytesMax ?? BODY_BYTES_MAX,
    strict: false,
    type: () => true,
  });
  const parseBody = (request: Request, response: Response) =>
    new Promise<void>((resolve, reject) => {
      parse(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
    });
  return async (request, response) => {
    const exchange: Exchange = {
      request,
      response,
      requestId: requestIdOf(response),
      startedAt: performance.now(),
      admission: null,
    };
    if (route.notice) response.set(route.notice);
    try {
      const admission = await guard.enter(request, route.operation);
      exchange.admission = admission;
      response.set(admission.headers);
      if (route.body) await parseBody(request, response);
      await answer(route, exchange, parts);
    } catch (error) {
      refuse(error, route.operation.service, exchange, context);
      // Our own outage costs the caller nothing; the headers have left with the reply already.
      if (response.statusCode === 503) void exchange.admission?.refund();
    }
    const { operation } = route;
    const answered = { operation, status: response.statusCode, ms: performance.now() - exchange.startedAt };
    if (exchange.admission) guard.record(exchange.admission.principal, answered);
    logLine(exchange, route.operation.id, context);
  };
}

const requestIdOf = (response: Response): string => String(response.getHeader('X-Request-Id'));

/** First middleware of all: an id and the headers that every reply carries, whatever becomes of the request. */
export const opening =
  (guard: Guard): RequestHandler =>
  (request, response, next) => {
    response.set({
      'X-Request-Id': newId('req'),
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'private, no-store',
      'Platform-Version': LATEST_VERSION,
      ...guard.headersFor(request),
    });
    next();
  };

function noticeOf({ id, deprecated }: Operation, { config }: Context): Record<string, string> | null {
  if (!deprecated) return null;
  const fault = deprecationFault(deprecated);
  if (fault) throw new Error(`Operation ${id} cannot be deprecated like this: ${fault}`);
  return deprecationHeaders(deprecated, { docs: `${config.publicUrl}/docs`, id });
}

function routeOf(operation: Operation, handler: Handler<Operation, Context> | undefined, parts: MountParts): Route {
  if (!handler) throw new Error(`Operation ${operation.id} has no handler`);
  const access: unknown = operation.access;
  if (!access) throw new Error(`Operation ${operation.id} declares no access; routes without one are not served`);
  return {
    operation,
    handler,
    params: operation.params ? textValidator(operation.params) : null,
    query: operation.query ? textValidator(operation.query) : null,
    body: operation.body ? bodyValidator(operation.body) : null,
    ways: waysOf(operation, parts.versions),
    notice: noticeOf(operation, parts.context),
  };
}

const parametersIn = (path: string): number => path.split('/:').length;

/** Builds the router of one service. Paths that exist answer 405 with `Allow` to other methods, all others 404. */
export function serviceRouter(
  service: ServiceName,
  bounds: Bound[],
  given: { guard: Guard; context: Context; versions?: VersionTable },
): Router {
  const parts: MountParts = { versions: API_VERSIONS, ...given };
  const router = Router({ caseSensitive: true, strict: false });
  const paths = new Map<string, Map<string, RequestHandler>>();
  for (const { operations, handlers } of bounds) {
    for (const operation of operations.filter((candidate) => candidate.service === service)) {
      const methods = paths.get(operation.path) ?? new Map<string, RequestHandler>();
      const route = serve(routeOf(operation, handlers[operation.id], parts), parts);
      paths.set(operation.path, methods.set(operation.method, route));
    }
  }
  // Spelled-out paths first: `/tickets/batch` is no ticket by the id "batch", whatever the method.
  const bySpelling = [...paths].toSorted(([one], [other]) => parametersIn(one) - parametersIn(other));
  for (const [path, methods] of bySpelling) {
    for (const [method, route] of methods) router[method.toLowerCase() as 'get'](path, route);
    router.all(path, otherMethod(service, [...methods.keys()], parts.context));
  }
  router.use((_request: Request, response: Response) =>
    refuse(
      problem('not_found', { message: 'No such path on this API.' }),
      service,
      { response, requestId: requestIdOf(response) },
      parts.context,
    ),
  );
  return router;
}

function otherMethod(service: ServiceName, methods: string[], context: Context): RequestHandler {
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', ');
  return (request, response) => {
    response.set('Allow', allow);
    if (request.method === 'OPTIONS') response.status(204).end();
    else
      refuse(
        problem('method_not_allowed', { facts: { allowed: allow } }),
        service,
        { response, requestId: requestIdOf(response) },
        context,
      );
  };
}
