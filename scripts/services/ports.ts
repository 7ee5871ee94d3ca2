/** Choosing loopback ports. */
import { connect, createServer } from 'node:net';
import type { Log } from './types';

const TRIES_MAX = 200;

// Below the range the kernel hands out for outgoing connections: a client that retries against a port of that
// range while nobody listens can end up connected to itself.
const RANDOM_FIRST = 15_000;
const RANDOM_COUNT = 15_000;

// Chosen but perhaps not listened on yet: two services starting in parallel must not pick the same one.
const chosen = new Set<number>();

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** The preferred port or the next free one; without a preference any free one. */
export async function choosePort(preferred?: number): Promise<number> {
  const first = preferred ?? RANDOM_FIRST + Math.floor(Math.random() * RANDOM_COUNT);
  for (let port = first; port < first + TRIES_MAX && port < 65_536; port += 1) {
    if (chosen.has(port)) continue;
    chosen.add(port);
    if (await canListen(port)) return port;
    chosen.delete(port);
  }
  throw new Error(`no free port between ${first} and ${first + TRIES_MAX}`);
}

/** Like `choosePort`, and says so when it is not the preferred one. */
export async function choosePortFor(what: string, preferred: number | undefined, log: Log): Promise<number> {
  const port = await choosePort(preferred);
  if (preferred !== undefined && port !== preferred) log(`${what}: port ${preferred} is taken, using ${port}`);
  return port;
}

/** Gives a port back, so that a later start in the same process may choose it again. */
export function releasePort(port: number): void {
  chosen.delete(port);
}

/** True when something accepts TCP connections there. */
export function accepts(host: string, port: number, timeoutMs = 2_000): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const finish = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => finish(true));
    socket.once('timeout', () => finish(false));
    socket.once('error', () => finish(false));
  });
}
