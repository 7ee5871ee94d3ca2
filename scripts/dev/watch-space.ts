/** Says when a disk is full: what engine and store make of that, others tell by timeouts that do not name it. */
import { statSync } from 'node:fs';
import { freeMegabytes } from '../services/folders';
import type { Log } from '../services/types';

const CHECK_MS = 2_000;

function freeIn(folder: string): number {
  try {
    return freeMegabytes(folder);
  } catch {
    return Infinity; // Removed while the system runs: no matter of the disk.
  }
}

/** The first of the folders on each disk. One that is not there, as a cache that nothing was put into, fills none. */
function onePerDisk(folders: readonly string[]): string[] {
  const disks = folders.map((folder) => statSync(folder, { throwIfNoEntry: false })?.dev);
  return folders.filter((_, index) => disks[index] !== undefined && disks.indexOf(disks[index]) === index);
}

/** Watches the folders' disks until the returned function is called; says of each when it fills, and when no more. */
export function watchSpace(folders: readonly string[], megabytesMin: number, print: Log): () => void {
  const watched = onePerDisk(folders);
  const full = new Set<string>();
  const check = () => {
    for (const folder of watched) {
      const free = freeIn(folder);
      if (free < megabytesMin === full.has(folder)) continue;
      if (full.delete(folder)) print(`disk: ${folder} has room again, ${free} MB; what has waited goes on`);
      else {
        full.add(folder);
        print(`disk: ${folder} has ${free} MB left. Make room there: without it, engine and store stand still.`);
      }
    }
  };
  check();
  const timer = setInterval(check, CHECK_MS);
  return () => clearInterval(timer);
}
