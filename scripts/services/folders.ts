/** Folders that the system keeps its things in: made, or refused in one sentence that says what to change. */
import { accessSync, constants, mkdirSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { StopHere } from './ways';

const MEGABYTE = 1024 * 1024;

const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
};

/** One level after the other: where nothing can be made, as below /proc, a recursive `mkdir` never ends. */
function make(path: string): void {
  if (isFolder(path)) return;
  if (dirname(path) !== path) make(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another start may have made it in between.
    if (!isFolder(path)) throw error;
  }
}

/** What is free on the disk that holds a folder. */
export function freeMegabytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return Math.floor((bavail * bsize) / MEGABYTE);
}

export interface FolderNeeds {
  /** What to do about a folder that is of no use. */
  advice: string;
  freeMegabytes: number;
}

/** Makes a folder and all above it. No other way helps where that fails, so it ends the search for one. */
export function ensureFolder(path: string, { advice, freeMegabytes: needed }: FolderNeeds): void {
  try {
    make(path);
    accessSync(path, constants.W_OK);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StopHere(`${path} cannot be written to (${why}). ${advice}`, { cause });
  }
  const free = freeMegabytes(path);
  if (free < needed)
    throw new StopHere(`${path} has ${free} MB free, ${needed} MB are needed: make room there. ${advice}`);
}
