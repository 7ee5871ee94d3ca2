/** What every stage stands on: engine and store in a folder of their own, and a way to take everything down again. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeServiceData, startServices, type Services } from '../services';

const SECRET = 'benchmark-secret-benchmark-secret-00';

export interface Ground {
  /** Logs go to `logs` below it; all of it is removed in the end. */
  folder: string;
  services: Services;
  /** What every process of the product is told, whatever it is measured for. */
  env: Record<string, string>;
}

/** What has been started, to be taken down in the opposite order whatever happened on the way. */
function undoList() {
  const undo: (() => unknown)[] = [];
  return {
    add: (step: () => unknown) => void undo.push(step),
    async all() {
      for (const step of undo.splice(0).toReversed()) await step();
    },
  };
}

export type Undo = ReturnType<typeof undoList>;

/** Builds a stage; `stop`, or a failure on the way, takes down what there is. */
export async function staged<Built extends object>(
  build: (undo: Undo) => Promise<Built>,
): Promise<Built & { stop(): Promise<void> }> {
  const undo = undoList();
  try {
    return { ...(await build(undo)), stop: () => undo.all() };
  } catch (error) {
    await undo.all();
    throw error;
  }
}

/** Starts engine and store, durable as in production, in a new folder whose name begins with `prefix`. */
export async function startGround(prefix: string, log: (line: string) => void, undo: Undo): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  undo.add(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'logs'));
  const dataDir = join(folder, 'data');
  undo.add(() => removeServiceData(dataDir));
  const services = await startServices({ dataDir, log, durable: true });
  undo.add(() => services.stop());
  const env = {
    SIGNALBOX_MODE: 'development',
    HOST: '127.0.0.1',
    TEMPORAL_ADDRESS: services.temporalAddress,
    KEY_PEPPER: SECRET,
    SESSION_SECRET: SECRET,
    TOKEN_SECRET: SECRET,
    SHUTDOWN_GRACE_SECONDS: '2',
    // Everything comes from this machine.
    CONNECTIONS_PER_ADDRESS: '0',
  };
  return { folder, services, env };
}

/** Arguments of Node that profile a process, when profiles are asked for. */
export const profiling = (folder: string | null): string[] =>
  folder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`];
