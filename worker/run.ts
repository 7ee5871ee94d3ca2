/** A worker: its own connection to the engine, the activities of this process and a graceful end. */
import { NativeConnection, Runtime, Worker, DefaultLogger } from '@temporalio/worker';
import { createActivities } from '../activities';
import type { Deps } from '../activities/deps';

const LEVELS = { TRACE: 'debug', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;

/** The engine library's own log lines go where ours go; its process signals are left to us. */
export function installRuntime(log: Deps['log']): void {
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      const { error, workflowId, activityType } = (meta ?? {}) as Record<string, unknown>;
      log[LEVELS[level]](message, {
        sdk: true,
        ...(error ? { error } : {}),
        ...(workflowId ? { workflow_id: workflowId } : {}),
        ...(activityType ? { activity: activityType } : {}),
      });
    }),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
    shutdownSignals: [],
  });
}

/** Connects to the engine as workers do. */
export const connect = ({ config }: Pick<Deps, 'config'>): Promise<NativeConnection> =>
  NativeConnection.connect({ address: config.temporal.address });

interface WorkerParts {
  connection: NativeConnection;
  /** A prebuilt workflow bundle. */
  bundlePath: string;
}

/** Creates the worker; it takes work once it is run. */
export function createWorker(deps: Deps, { connection, bundlePath }: WorkerParts): Promise<Worker> {
  const { temporal } = deps.config;
  return Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue: temporal.taskQueue,
    workflowBundle: { codePath: bundlePath },
    activities: createActivities(deps),
    maxConcurrentActivityTaskExecutions: temporal.activitySlots,
    maxConcurrentLocalActivityExecutions: 200,
    maxCachedWorkflows: temporal.cachedWorkflows,
    // Running effects get time to be recorded; what is cut off is tried again elsewhere.
    shutdownGraceTime: temporal.shutdownGraceSeconds * 1_000,
    shutdownForceTime: temporal.shutdownGraceSeconds * 1_000 + 10_000,
  });
}
