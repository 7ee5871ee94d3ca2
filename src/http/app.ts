/** The API process's Express app: mounts, the order of middleware, health, and the answer to everything else. */
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Context } from '../context';
import { agentOperations } from '../contracts/operations/agents';
import { consoleOperations } from '../contracts/operations/console';
import { portalOperations } from '../contracts/operations/portal';
import { SERVICES } from '../contracts/operation';
import { problem } from '../contracts/problem';
import { isRead } from '../domain/methods';
import { agentServiceHandlers } from '../services/agents';
import { consoleHandlers } from '../services/console';
import { productBound } from '../services/product';
import { portalHandlers } from '../services/product/portal-sessions';
import type { Guard } from './guard';
import { docsRouter } from './docs';
import { addressHeaders, bind, serviceRouter, type Bound } from './mount';
import { refuse } from './refuse';
import { open, opening, sendNothing } from './send';

interface Health {
  store: () => Promise<boolean>;
  engine: () => Promise<boolean>;
}

/** Everything the API serves, in one list: the routes, their handlers and the documents made of them. */
export const boundOperations = (): Bound[] => [
  bind(agentOperations, agentServiceHandlers),
  bind(consoleOperations, consoleHandlers),
  productBound(),
  bind(portalOperations, portalHandlers),
];

/** `/readyz` names the dependency that is away, so that an operator need not guess. */
const readiness =
  (health: Health): RequestHandler =>
  async (_request, response) => {
    const [store, engine] = await Promise.all([health.store(), health.engine()]);
    response
      .status(store && engine ? 200 : 503)
      .json({ status: store && engine ? 'ok' : 'unavailable', store, engine });
  };

/** What goes wrong outside every service. */
const routerError =
  (context: Context, guard: Guard): ErrorRequestHandler =>
  (error, request, response, next) => {
    if (response.headersSent) return next(error);
    response.set(guard.headersFor(request));
    return refuse(error, 'psa', { response, requestId: String(response.getHeader('X-Request-Id')) }, context);
  };

/** The first segment of a path, behind the server's own name where a client sent that too (RFC 9112 §3.2.2). */
const MOUNTED = /^(?:https?:\/\/[^/?]*)?\/([a-z]+)(?=[/?]|$)/i;

/**
 * Hands a request to the service that its path begins with; the service sees the path below its name, as below a
 * mount of Express, which would try the names one after another.
 */
function services(routers: ReadonlyMap<string, RequestHandler>): RequestHandler {
  return (request, response, next) => {
    const { url } = request;
    const [prefix = '', name = ''] = MOUNTED.exec(url) ?? [];
    const router = routers.get(name);
    if (!router) return next();
    open(response);
    const below = url.slice(prefix.length);
    request.url = below.startsWith('/') ? below : `/${below}`;
    return router(request, response, (error?: unknown) => {
      request.url = url;
      next(error);
    });
  };
}

/** What the server tells about itself; it is read and never changed. */
const OWN_PATHS = ['/', '/healthz', '/readyz', '/openapi.json', '/docs', '/docs/errors/:code'];
const READS = 'GET, HEAD';

/** Other methods on such a path, which is there all the same. */
const readsAlone =
  (context: Context): RequestHandler =>
  (request, response, next) => {
    if (isRead(request.method)) return next();
    response.setHeader('Allow', READS);
    if (request.method === 'OPTIONS') return sendNothing(response, 204);
    const requestId = String(response.getHeader('X-Request-Id'));
    return refuse(
      problem('method_not_allowed', { facts: { allowed: READS } }),
      'psa',
      { response, requestId },
      context,
    );
  };

/** Builds the app. Every service has its own mount, so that paths such as `/api/templates` never collide. */
export function createApp(context: Context, guard: Guard, health: Health): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', 'simple').set('case sensitive routing', true);
  app.set('trust proxy', context.config.trustProxy);
  const bounds = boundOperations();
  app.use(services(new Map(SERVICES.map((name) => [name, serviceRouter(name, bounds, { guard, context })]))));
  app.use(opening());
  app.use(addressHeaders(guard));
  app.all(OWN_PATHS, readsAlone(context));
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.get('/readyz', readiness(health));
  app.use(docsRouter(context));
  app.use((_request, response) => {
    refuse(
      problem('not_found', { message: 'No such path; see /docs for the list.' }),
      'psa',
      { response, requestId: String(response.getHeader('X-Request-Id')) },
      context,
    );
  });
  app.use(routerError(context, guard));
  return app;
}
