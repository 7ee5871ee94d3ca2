/** A worker: its own connection to the engine, the activities of this process and a graceful end. */
import type { DataConverter } from '@temporalio/common';
import {
  NativeConnection,
  Runtime,
  DefaultLogger,
  type NativeConnectionOptions,
  type Worker,
} from '@temporalio/worker';
import { createActivities } from '../activities';
import type { Deps } from '../activities/deps';
import { payloadCodecsOf } from '../src/engine/payload-codec';
import { sdkLines } from './sdk-log';
import { workerWith } from './workflow-context';

/** The engine library's own log lines go where ours go; its process signals are left to us. */
export function installRuntime(log: Deps['log'], isEngineAnswering: () => Promise<boolean>): void {
  Runtime.install({
    logger: new DefaultLogger('INFO', sdkLines(log, isEngineAnswering)),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
    shutdownSignals: [],
  });
}

/** Messages are small and the engine is near: to pack and unpack each of them costs more than it saves. */
const CONNECTING = { grpcCompression: { codec: 'none' } } satisfies NativeConnectionOptions;

/** Connects to the engine as workers do. */
export const connect = ({ config }: Pick<Deps, 'config'>): Promise<NativeConnection> =>
  NativeConnection.connect({ address: config.temporal.address, ...CONNECTING });

/** How data crosses the engine. Texts of failures are made payloads only where there is a key to seal them with. */
function converterOf(keys: readonly string[]): DataConverter {
  const sealing = payloadCodecsOf(keys);
  return sealing.payloadCodecs ? { ...sealing, failureConverterPath: require.resolve('./sealed-failures') } : {};
}

interface WorkerParts {
  connection: NativeConnection;
  /** A prebuilt workflow bundle. */
  bundlePath: string;
}

/** Creates the worker; it takes work once it is run. */
export function createWorker(deps: Deps, { connection, bundlePath }: WorkerParts): Promise<Worker> {
  const { temporal } = deps.config;
  return workerWith(deps.config.logLevel).create({
    connection,
    namespace: temporal.namespace,
    taskQueue: temporal.taskQueue,
    workflowBundle: { codePath: bundlePath },
    activities: createActivities(deps),
    dataConverter: converterOf(temporal.payloadKeys),
    maxConcurrentActivityTaskExecutions: temporal.activitySlots,
    maxConcurrentLocalActivityExecutions: 200,
    maxCachedWorkflows: temporal.cachedWorkflows,
    // Running effects get time to be recorded; what is cut off is tried again elsewhere.
    shutdownGraceTime: temporal.shutdownGraceSeconds * 1_000,
    shutdownForceTime: temporal.shutdownGraceSeconds * 1_000 + 10_000,
  });
}
