/** What processes and the machine spent, read from /proc. Elsewhere than on Linux every figure is 0. */
import { readdirSync, readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';

/** The kernel tells times in hundredths of a second to programs, whatever it counts in itself. */
const TICK_MS = 10;
const USER_TIME = 11;
const SYSTEM_TIME = 12;
const IDLE_COLUMNS = [3, 4];
const GUEST_COLUMNS = [8, 9];
const BYTES_PER_GIB = 2 ** 30;

function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return ''; // The process ended, or there is no /proc.
  }
}

/** User and system time of a process with all its threads. */
function cpuMsOf(pid: number): number {
  const text = readProc(`${pid}/stat`);
  // The command name may hold spaces and brackets, so counting starts behind its closing one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER_TIME] ?? 0) + Number(fields[SYSTEM_TIME] ?? 0)) * TICK_MS;
}

const NS_PER_US = 1_000;

/** Microseconds that the living threads of a process were on a processor: fine enough for a few hundred requests. */
export function cpuUsOf(pid: number): number {
  let threads: string[] = [];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    // As above.
  }
  const spentNs = threads.map((thread) => Number(readProc(`${pid}/task/${thread}/schedstat`).split(' ', 1)[0] ?? 0));
  return spentNs.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / NS_PER_US;
}

/** Time all processors together were not idle. */
function machineBusyMs(): number {
  const [, ...columns] = (readProc('stat').split('\n', 1)[0] ?? '').trim().split(/\s+/).map(Number);
  const skipped = new Set([...IDLE_COLUMNS, ...GUEST_COLUMNS]);
  return columns.reduce((sum, ticks, index) => (skipped.has(index) ? sum : sum + ticks), 0) * TICK_MS;
}

/** Processes by what they are; asked again at the end, because a database has new ones by then. */
export type Groups = Record<string, () => readonly number[]>;

export interface Spent {
  seconds: number;
  /** CPU milliseconds by group. */
  cpuMs: Record<string, number>;
  /** Share of the whole machine that processes outside all groups took. */
  foreignShare: number;
}

/** Starts counting; the answer stops it. */
export function startMeter(groups: Groups): () => Spent {
  const pids = Object.values(groups).flatMap((list) => list());
  const before = new Map(pids.map((pid) => [pid, cpuMsOf(pid)]));
  const busyBefore = machineBusyMs();
  const startedAt = performance.now();
  return () => {
    const elapsedMs = performance.now() - startedAt;
    const cpuMs = Object.fromEntries(
      Object.entries(groups).map(([name, list]) => [
        name,
        list().reduce((sum, pid) => sum + Math.max(0, cpuMsOf(pid) - (before.get(pid) ?? 0)), 0),
      ]),
    );
    const known = Object.values(cpuMs).reduce((sum, milliseconds) => sum + milliseconds, 0);
    const foreignMs = Math.max(0, machineBusyMs() - busyBefore - known);
    return { seconds: elapsedMs / 1_000, cpuMs, foreignShare: foreignMs / (elapsedMs * cpus().length) };
  };
}

/** Load of the last minute. */
export const load = (): number => loadavg()[0] ?? 0;

/** The machine, as a reader of the figures needs to know it. */
export const machineFacts = (): Record<string, string | number> => ({
  processor: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memory_gib: Math.round(totalmem() / BYTES_PER_GIB),
  kernel: release(),
});
