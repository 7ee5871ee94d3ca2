/** The worker process: context → worker → run → drain. */
import { TransportError, type NativeConnection, type Worker } from '@temporalio/worker';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { createBackground } from '../activities/background';
import { createExecutionCache } from '../activities/execution-cache';
import type { Deps } from '../activities/deps';
import { ensureSchedules } from '../src/engine/schedules';
import { createContext, listen, onStopSignal, type ProcessContext } from '../src/process';
import { TIMED_PRODUCTS } from '../src/events/timed';
import { createProviders } from '../src/providers/providers';
import { cachedBundle } from './bundle';
import { connect, createWorker, installRuntime } from './run';

const CONNECT_RETRY_MS = 1_000;

const SAY_AGAIN_MS = 30_000;

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

/** Why it is worth waiting, or null when no waiting mends it: a mistake in the settings or in the build. */
function waitedFor(error: unknown, { address, namespace }: Deps['config']['temporal']): string | null {
  const message = error instanceof Error ? error.message : String(error);
  if (/namespace .*not found/i.test(message))
    return `there is no TEMPORAL_NAMESPACE ${namespace}; make it with: temporal operator namespace create --namespace ${namespace}`;
  return error instanceof TransportError ? `TEMPORAL_ADDRESS ${address}: ${message}` : null;
}

/** Waits for the engine as long as it takes; a worker that starts first is not a failed worker. */
async function connectPatiently(deps: Deps, bundlePath: string): Promise<RunningWorker> {
  let said = { reason: '', at: -Infinity };
  for (;;) {
    try {
      return await startWorker(deps, bundlePath);
    } catch (error) {
      const reason = waitedFor(error, deps.config.temporal);
      if (reason === null) throw error;
      if (reason !== said.reason || performance.now() - said.at > SAY_AGAIN_MS) {
        deps.log.warn('waiting for the engine', { error: reason });
        said = { reason, at: performance.now() };
      }
      await new Promise((resolve) => setTimeout(resolve, CONNECT_RETRY_MS));
    }
  }
}

/** `/healthz` answers while the process lives, `/readyz` while its worker polls. */
function createHealth(isReady: () => boolean): Server {
  return createServer(({ url = '' }, response) => {
    const path = url.split('?', 1)[0];
    const isKnown = path === '/healthz' || path === '/readyz';
    const ready = path === '/healthz' || isReady();
    const status = ready ? 200 : 503;
    response
      .writeHead(isKnown ? status : 404, { 'content-type': 'application/json' })
      .end(JSON.stringify({ status: isKnown ? (ready ? 'ok' : 'unavailable') : 'not found' }));
  });
}

/** The bundle that the settings name, or one made from the sources. */
async function bundleOf({ workflowBundle: named }: Deps['config']['temporal']): Promise<string> {
  if (!named) return cachedBundle(join(process.cwd(), '.signalbox', 'bundles'));
  if (existsSync(named)) return named;
  throw new Error(`WORKFLOW_BUNDLE names ${named}, which does not exist; leave it empty to build one at start`);
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
  const bundle = await bundleOf(context.config.temporal);
  const { worker, connection } = await connectPatiently(deps, bundle);
  const health = createHealth(() => worker.getState() === 'RUNNING');
  const { host, workerPort: port } = context.config;
  await listen(health, { host, port, setting: 'WORKER_PORT' });
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
