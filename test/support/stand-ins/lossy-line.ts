/** A line to store or engine that can lose a reply, so that what was asked is done and nobody is told, or a command, or go silent. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface LossyLine {
  /** The address by this line. */
  readonly uri: string;
  /** Breaks the line instead of passing the reply to the next command that holds all of these texts. */
  loseReplyTo(...texts: string[]): void;
  /** Breaks the line instead of passing on the next command that holds this text, so that it is not done. */
  refuse(text: string): void;
  /** Passes no reply on until told to; connections stay open. */
  hang(): void;
  /** Passes on what was held back, and replies again. */
  resume(): void;
  /** How many commands or replies were lost. */
  lost(): number;
  stop(): Promise<void>;
}

/** How a command of the store on a collection begins: its name, and the length and text of the collection's. */
export const commandOn = (collection: string, command: string): string =>
  `${command}\0${String.fromCodePoint(collection.length + 1)}\0\0\0${collection}\0`;

/** Lays a line to the server behind an address like `mongodb://host:port/…` or `tcp://host:port`, at a free port unless one is named. */
export async function startLossyLine(uri: string, ownPort = 0): Promise<LossyLine> {
  const { hostname, port } = new URL(uri.replace(/^mongodb:/, 'http:'));
  const sockets = new Set<Socket>();
  let wanted: string[] | null = null;
  let unwanted: string | null = null;
  let lost = 0;
  let isSilent = false;
  let held: (() => void)[] = [];
  const server = createServer((client) => {
    const store = connect(Number(port), hostname);
    let isLosing = false;
    const end = (): void => {
      client.destroy();
      store.destroy();
      sockets.delete(client);
      sockets.delete(store);
    };
    for (const socket of [client, store]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    client.on('data', (chunk: Buffer) => {
      if (unwanted !== null && chunk.includes(unwanted)) {
        unwanted = null;
        lost += 1;
        end();
        return;
      }
      if (wanted?.every((text) => chunk.includes(text))) {
        wanted = null;
        isLosing = true;
      }
      store.write(chunk);
    });
    store.on('data', (chunk: Buffer) => {
      if (isSilent) {
        held.push(() => client.write(chunk));
        return;
      }
      if (!isLosing) {
        client.write(chunk);
        return;
      }
      lost += 1;
      end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(ownPort, '127.0.0.1', resolve);
  });
  const { port: own } = server.address() as AddressInfo;
  return {
    uri: uri.replace(`${hostname}:${port}`, `127.0.0.1:${own}`),
    loseReplyTo: (...texts) => {
      wanted = texts;
    },
    refuse: (text) => {
      unwanted = text;
    },
    hang: () => {
      isSilent = true;
    },
    resume: () => {
      isSilent = false;
      for (const pass of held) pass();
      held = [];
    },
    lost: () => lost,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
