/** What both processes share: building the context and stopping once. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readConfig, type Config } from './config';
import { systemClock } from './clock';
import type { Context } from './context';
import { createSealer } from './domain/sealed-token';
import { createSecretBox } from './domain/secret-box';
import { connectEngine } from './engine/connect';
import { createOutbox } from './events/outbox';
import { createRunTallies } from './events/run-tallies';
import { createDispatcher } from './events/webhooks/dispatch';
import { createLog } from './log';
import { createWebhookSender } from './providers/webhooks';
import { createMail } from './providers/mail';
import { openStore, type OpenStore } from './store/connect';

export interface ProcessContext extends Context {
  store: OpenStore;
}

/** Builds a process's context from the environment. Nothing is awaited: what is away is reported when it is used. */
export function createContext(config: Config = readConfig()): ProcessContext {
  const log = createLog(config.logLevel);
  const store = openStore(config.mongodbUri, (error) => log.warn('store not reached, see MONGODB_URI', { error }));
  const context: ProcessContext = {
    config,
    store,
    engine: connectEngine(config.temporal, log),
    clock: systemClock,
    log,
    sealer: createSealer(config.secrets.token),
    secrets: createSecretBox(config.secrets.keyPepper),
    mail: createMail(config.mail),
    outbox: createOutbox(() => context),
    dispatch: createDispatcher(() => context),
    sender: createWebhookSender(config.webhooks),
    tallies: createRunTallies({ store, log }),
  };
  return context;
}

/** Runs `stop` on the first SIGTERM or SIGINT; a second one, or a stop that takes too long, ends the process at once. */
export function onStopSignal(stop: () => Promise<void>, limitSeconds: number): void {
  let stopping = false;
  const handle = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    setTimeout(() => process.exit(1), limitSeconds * 1_000).unref();
    void stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}

/** Listens, or says which settings to change. */
export const listen = (
  server: Server,
  { host, port, setting }: { host: string; port: number; setting: 'PORT' | 'WORKER_PORT' },
): Promise<AddressInfo> =>
  new Promise((resolve, reject) => {
    const refuse = (cause: NodeJS.ErrnoException): void => {
      const what =
        cause.code === 'EADDRINUSE'
          ? `${setting} ${port} is taken on ${host}: stop who listens there, or choose another ${setting}`
          : `cannot listen on HOST ${host}, ${setting} ${port}: ${cause.message}`;
      reject(new Error(what, { cause }));
    };
    server.once('error', refuse);
    server.listen(port, host, () => {
      server.off('error', refuse);
      resolve(server.address() as AddressInfo);
    });
  });
