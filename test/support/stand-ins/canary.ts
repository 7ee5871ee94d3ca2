/** A listener on every address of this machine that only counts: whoever connects has got past the guard. */
import { createServer, type AddressInfo, type Server } from 'node:net';

/** A running canary. */
export interface Canary {
  readonly port: number;
  /** The local addresses connections came in on, oldest first. */
  readonly reached: string[];
  stop(): Promise<void>;
}

const REPLY = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret';

async function listen(server: Server, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port: 0 }, resolve);
  });
}

/** Starts the canary on IPv6 and IPv4, or on IPv4 alone where the machine has no IPv6. */
export async function startCanary(): Promise<Canary> {
  const reached: string[] = [];
  const server = createServer((socket) => {
    reached.push((socket.localAddress ?? '').replace('::ffff:', ''));
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end(REPLY));
  });
  await listen(server, '::').catch(async () => listen(server, '0.0.0.0'));
  const { port } = server.address() as AddressInfo;
  return { port, reached, stop: () => new Promise((resolve) => void server.close(() => resolve())) };
}
