/** The end of a server: what is under way is answered, nobody new is taken. */
import type { Server } from 'node:http';

/** A connection falls idle when its answer is out; Node closes those that are idle at one moment only. */
const IDLE_CHECK_MS = 50;

/** Closes the server. Requests that take longer than `limitMs` are cut off. */
export async function drain(server: Server, limitMs: number): Promise<void> {
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const cut = setTimeout(() => server.closeAllConnections(), limitMs);
  await new Promise((resolve) => server.close(resolve));
  clearInterval(idle);
  clearTimeout(cut);
}
