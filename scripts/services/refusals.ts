/** Remembers which download hosts could not be reached, so that a closed network costs its timeout once. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const REMEMBERED_MS = 60 * 60_000;
const MINUTE_MS = 60_000;

const memoryPath = (cacheDir: string): string => join(cacheDir, 'refused-downloads.json');

function readMemory(cacheDir: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(memoryPath(cacheDir), 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

function writeMemory(cacheDir: string, memory: Record<string, number>): void {
  mkdirSync(cacheDir, { recursive: true });
  writeFileSync(memoryPath(cacheDir), JSON.stringify(memory));
}

/** Throws when the host of this address refused us within the last hour. */
export function assertNotRefused(cacheDir: string, url: string): void {
  const { host } = new URL(url);
  const refusedAt = readMemory(cacheDir)[host];
  if (refusedAt === undefined || Date.now() - refusedAt > REMEMBERED_MS) return;
  const minutes = Math.round((Date.now() - refusedAt) / MINUTE_MS);
  throw new Error(`skipped, ${host} was out of reach ${minutes} min ago (asked again after an hour)`);
}

export function rememberRefusal(cacheDir: string, url: string): void {
  writeMemory(cacheDir, { ...readMemory(cacheDir), [new URL(url).host]: Date.now() });
}

/** A download that worked makes an earlier refusal void. */
export function forgetRefusal(cacheDir: string, url: string): void {
  const { [new URL(url).host]: refusedAt, ...others } = readMemory(cacheDir);
  if (refusedAt !== undefined) writeMemory(cacheDir, others);
}
