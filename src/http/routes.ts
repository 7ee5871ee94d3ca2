/** Path and method → handler. A radix tree: Express tries the routes one by one, and a product has hundreds. */
import type { Request, RequestHandler, Response } from 'express';
import createTree from 'find-my-way';

type Answering = (request: Request, response: Response) => void;

/** What is done where there is no route. */
interface Otherwise {
  unknownPath: Answering;
  /** The path is not valid percent-encoding. */
  malformedPath: Answering;
  /** `allow` is the header of that name. */
  otherMethod: (allow: string) => Answering;
}

/** The routes of one path. */
interface Place {
  routes: Map<string, RequestHandler>;
  otherwise: Answering;
}

export interface RouteTable {
  add(method: string, path: string, handler: RequestHandler): void;
  handle: RequestHandler;
}

/** Ids are checked by their operations, which answer 404 in words of their own. */
const PARAMETER_LENGTH_MAX = 16_384;
/** The tree is asked for places, whatever the method: `/tickets/batch` is no ticket by the id "batch" to any of them. */
const ANY = 'GET';

/** Builds an empty table. */
export function createRouteTable({ unknownPath, malformedPath, otherMethod }: Otherwise): RouteTable {
  const tree = createTree({
    caseSensitive: true,
    ignoreTrailingSlash: true,
    maxParamLength: PARAMETER_LENGTH_MAX,
    // Express reads the query.
    querystringParser: () => ({}),
    onBadUrl: () => undefined,
  });
  const places = new Map<string, Place>();

  function placeOf(path: string): Place {
    const known = places.get(path);
    if (known) return known;
    const place: Place = { routes: new Map(), otherwise: unknownPath };
    places.set(path, place);
    tree.on(ANY, path, () => undefined, place);
    return place;
  }

  return {
    add(method, path, handler) {
      const place = placeOf(path);
      place.routes.set(method, handler);
      const methods = [...place.routes.keys()];
      place.otherwise = otherMethod([...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', '));
    },
    handle(request, response, next) {
      const found = tree.find(ANY, request.url);
      if (!found) return unknownPath(request, response);
      const place = found.store as Place | undefined;
      if (!place) return malformedPath(request, response);
      request.params = found.params as Record<string, string>;
      const handler = place.routes.get(request.method === 'HEAD' ? 'GET' : request.method);
      return handler ? handler(request, response, next) : place.otherwise(request, response);
    },
  };
}
