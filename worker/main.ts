/** The worker process: context → health → worker → run → drain. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createBackground } from '../activities/background';
import { createExecutionCache } from '../activities/execution-cache';
import type { Deps } from '../activities/deps';
import { keepSchedules } from '../src/engine/schedules';
import { createContext, listen, onStopSignal, type ProcessContext } from '../src/process';
import { TIMED_PRODUCTS } from '../src/events/timed';
import { createProviders } from '../src/providers/providers';
import { cachedBundle } from './bundle';
import { connectPatiently } from './engine';
import { createHealth } from './health';
import { installRuntime } from './run';

/** The bundle that the settings name, or one made from the sources. */
async function bundleOf({ workflowBundle: named }: Deps['config']['temporal']): Promise<string> {
  if (!named) return cachedBundle(join(process.cwd(), '.signalbox', 'bundles'));
  if (statSync(named, { throwIfNoEntry: false })?.isFile()) return named;
  throw new Error(`WORKFLOW_BUNDLE names ${named}, which is no file; leave it empty to build one at start`);
}

type Connected = Awaited<ReturnType<typeof connectPatiently>>;
type Running = Connected & { finished: Promise<void>; schedules: ReturnType<typeof keepSchedules> };

async function main(): Promise<void> {
  const context: ProcessContext = createContext();
  installRuntime(context.log, () => context.engine.isAnswering());
  const providers = createProviders(context.config, context.mail);
  const deps: Deps = {
    ...context,
    providers,
    cache: createExecutionCache(context.store),
    background: createBackground(context),
  };
  let running: Running | null = null;
  const { host, workerPort: port, temporal } = context.config;
  // Before the engine is there: whoever looks after the process must not take one that waits for one that hangs.
  const health = createHealth({
    isPolling: () => running?.worker.getState() === 'RUNNING',
    isEngineAnswering: () => context.engine.isAnswering(),
  });
  await listen(health, { host, port, setting: 'WORKER_PORT' });
  onStopSignal(async () => {
    // One that has not begun has nothing to bring to its end.
    if (running === null) return;
    const { worker, connection, finished, schedules } = running;
    // A pass that waits for the engine ends with the connection to it.
    void schedules.stop();
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
  }, temporal.shutdownGraceSeconds + 15);
  const connected = await connectPatiently(deps, await bundleOf(temporal));
  const finished = connected.worker.run();
  const schedules = keepSchedules(context.engine, { timedProducts: TIMED_PRODUCTS, log: context.log });
  running = { ...connected, finished, schedules };
  finished.catch((error: unknown) => {
    context.log.error('worker failed', { error });
    process.exit(1);
  });
  context.log.info('worker ready', { task_queue: temporal.taskQueue, pid: process.pid });
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
