/** What every way of having a service needs to know, built once per `startServices`. */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { ensureFolder } from './folders';
import { Progress } from './progress';
import type { Environment, Log, ServiceOptions } from './types';

export interface Setup {
  cacheDir: string;
  dataDir: string;
  env: Environment;
  log: Log;
  progress: Progress;
  isDurable: boolean;
  ports: NonNullable<ServiceOptions['ports']>;
}

/** Where downloaded and built parts are kept between runs. */
export function cacheFolder(env: Environment): string {
  if (env['SIGNALBOX_CACHE']) return resolve(env['SIGNALBOX_CACHE']);
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'signalbox');
}

// What the parts and one more data folder take, and what is left over while they are made.
const CACHE_MEGABYTES = 300;

/** Called where something is to be put into the cache: what is there can be used all the same. */
export const ensureCache = ({ cacheDir }: Pick<Setup, 'cacheDir'>): void =>
  ensureFolder(cacheDir, {
    advice: 'Set SIGNALBOX_CACHE to a folder that can be written to.',
    freeMegabytes: CACHE_MEGABYTES,
  });

export function createSetup(options: ServiceOptions): Setup {
  const env = options.env ?? process.env;
  return {
    cacheDir: resolve(options.cacheDir ?? cacheFolder(env)),
    dataDir: resolve(options.dataDir),
    env,
    log: options.log,
    progress: new Progress(options.log),
    isDurable: options.durable ?? true,
    ports: options.ports ?? {},
  };
}
