/** How many connections one network may hold: each costs memory and a descriptor long before it asks for anything. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { networkOfAddress } from './auth-ip';
import type { RawAnswer } from './client-errors';

/** Long enough for the refusal to arrive, short enough that refused connections do not pile up themselves. */
const REFUSED_OPEN_MS = 1_000;

interface Limit {
  /** Connections of one network, as the request limits know it, at a time; 0 counts none. */
  max: number;
  /** Reverse proxies: their connections are those of many clients, whom only the proxy can tell apart. */
  isProxy: (address: string) => boolean;
  answer: RawAnswer;
}

function refuse(socket: Socket, answer: RawAnswer): void {
  socket.on('error', () => socket.destroy());
  // What was sent is read and dropped: closing over unread bytes would reset the connection, and lose the answer.
  socket.resume();
  socket.end(answer({ code: 'TOO_MANY_CONNECTIONS' }, socket));
  const timer = setTimeout(() => socket.destroy(), REFUSED_OPEN_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** Refuses connections beyond the limit before anything they send is parsed. */
export function limitConnections(server: Server, { max, isProxy, answer }: Limit): void {
  if (max === 0) return;
  const held = new Map<string, number>();
  const serve = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress;
    // Gone before it was looked at.
    if (address === undefined) return void socket.destroy();
    if (!isProxy(address)) {
      const network = networkOfAddress(address);
      const count = held.get(network) ?? 0;
      if (count >= max) return refuse(socket, answer);
      held.set(network, count + 1);
      socket.once('close', () => {
        const left = (held.get(network) ?? 1) - 1;
        if (left > 0) held.set(network, left);
        else held.delete(network);
      });
    }
    for (const listener of serve) listener.call(server, socket);
  });
}
