/** T15: how long `npm run dev` takes to be ready, in a copy of the project, and how long a worker takes to be created. */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeServiceData } from '../services';
import { onExit } from '../services/exit-hooks';
import { signal, waitFor, waitUntilDead } from '../services/processes';
import { ROOT, startChild } from './child';
import { median, rounded, type Figure } from './figures';
import { WORKER_CREATED } from './messages';
import type { Stage } from './stage';

const NOT_COPIED: ReadonlySet<string> = new Set(['node_modules', '.signalbox', '.git', 'dist', 'coverage']);
const READY = 'Signalbox is ready after';
const READY_MS_MAX = 180_000;
const STOP_MS_MAX = 60_000;
/** The first start makes the data folder and the bundle; what follows is warm. */
const STARTS = 3;
const CREATIONS = 5;

/** The project as it is now, with the same packages, so that nothing of a running one is touched. */
function copyProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-bench-dev-'));
  for (const name of readdirSync(ROOT)) {
    if (NOT_COPIED.has(name)) continue;
    // With their times: an older lock file is how the start knows that the packages are current.
    cpSync(join(ROOT, name), join(folder, name), { recursive: true, preserveTimestamps: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Starts and stops the development system once; answers the seconds until it said that it is ready. */
async function startDev(folder: string): Promise<number> {
  const { MONGODB_URI: _store, TEMPORAL_ADDRESS: _engine, ...env } = process.env;
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['scripts/bootstrap.js', 'dev'], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? 0;
  const release = onExit(() => signal(pid, 'SIGTERM'));
  let output = '';
  let seconds = 0;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += String(chunk);
      if (seconds === 0 && output.includes(READY)) seconds = (performance.now() - startedAt) / 1_000;
    });
  }
  await waitFor(() => seconds > 0 || child.exitCode !== null, { timeoutMs: READY_MS_MAX });
  if (child.exitCode === null) child.kill('SIGINT');
  const isStopped = await waitUntilDead([pid], STOP_MS_MAX);
  release();
  if (seconds === 0 || !isStopped) throw new Error(`npm run dev did not start and stop as it should:\n${output}`);
  return seconds;
}

async function measureDev(): Promise<Figure> {
  const folder = copyProject();
  const seconds: number[] = [];
  try {
    for (let start = 0; start < STARTS; start += 1) seconds.push(rounded(await startDev(folder)));
  } finally {
    await removeServiceData(join(folder, '.signalbox/data'));
    rmSync(folder, { recursive: true, force: true });
  }
  const [first, ...warm] = seconds;
  return {
    budget: 'T15',
    name: 'npm run dev, warm, until ready',
    unit: 's',
    ours: median(warm),
    bare: null,
    floor: { bound: 'at most', value: 8, of: 'ours' },
    more: { first, warm },
  };
}

async function createOnce(stage: Stage, turn: number): Promise<number> {
  const child = await startChild({
    script: 'scripts/bench/worker-creation.ts',
    env: { ...stage.env, TEMPORAL_TASK_QUEUE: 'creation' },
    readyText: WORKER_CREATED,
    logFile: join(stage.folder, `logs/creation-${turn}.log`),
  });
  await child.stop();
  return Number(child.readyLine.slice(WORKER_CREATED.length));
}

async function measureCreation(stage: Stage): Promise<Figure> {
  const milliseconds: number[] = [];
  for (let turn = 0; turn < CREATIONS; turn += 1) milliseconds.push(rounded(await createOnce(stage, turn)));
  return {
    budget: 'T15',
    name: 'creation of a worker with a prebuilt bundle',
    unit: 'ms',
    ours: median(milliseconds),
    bare: null,
    floor: { bound: 'at most', value: 400, of: 'ours' },
    more: { all: milliseconds },
  };
}

/** Measures both; the stage lends its engine to the workers. */
export const measureStarts = async (stage: Stage): Promise<Figure[]> => [
  await measureCreation(stage),
  await measureDev(),
];
