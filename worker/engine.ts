/** A worker's way to the engine: waits for it as long as it takes, and says what it waits for. */
import { TransportError, type NativeConnection, type Worker } from '@temporalio/worker';
import type { Deps } from '../activities/deps';
import { SEARCH_ATTRIBUTES } from '../src/contracts/messages';
import { connect, createWorker } from './run';

const CONNECT_RETRY_MS = 1_000;
const SAY_AGAIN_MS = 30_000;

interface RunningWorker {
  worker: Worker;
  connection: NativeConnection;
}

/** The namespace is there, and no execution could be started in it yet. */
class UnpreparedError extends Error {}

/** As the command line names the types. */
const TYPE_NAMES = { KEYWORD: 'Keyword', BOOL: 'Bool', INT: 'Int' } as const;

async function assertPrepared(connection: NativeConnection, namespace: string): Promise<void> {
  const listed = await connection.operatorService
    .listSearchAttributes({ namespace })
    // An engine that tells nobody may have them all; whatever else is wrong, the worker meets it next.
    .catch(() => null);
  const known = listed?.customAttributes;
  if (!known) return;
  const missing = Object.entries(SEARCH_ATTRIBUTES).filter(([name]) => !(name in known));
  if (missing.length === 0) return;
  const options = missing.map(([name, type]) => `--name ${name} --type ${TYPE_NAMES[type]}`).join(' ');
  throw new UnpreparedError(
    `TEMPORAL_NAMESPACE ${namespace} lacks search attributes; make them with: temporal operator search-attribute create --namespace ${namespace} ${options}`,
  );
}

async function startWorker(deps: Deps, bundlePath: string): Promise<RunningWorker> {
  const connection = await connect(deps);
  try {
    await assertPrepared(connection, deps.config.temporal.namespace);
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
