/** operation + handler → route: admit, validate, run, answer. The one place where HTTP and handlers meet. */
import type { Request, RequestHandler, Response } from 'express';
import type { Context } from '../context';
import type { Call, Handler, Handlers, Operation, Reply, ServiceName } from '../contracts/operation';
import { problem } from '../contracts/problem';
import { API_VERSIONS, type VersionTable } from '../contracts/version';
import { deprecationFault, deprecationHeaders } from '../domain/deprecation';
import { newId } from '../domain/ids';
import { bodyTag, matchesTag, weakTag } from '../domain/etag';
import { isRead } from '../domain/methods';
import { fillCompany } from './auth-access';
import { documentedServices } from './api-documents';
import { answerFor, toProblem } from './problems';
import { documentHandler, publishedDocument } from './published';
import { refuse, sendRefusal } from './refuse';
import type { Admission, Foresight, Guard } from './guard';
import { enterOnce, keyOf, type Replay, type Run } from './idempotency';
import { readInput, type InputChecks } from './input';
import { bodyReader } from './read-body';
import { createRouteTable } from './routes';
import { sendJson, sendNothing, sendText, setHeaders } from './send';
import { bodyValidator, textValidator } from './validate';
import { tagIn, versionOf, waysOf, withPlainTags, type Way } from './versions';

const VARY = 'Authorization, X-Integration-Key, Cookie, Platform-Version';

interface Route extends InputChecks {
  handler: Handler<Operation, Context>;
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

interface Exchange {
  request: Request;
  response: Response;
  requestId: string;
  startedAt: number;
  admission: Admission | null;
}

const REFUSED_FROM = 400;
const UNAVAILABLE_FROM = 500;

function sendReplay(response: Response, replay: Replay, way: Way | undefined, context: Context): void {
  const { status, headers, body } = replay;
  setHeaders(response, headers);
  if (body === null) sendNothing(response, status);
  else if (status >= REFUSED_FROM)
    sendRefusal(response, { status, body: JSON.parse(body) as Record<string, unknown> }, context);
  else sendText(response, status, way ? JSON.stringify(way.down(JSON.parse(body), status)) : body);
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

/** What a request led to, and in which version it is to be told. */
type Outcome = { way: Way | undefined } & ({ reply: Reply<Operation> } | { replay: Replay });

/** Does what the request asks for, on behalf of a caller who may. */
async function perform(
  route: Route,
  exchange: Pick<Exchange, 'request' | 'response' | 'requestId'>,
  { principal, epoch }: Pick<Admission, 'principal' | 'epoch'>,
  { context, versions }: MountParts,
): Promise<Outcome> {
  const { request, response } = exchange;
  const version = versionOf(request.headers['platform-version'], principal, versions);
  const way = route.ways.get(version);
  response.setHeader('Platform-Version', version);
  fillCompany(route.operation, request.body, principal);
  const input = readInput(route, request, way);
  const call = {
    ...input,
    principal,
    epoch,
    context,
    requestId: exchange.requestId,
    headers: withPlainTags(request.headers, way),
    newId: (prefix: string) => newId(prefix, context.clock.now()),
    isRepeat: false,
  };
  const asked = { operation: route.operation, request, principal, input };
  const key = keyOf(asked);
  if (key === null) return { way, reply: await route.handler(call) };
  const entry = await enterOnce(context, asked, key);
  if ('replay' in entry) return { way, replay: entry.replay };
  const { run } = entry;
  return { way, reply: await handled(route, { ...call, newId: run.newId, isRepeat: run.isRepeat }, run) };
}

/** The tag of a reply that has one: every read has. */
function tagOf({ etag, body }: Reply<Operation>, way: Way | undefined, request: Request): string | null {
  const state = etag ?? (isRead(request.method) && body !== undefined ? bodyTag(body) : null);
  return state === null ? null : weakTag(tagIn(state, way));
}

/** True when the reply is what the client has already. */
const isKnown = (tag: string | null, { method, headers }: Request): boolean =>
  tag !== null && isRead(method) && matchesTag(headers['if-none-match'], tag);

function answer(outcome: Outcome, exchange: Exchange, context: Context): void {
  const { request, response, admission } = exchange;
  const { way } = outcome;
  if ('replay' in outcome) {
    sendReplay(response, outcome.replay, way, context);
    return;
  }
  const { reply } = outcome;
  const tag = tagOf(reply, way, request);
  const known = isKnown(tag, request);
  // Before anything is said of the reply: a refusal has neither its tag nor leave to be kept.
  if (!known && admission?.exhausted) throw admission.exhausted;
  if (reply.headers) setHeaders(response, reply.headers);
  if (tag !== null) setHeaders(response, { ETag: tag, 'Cache-Control': 'private, no-cache', Vary: VARY });
  if (known) {
    if (admission) setHeaders(response, admission.refund());
    sendNothing(response, 304);
  } else if (reply.body === undefined) sendNothing(response, reply.status);
  else sendJson(response, reply.status, way ? way.down(reply.body, reply.status) : reply.body);
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
    org: admission?.principal.orgId,
    by: admission?.principal.id,
  });
};

