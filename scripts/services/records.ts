/** Which processes run on a data folder, written down so that a later start can end what a crash left behind. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, identify, isSame, type ProcessIdentity, signal, waitUntilDead } from './processes';
import type { Log } from './types';

const LEFTOVER_STOP_MS = 5_000;

interface ProcessRecord {
  process: ProcessIdentity;
  /** The process that started it and is answerable for it. */
  owner: ProcessIdentity;
  /** Part of its command line that no foreign process has. */
  marker: string;
  stopSignal: NodeJS.Signals;
}

export interface RecordedProcess {
  name: string;
  pid: number;
  marker: string;
  stopSignal: NodeJS.Signals;
}

const folder = (dataDir: string): string => join(dataDir, 'processes');

export function recordProcess(dataDir: string, started: RecordedProcess): void {
  mkdirSync(folder(dataDir), { recursive: true });
  const record: ProcessRecord = {
    process: identify(started.pid),
    owner: identify(process.pid),
    marker: started.marker,
    stopSignal: started.stopSignal,
  };
  writeFileSync(join(folder(dataDir), `${started.name}.json`), JSON.stringify(record));
}

export function forgetProcess(dataDir: string, name: string): void {
  rmSync(join(folder(dataDir), `${name}.json`), { force: true });
}

function readRecord(path: string): ProcessRecord | undefined {
  try {
    const { process, owner, marker, stopSignal } = JSON.parse(readFileSync(path, 'utf8')) as ProcessRecord;
    // Without a marker every command line would be ours.
    return process?.pid && owner?.pid && marker ? { process, owner, marker, stopSignal } : undefined;
  } catch {
    return undefined; // Cut off by the crash that made it useless.
  }
}

function readNames(dataDir: string): string[] {
  try {
    return readdirSync(folder(dataDir)).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}

/** True when processes are written down there and those who started them are all gone: nobody comes back to it. */
export function isAbandoned(dataDir: string): boolean {
  const records = readNames(dataDir).map((name) => readRecord(join(folder(dataDir), name)));
  return records.length > 0 && records.every((record) => record !== undefined && !isSame(record.owner));
}

/** Ends processes whose owner is gone. Refuses when the owner still lives: the folder is in use. */
export async function endLeftovers(dataDir: string, log: Log): Promise<void> {
  for (const file of readNames(dataDir)) {
    const path = join(folder(dataDir), file);
    const record = readRecord(path);
    if (record && isOurs(record)) {
      if (isSame(record.owner)) throw new Error(`${dataDir} is in use by process ${record.owner.pid}; stop it first`);
      const { pid } = record.process;
      log(`ending ${file.replace('.json', '')} (process ${pid}), left over from an earlier start`);
      signal(pid, record.stopSignal);
      if (!(await waitUntilDead([pid], LEFTOVER_STOP_MS))) {
        signal(pid, 'SIGKILL');
        await waitUntilDead([pid], LEFTOVER_STOP_MS);
      }
    }
    rmSync(path, { force: true });
  }
}

function isOurs(record: ProcessRecord): boolean {
  return isSame(record.process) && commandLine(record.process.pid).includes(record.marker);
}
