/** Facts about running processes, read from /proc where there is one and from `ps` elsewhere. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

const HAS_PROC = existsSync('/proc/self/stat');

/** A pid alone can be recycled; together with its start time it names one process for ever. */
export interface ProcessIdentity {
  pid: number;
  started: string;
}

interface Stat {
  state: string;
  started: string;
}

function quietly<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined; // The process ended between two reads: the same as not being there.
  }
}

function ps(pid: number, column: string): string {
  return execFileSync('ps', ['-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8' }).trim();
}

function stat(pid: number): Stat | undefined {
  if (!HAS_PROC) return quietly(() => ({ state: ps(pid, 'state'), started: ps(pid, 'lstart') }));
  const text = quietly(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (!text) return undefined;
  // The command name may hold spaces and brackets, so counting starts behind its closing one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', started: fields[19] ?? '' };
}

/** A killed process is called a zombie as soon as its first thread has ended, while the others may hold its sockets. */
const hasThreads = (pid: number): boolean =>
  HAS_PROC && (quietly(() => readdirSync(`/proc/${pid}/task`)) ?? []).length > 1;

/** True while the process can still do something or hold a port; a zombie nobody reaps counts as dead. */
export function isAlive(pid: number): boolean {
  const found = stat(pid);
  return found !== undefined && (!found.state.startsWith('Z') || hasThreads(pid));
}

export function identify(pid: number): ProcessIdentity {
  return { pid, started: stat(pid)?.started ?? '' };
}

/** True when exactly this process, not a later one with its pid, is alive. */
export function isSame(identity: ProcessIdentity): boolean {
  return isAlive(identity.pid) && stat(identity.pid)?.started === identity.started;
}

/** Arguments joined by spaces; empty when the process is gone. */
export function commandLine(pid: number): string {
  const read = () =>
    HAS_PROC ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') : ps(pid, 'command');
  return quietly(read)?.trim() ?? '';
}

/** Live processes whose working directory is `directory`: how PostgreSQL's backends are told apart. */
export function processesIn(directory: string): number[] {
  if (!HAS_PROC) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => quietly(() => readlinkSync(`/proc/${name}/cwd`)) === directory)
    .map(Number)
    .filter(isAlive);
}

/** Sends a signal to the process group when there is one, to the process otherwise; a dead one is ignored. */
export function signal(pid: number, name: NodeJS.Signals): void {
  if (quietly(() => process.kill(-pid, name)) === undefined) quietly(() => process.kill(pid, name));
}

/** Waits until every process is dead; false when some are not after `timeoutMs`. */
export async function waitUntilDead(pids: readonly number[], timeoutMs: number): Promise<boolean> {
  return waitFor(() => pids.every((pid) => !isAlive(pid)), { timeoutMs });
}

export interface WaitOptions {
  timeoutMs: number;
  intervalMs?: number;
}

/** Polls a condition; false when it did not hold within `timeoutMs`. */
export async function waitFor(condition: () => boolean | Promise<boolean>, options: WaitOptions): Promise<boolean> {
  const deadline = Date.now() + options.timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, options.intervalMs ?? 15));
  }
  return true;
}