/** On a spent limit only a 304 is free: a request that is told anything else would count, and is told that it cannot. */
const refusalFor = (error: unknown, admission: Admission | null): unknown =>
  toProblem(error).status < UNAVAILABLE_FROM ? (admission?.exhausted ?? error) : error;

/**
 * Admits a request. A read begins while it is charged, so that it takes the time of the longer of the two; nobody sees
 * what it finds unless the caller is admitted as who it was begun for.
 */
async function enter(route: Route, exchange: Exchange, parts: MountParts) {
  const { request } = exchange;
  let begun: Promise<Outcome> | null = null;
  const foresee: Foresight = (caller) => {
    begun = perform(route, exchange, caller, parts);
    begun.catch(() => undefined);
  };
  const { operation } = route;
  const admission = await parts.guard.enter(request, operation, operation.method === 'GET' ? foresee : undefined);
  return { admission, begun: admission.isForeseen ? (begun as Promise<Outcome> | null) : null };
}

function serve(route: Route, parts: MountParts): RequestHandler {
  const { guard, context } = parts;
  const readBody = bodyReader(route.operation.bodyBytesMax);
  return async (request, response) => {
    const exchange: Exchange = {
      request,
      response,
      requestId: requestIdOf(response),
      startedAt: performance.now(),
      admission: null,
    };
    if (route.notice) setHeaders(response, route.notice);
    try {
      const { admission, begun } = await enter(route, exchange, parts);
      exchange.admission = admission;
      setHeaders(response, admission.headers);
      if (!isRead(request.method)) await readBody(request, response);
      answer(await (begun ?? perform(route, exchange, admission, parts)), exchange, context);
    } catch (error) {
      if (!exchange.admission) setHeaders(response, guard.headersFor(request));
      refuse(refusalFor(error, exchange.admission), route.operation.service, exchange, context);
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

/** The rate headers of replies that nobody was admitted for: those of the address. */
export const addressHeaders =
  (guard: Guard): RequestHandler =>
  (request, response, next) => {
    setHeaders(response, guard.headersFor(request));
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
    body: operation.body ? bodyValidator(operation.body, operation.echoes) : null,
    ways: waysOf(operation, parts.versions),
    notice: noticeOf(operation, parts.context),
  };
}

/** Builds the router of one service. Paths that exist answer 405 with `Allow` to other methods, all others 404. */
export function serviceRouter(
  service: ServiceName,
  bounds: Bound[],
  given: { guard: Guard; context: Context; versions?: VersionTable },
): RequestHandler {
  const parts: MountParts = { versions: API_VERSIONS, ...given };
  const refuseAs =
    (...refusal: Parameters<typeof problem>) =>
    (request: Request, response: Response): void => {
      setHeaders(response, parts.guard.headersFor(request));
      refuse(problem(...refusal), service, { response, requestId: requestIdOf(response) }, parts.context);
    };
  const table = createRouteTable({
    unknownPath: refuseAs('not_found', { message: 'No such path on this API.' }),
    malformedPath: refuseAs('invalid_parameter', { message: 'The path is not valid percent-encoding.' }),
    otherMethod: (allow) => (request, response) => {
      response.setHeader('Allow', allow);
      if (request.method === 'OPTIONS') {
        setHeaders(response, parts.guard.headersFor(request));
        sendNothing(response, 204);
      } else refuseAs('method_not_allowed', { facts: { allowed: allow } })(request, response);
    },
  });
  const isDocumented = documentedServices.includes(service);
  if (isDocumented) table.add('GET', '/api/openapi.json', documented(service, parts.guard));
  for (const { operations, handlers } of bounds) {
    for (const operation of operations.filter((candidate) => candidate.service === service))
      table.add(operation.method, operation.path, serve(routeOf(operation, handlers[operation.id], parts), parts));
  }
  if (!isDocumented) return table.handle;
  return (request, response, next) => {
    // Clients see when the service's document has changed.
    response.setHeader('X-Spec-Hash', publishedDocument(service).hash);
    return table.handle(request, response, next);
  };
}

function documented(service: ServiceName, guard: Guard): RequestHandler {
  const answerWith = documentHandler(service);
  return (request, response, next) => {
    setHeaders(response, guard.headersFor(request));
    return answerWith(request, response, next);
  };
}
