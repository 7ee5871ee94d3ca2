/** operation + handler → route: admit, validate, run, answer. The one place where HTTP and handlers meet. */
import express, { Router, type Request, type RequestHandler, type Response } from 'express';
import type { Context } from '../context';
import type { Call, Handler, Handlers, Operation, Reply, ServiceName } from '../contracts/operation';
import { problem, type Finding } from '../contracts/problem';
import { newId } from '../domain/ids';
import { matchesTag, weakTag } from '../domain/etag';
import { answerFor, toProblem } from './problems';
import type { Admission, Guard } from './guard';
import { enterOnce, type Replay, type Run } from './idempotency';
import { bodyValidator, depthFindings, textValidator, type Validator } from './validate';

const BODY_BYTES_MAX = 256 * 1024;

interface Route {
  operation: Operation;
  handler: Handler<Operation, Context>;
  params: Validator | null;
  query: Validator | null;
  body: Validator | null;
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
  if (findings.length === 0) return;
  const first = findings[0];
  const code = where === 'body' ? (operation.invalidBody ?? 'validation_error') : 'validation_error';
  const text =
    findings.length === 1 && first
      ? `${first.path || 'body'}: ${first.message}`
      : `${findings.length} problems in the ${where}`;
  const hint = findings.length === 1 && first?.suggestion ? `; did you mean ${first.suggestion}?` : '';
  throw problem(code, { message: `${text}${hint}`, findings });
}

const noParameters = (query: Record<string, unknown>): Finding[] =>
  Object.keys(query).map((name) => ({
    path: name,
    code: 'unknown_field',
    message: 'this endpoint takes no query parameters',
  }));

/** The body as sent. Depth first: a recursive schema must not follow nesting that nobody needs. */
function readBody(route: Route, request: Request): unknown {
  if (!route.body) return request.body;
  // A request without a body means the empty object wherever that is a valid one.
  const mayBeEmpty = request.body === undefined && route.body({}).length === 0;
  const body: unknown = mayBeEmpty ? {} : request.body;
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
function readInput(route: Route, request: Request) {
  const query: Record<string, unknown> = { ...request.query };
  const params: Record<string, unknown> = { ...request.params };
  // A path id that no record can have is simply an id that does not exist.
  if (route.params && route.params(params).length > 0) throw problem(notFoundCode(route.operation));
  check(singleValued(query), route.operation, 'query');
  check(named(route.query ? route.query(query) : noParameters(query)), route.operation, 'query');
  return { query, params, body: readBody(route, request) };
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

function sendReplay(response: Response, { status, headers, body }: Replay): void {
  response.set(headers).status(status);
  if (body === null) response.end();
  else response.type('json').send(body);
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

async function answer(route: Route, exchange: Exchange, context: Context): Promise<void> {
  const { request, response, admission } = exchange;
  const { principal, epoch } = admission as Admission;
  const input = readInput(route, request);
  const entry = await enterOnce(context, { operation: route.operation, request, principal, input });
  if ('replay' in entry) {
    sendReplay(response, entry.replay);
    return;
  }
  const { run } = entry;
  const call = { ...input, principal, epoch, context, requestId: exchange.requestId, headers: request.headers };
  const reply = await handled(route, { ...call, newId: run.newId, isRepeat: run.isRepeat }, run);
  if (reply.headers) response.set(reply.headers);
  if (reply.etag !== undefined) {
    const tag = weakTag(reply.etag);
    response.set({ ETag: tag, 'Cache-Control': 'private, no-cache', Vary: 'Authorization, X-Integration-Key, Cookie' });
    if (request.method === 'GET' && matchesTag(request.headers['if-none-match'], tag)) {
      if (admission) response.set(admission.refund());
      response.status(304).end();
      return;
    }
  }
  if (admission?.exhausted) throw admission.exhausted;
  if (reply.body === undefined) response.status(reply.status).end();
  else response.status(reply.status).json(reply.body);
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

/** Sends a refusal in the service's own body shape. */
export function refuse(
  thrown: unknown,
  service: ServiceName,
  exchange: { response: Response; requestId: string },
  context: Context,
): void {
  const refusal = toProblem(thrown);
  if (refusal.status >= 500)
    context.log.error(refusal.code, { request_id: exchange.requestId, error: refusal.cause ?? refusal });
  if (exchange.response.headersSent) return;
  const { status, headers, body } = answerFor(refusal, service, exchange.requestId);
  exchange.response.set(headers).status(status).json(body);
}

function serve(route: Route, guard: Guard, context: Context): RequestHandler {
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
    try {
      const admission = await guard.enter(request, route.operation);
      exchange.admission = admission;
      response.set(admission.headers);
      if (route.body) await parseBody(request, response);
      await answer(route, exchange, context);
    } catch (error) {
      refuse(error, route.operation.service, exchange, context);
      // Our own outage costs the caller nothing; the headers have left with the reply already.
      if (response.statusCode === 503) void exchange.admission?.refund();
    }
    if (exchange.admission) guard.record(exchange.admission.principal, response.statusCode);
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
      ...guard.headersFor(request),
    });
    next();
  };

function routeOf(operation: Operation, handler: Handler<Operation, Context> | undefined): Route {
  if (!handler) throw new Error(`Operation ${operation.id} has no handler`);
  const access: unknown = operation.access;
  if (!access) throw new Error(`Operation ${operation.id} declares no access; routes without one are not served`);
  return {
    operation,
    handler,
    params: operation.params ? textValidator(operation.params) : null,
    query: operation.query ? textValidator(operation.query) : null,
    body: operation.body ? bodyValidator(operation.body) : null,
  };
}

const parametersIn = (path: string): number => path.split('/:').length;

/** Builds the router of one service. Paths that exist answer 405 with `Allow` to other methods, all others 404. */
export function serviceRouter(
  service: ServiceName,
  bounds: Bound[],
  parts: { guard: Guard; context: Context },
): Router {
  const router = Router({ caseSensitive: true, strict: false });
  const paths = new Map<string, Map<string, RequestHandler>>();
  for (const { operations, handlers } of bounds) {
    for (const operation of operations.filter((candidate) => candidate.service === service)) {
      const methods = paths.get(operation.path) ?? new Map<string, RequestHandler>();
      const route = serve(routeOf(operation, handlers[operation.id]), parts.guard, parts.context);
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
