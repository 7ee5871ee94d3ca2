/** The API process: context → indexes → app → listen → drain. */
import { createServer } from 'node:http';
import { startRelay } from './events/relay';
import { createGuard } from './http/admission';
import { createApp } from './http/app';
import { clientErrorListener, rawAnswers } from './http/client-errors';
import { limitConnections } from './http/connections';
import { drain } from './http/drain';
import { createContext, listen, onStopSignal, type ProcessContext } from './process';

const STOP_LIMIT_SECONDS = 20;
/** Requests under way may end in this time; what is slower is cut off, so that the rest still ends in good order. */
const DRAIN_MS = 8_000;
/**
 * Longer than the 60 s for which nginx, AWS and others keep their end. Whoever closes first may close over a request that
 * is on its way, and its sender could not tell whether it arrived; so that is left to them.
 */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Node looks for connections beyond these limits every 30 s unless told otherwise. */
const OVERDUE_CHECK_MS = 1_000;
const HEADER_BYTES_MAX = 16 * 1024;
const INDEX_RETRY_MS = 1_000;

/** Indexes are made as soon as the store is there; until then `/readyz` says that it is not. */
async function ensureIndexes(context: ProcessContext): Promise<void> {
  for (;;) {
    try {
      await context.store.ensureIndexes();
      return;
    } catch (error) {
      context.log.warn('waiting for the store', { error: error instanceof Error ? error.message : String(error) });
      await new Promise((resolve) => setTimeout(resolve, INDEX_RETRY_MS));
    }
  }
}

async function main(): Promise<void> {
  const context = createContext();
  let indexed = false;
  const guard = createGuard(context);
  const app = createApp(context, guard, {
    store: async () => indexed && (await context.store.isReady()),
    engine: () => context.engine.isAnswering(),
  });
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: OVERDUE_CHECK_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    app,
  );
  const answer = rawAnswers(guard, context.config);
  server.on('clientError', clientErrorListener(answer));
  const trusts = app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  const isProxy = (address: string): boolean => trusts(address, 0);
  limitConnections(server, { max: context.config.connectionsPerAddress, isProxy, answer });
  const address = await listen(server, { ...context.config, setting: 'PORT' });
  let relay: ReturnType<typeof startRelay> | null = null;
  onStopSignal(async () => {
    await drain(server, DRAIN_MS);
    await relay?.stop();
    await context.outbox.idle();
    await context.dispatch.idle();
    await context.outbox.idle();
    await context.tallies.close();
    await context.sender.close();
    await guard.close();
    context.mail.close();
    await context.engine.close();
    await context.store.close();
  }, STOP_LIMIT_SECONDS);
  // Connects while the indexes are made; a failure is what /readyz reports.
  void context.engine.isReachable();
  await ensureIndexes(context);
  indexed = true;
  relay = startRelay(context);
  context.log.info('api ready', { port: address.port, pid: process.pid });
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
