/** A worker's way to the engine: waits for it as long as it takes, and says what it waits for. */
import { TransportError, type NativeConnection, type Worker } from '@temporalio/worker';
import type { Deps } from '../activities/deps';
import { assertPrepared, UnpreparedError } from '../src/engine/prepared';
import { connect, createWorker } from './run';

const CONNECT_RETRY_MS = 1_000;
const SAY_AGAIN_MS = 30_000;

interface RunningWorker {
  worker: Worker;
  connection: NativeConnection;
}

async function startWorker(deps: Deps, bundlePath: string): Promise<RunningWorker> {
  const connection = await connect(deps);
  try {
    await assertPrepared(connection.operatorService, deps.config.temporal.namespace);
    return { worker: await createWorker(deps, { connection, bundlePath }), connection };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Why it is worth waiting, or null when no waiting mends it: a mistake in the settings or in the build. */
function waitedFor(error: unknown, { address, namespace }: Deps['config']['temporal']): string | null {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UnpreparedError) return message;
  if (/namespace .*not found/i.test(message))
    return `there is no TEMPORAL_NAMESPACE ${namespace}; make it with: temporal operator namespace create --namespace ${namespace}`;
  return error instanceof TransportError ? `TEMPORAL_ADDRESS ${address}: ${message}` : null;
}

/** Waits for the engine as long as it takes; a worker that starts first is not a failed worker. */
export async function connectPatiently(deps: Deps, bundlePath: string): Promise<RunningWorker> {
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
