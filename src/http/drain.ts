/** The end of a server: what is under way is answered, nobody new is taken. */
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';

/** A connection falls idle when its answer is out; Node closes those that are idle at one moment only. */
const IDLE_CHECK_MS = 50;
/** Clients that are in the middle of their work ask again in this time, those that wait for an answer now included. */
const LAST_REQUESTS_MS = 1_000;

/**
 * Closes the server. Requests that take longer than `limitMs` are cut off.
 *
 * To close a connection over a request that is on its way leaves its sender without knowing whether it was done. So
 * connections that are kept open get a moment for one request more, whose answer says that it was the last.
 */
export async function drain(server: Server, limitMs: number): Promise<void> {
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false;
  });
  let idle: NodeJS.Timeout | undefined;
  const last = setTimeout(() => {
    idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  }, LAST_REQUESTS_MS);
  const cut = setTimeout(() => server.closeAllConnections(), limitMs);
  // That of HTTP servers closes idle connections at once.
  await new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
  clearTimeout(last);
  clearInterval(idle);
  clearTimeout(cut);
}
