/** Turns a list of processes into one service that can be started, stopped, killed and started again. */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { onExit } from './exit-hooks';
import { isAlive, signal, waitFor, waitUntilDead } from './processes';
import type { Progress } from './progress';
import { forgetProcess, recordProcess } from './records';
import type { Command } from './run';
import type { Service, Source } from './types';

const READY_MS_MAX = 90_000;
const STOP_MS_MAX = 15_000;
const KILL_MS_MAX = 10_000;
const LOG_BYTES_MAX = 5 * 1024 * 1024;
const LOG_TAIL_LINES = 12;

/** One process of a service, and how to tell that it is ready. */
export interface Unit {
  readonly name: string;
  readonly command: Command;
  /** Part of the command line that only this process has. */
  readonly marker: string;
  readonly stopSignal: 'SIGINT' | 'SIGTERM';
  /** Where its data are: named when it does not start. */
  readonly folder: string;
  /** Called before each start. */
  prepare?(): Promise<void>;
  isReady(pid: number): Promise<boolean>;
  /** Processes the unit started that live in groups of their own. */
  offspring?(): number[];
}

export interface ServiceSpec {
  name: string;
  source: Source;
  dataDir: string;
  /** Started in this order, stopped in the opposite one. */
  units: readonly Unit[];
  progress: Progress;
}

interface Running {
  unit: Unit;
  pid: number;
  release: () => void;
}

export const logPath = (dataDir: string, unit: string): string => join(dataDir, 'logs', `${unit}.log`);

function openLog(dataDir: string, unit: string): number {
  const path = logPath(dataDir, unit);
  mkdirSync(join(dataDir, 'logs'), { recursive: true });
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > LOG_BYTES_MAX) renameSync(path, `${path}.1`);
  return openSync(path, 'a');
}

function logTail(dataDir: string, unit: string): string {
  return readFileSync(logPath(dataDir, unit), 'utf8').trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
}

function launch(unit: Unit, dataDir: string): Running {
  const { file, args, env, cwd } = unit.command;
  const output = openLog(dataDir, unit.name);
  const child = spawn(file, args, { env, cwd, detached: true, stdio: ['ignore', output, output] });
  closeSync(output);
  const { pid } = child;
  child.on('error', () => {}); // A failed spawn shows as a missing pid below.
  if (!pid) throw new Error(`cannot run ${file}`);
  child.unref();
  recordProcess(dataDir, { name: unit.name, pid, marker: unit.marker, stopSignal: unit.stopSignal });
  return { unit, pid, release: onExit(() => signal(pid, 'SIGKILL')) };
}

async function startUnit(unit: Unit, spec: ServiceSpec): Promise<Running> {
  await unit.prepare?.();
  const running = launch(unit, spec.dataDir);
  const settled = await waitFor(async () => !isAlive(running.pid) || (await unit.isReady(running.pid)), {
    timeoutMs: READY_MS_MAX,
  });
  if (settled && isAlive(running.pid)) return running;
  await killUnits([running], spec.dataDir);
  const why = settled ? 'ended at once' : `was not ready after ${READY_MS_MAX / 1_000} s`;
  throw new Error(
    `${spec.name}: ${unit.name} ${why}; its last lines:\n${logTail(spec.dataDir, unit.name)}\n` +
      `All lines are in ${logPath(spec.dataDir, unit.name)}, its data in ${unit.folder}. Where these are damaged, ` +
      'bring them back, or begin anew with `npm run dev -- --reset`.',
  );
}

const allPids = (running: readonly Running[]): number[] =>
  [...new Set(running.flatMap(({ pid, unit }) => [pid, ...(unit.offspring?.() ?? [])]))].filter(isAlive);

async function killUnits(running: readonly Running[], dataDir: string): Promise<void> {
  // A process on its way out has no working directory any more, so one that was seen is followed by its pid.
  const seen = new Set<number>();
  const left = (): number[] => {
    for (const pid of allPids(running)) seen.add(pid);
    return [...seen].filter(isAlive);
  };
  const killAll = () => {
    const alive = left();
    for (const pid of alive) signal(pid, 'SIGKILL');
    return alive.length === 0;
  };
  if (!(await waitFor(killAll, { timeoutMs: KILL_MS_MAX }))) {
    throw new Error(`processes ${left().join(', ')} survived SIGKILL`);
  }
  for (const { unit, release } of running) {
    release();
    forgetProcess(dataDir, unit.name);
  }
}

async function stopUnits(running: readonly Running[], dataDir: string): Promise<void> {
  for (const { pid, unit } of running.toReversed()) {
    if (isAlive(pid)) signal(pid, unit.stopSignal);
    await waitUntilDead([pid], STOP_MS_MAX);
  }
  await killUnits(running, dataDir);
}

/** The service, not started yet. */
export function createService(spec: ServiceSpec): Service {
  let running: Running[] = [];
  const take = (): Running[] => {
    const taken = running;
    running = [];
    return taken;
  };
  return {
    name: spec.name,
    source: spec.source,
    pids: () => allPids(running),
    async start() {
      if (running.length > 0 && running.every(({ pid }) => isAlive(pid))) return;
      await killUnits(take(), spec.dataDir);
      await spec.progress
        .track(`${spec.name}: starting`, async (report) => {
          for (const unit of spec.units) {
            report(unit.name);
            running.push(await startUnit(unit, spec));
          }
        })
        .catch(async (cause: unknown) => {
          await killUnits(take(), spec.dataDir);
          throw cause;
        });
    },
    stop: () => stopUnits(take(), spec.dataDir),
    kill: () => killUnits(take(), spec.dataDir),
  };
}

/** A service somebody else runs: nothing to start, and nothing we may end. */
export function externalService(name: string): Service {
  return {
    name,
    source: 'environment',
    pids: () => [],
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    kill: () => Promise.reject(new Error(`the ${name} was set by the environment; it is not ours to kill`)),
  };
}
