/** A TCP proxy in front of the store that notes the name and collection of every command that goes through. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** One command of the MongoDB protocol, such as `find` on `executions`. */
export interface StoreCommand {
  name: string;
  collection: string;
}

export interface StoreProxy {
  /** The given connection string, through the proxy. */
  readonly uri: string;
  /** Everything since the last `reset`, oldest first. */
  readonly commands: readonly StoreCommand[];
  reset(): void;
  stop(): Promise<void>;
}

const WRITES: ReadonlySet<string> = new Set(['insert', 'update', 'delete', 'findAndModify']);
const READS: ReadonlySet<string> = new Set(['find', 'aggregate', 'count', 'distinct', 'getMore']);

export const isWrite = ({ name }: StoreCommand): boolean => WRITES.has(name);
export const isRead = ({ name }: StoreCommand): boolean => READS.has(name);

const COMMANDS_MAX = 100_000;
const HEADER_BYTES = 16;
const OPCODE_AT = 12;
const OP_MSG = 2013;
/** Behind header and flags stands the kind of the first section; the driver sends the command's document first. */
const SECTION_KIND_AT = 20;
const FIRST_ELEMENT_AT = 25;
const TEXT = 2;

/** The command of a message: its document's first element, whose value is the collection. */
function commandOf(message: Buffer): StoreCommand | null {
  if (message.length <= FIRST_ELEMENT_AT || message.readInt32LE(OPCODE_AT) !== OP_MSG) return null;
  if (message[SECTION_KIND_AT] !== 0) return null;
  const nameEnd = message.indexOf(0, FIRST_ELEMENT_AT + 1);
  const name = message.toString('utf8', FIRST_ELEMENT_AT + 1, nameEnd);
  if (message[FIRST_ELEMENT_AT] !== TEXT) return { name, collection: '' };
  const length = message.readInt32LE(nameEnd + 1);
  return { name, collection: message.toString('utf8', nameEnd + 5, nameEnd + 4 + length) };
}

/** Cuts a stream into messages by the length each begins with. */
function messageReader(take: (message: Buffer) => void): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length >= HEADER_BYTES) {
      const length = pending.readInt32LE(0);
      if (length < HEADER_BYTES || pending.length < length) return;
      take(pending.subarray(0, length));
      pending = pending.subarray(length);
    }
  };
}

interface Address {
  host: string;
  port: number;
  /** The connection string with another port of this machine in place of the server's address. */
  through: (port: number) => string;
}

function addressOf(uri: string): Address {
  const match = /^(mongodb:\/\/(?:[^@/]+@)?)([^:/,?]+)(?::(\d+))?(\/[^?]*)?(?:\?(.*))?$/.exec(uri);
  if (!match) throw new Error('the counting proxy takes a connection string with one host');
  const [, before = '', host = '', port = '27017', path = '/', query = ''] = match;
  // Direct, or a replica set would tell its own address and be spoken to past the proxy.
  const parameters = new URLSearchParams(query);
  parameters.set('directConnection', 'true');
  const through = (own: number): string => `${before}127.0.0.1:${own}${path}?${parameters.toString()}`;
  return { host, port: Number(port), through };
}

function relay(client: Socket, store: Socket, take: (message: Buffer) => void): void {
  client.setNoDelay();
  store.setNoDelay();
  client.on('data', messageReader(take));
  client.pipe(store).pipe(client);
  for (const [socket, other] of [
    [client, store],
    [store, client],
  ] as const) {
    socket.on('error', () => other.destroy());
    socket.on('close', () => other.destroy());
  }
}

/** Starts a proxy on a free loopback port. */
export async function startStoreProxy(uri: string): Promise<StoreProxy> {
  const { host, port, through } = addressOf(uri);
  const commands: StoreCommand[] = [];
  const sockets = new Set<Socket>();
  const take = (message: Buffer): void => {
    const command = commandOf(message);
    if (command && commands.length < COMMANDS_MAX) commands.push(command);
  };
  const server = createServer((client) => {
    const store = connect(port, host);
    for (const socket of [client, store]) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }
    relay(client, store, take);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    uri: through((server.address() as AddressInfo).port),
    commands,
    reset: () => void commands.splice(0),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
