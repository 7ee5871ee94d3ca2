/** Times the creation of a worker with a prebuilt bundle. Runs in a process of its own, which is then ended. */
import { createBackground } from '../../activities/background';
import { createExecutionCache } from '../../activities/execution-cache';
import { createContext } from '../../src/process';
import { createProviders } from '../../src/providers/providers';
import { connect, createWorker, installRuntime } from '../../worker/run';
import { WORKER_CREATED } from './messages';

async function main(): Promise<void> {
  const context = createContext();
  installRuntime(context.log, () => context.engine.isAnswering());
  const providers = createProviders(context.config);
  const deps = {
    ...context,
    providers,
    cache: createExecutionCache(context.store),
    background: createBackground(context),
  };
  const connection = await connect(deps);
  const startedAt = performance.now();
  await createWorker(deps, { connection, bundlePath: context.config.temporal.workflowBundle });
  process.stdout.write(`${WORKER_CREATED}${performance.now() - startedAt}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
