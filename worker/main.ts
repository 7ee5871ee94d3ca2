/** The worker process: context → worker → run → drain. */
import type { NativeConnection, Worker } from '@temporalio/worker';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { createBackground } from '../activities/background';
import { createExecutionCache } from '../activities/execution-cache';
import type { Deps } from '../activities/deps';
import { ensureSchedules } from '../src/engine/schedules';
import { createContext, onStopSignal, type ProcessContext } from '../src/process';
import { TIMED_PRODUCTS } from '../src/events/timed';
import { createProviders } from '../src/providers/providers';
import { cachedBundle } from './bundle';
import { connect, createWorker, installRuntime } from './run';

const CONNECT_RETRY_MS = 1_000;

interface RunningWorker {
  worker: Worker;
  connection: NativeConnection;
}

async function startWorker(deps: Deps, bundlePath: string): Promise<RunningWorker> {
  const connection = await connect(deps);
  try {
    return { worker: await createWorker(deps, { connection, bundlePath }), connection };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Waits for the engine as long as it takes; a worker that starts first is not a failed worker. */
async function connectPatiently(deps: Deps, bundlePath: string): Promise<RunningWorker> {
  for (;;) {
    try {
      return await startWorker(deps, bundlePath);
    } catch (error) {
      deps.log.warn('waiting for the engine', { error: error instanceof Error ? error.message : String(error) });
      await new Promise((resolve) => setTimeout(resolve, CONNECT_RETRY_MS));
    }
  }
}

/** `/healthz` answers while the process lives, `/readyz` while its worker polls. */
function serveHealth(port: number, host: string, isReady: () => boolean): Server {
  const server = createServer((request, response) => {
    const ready = request.url === '/healthz' || isReady();
    response
      .writeHead(ready ? 200 : 503, { 'content-type': 'application/json' })
      .end(JSON.stringify({ status: ready ? 'ok' : 'unavailable' }));
  });
  return server.listen(port, host);
}

async function main(): Promise<void> {
  const context: ProcessContext = createContext();
  installRuntime(context.log);
  const providers = createProviders(context.config, context.mail);
  const deps: Deps = {
    ...context,
    providers,
    cache: createExecutionCache(context.store),
    background: createBackground(context),
  };
  const bundle =
    context.config.temporal.workflowBundle || (await cachedBundle(join(process.cwd(), '.signalbox', 'bundles')));
  const { worker, connection } = await connectPatiently(deps, bundle);
  const health = serveHealth(context.config.workerPort, context.config.host, () => worker.getState() === 'RUNNING');
  onStopSignal(async () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await finished;
    await Promise.all([deps.tallies.close(), deps.background.idle()]);
    health.close();
    await providers.close();
    await context.dispatch.idle();
    await context.sender.close();
    await context.engine.close();
    await context.store.close();
    await connection.close();
  }, context.config.temporal.shutdownGraceSeconds + 15);
  const finished = worker.run();
  finished.catch((error: unknown) => {
    context.log.error('worker failed', { error });
    process.exit(1);
  });
  context.log.info('worker ready', { task_queue: context.config.temporal.taskQueue, pid: process.pid });
  await ensureSchedules(context.engine, TIMED_PRODUCTS).catch((error: unknown) =>
    context.log.warn('schedules not ensured', { error }),
  );
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
