/** The build that `npm run dev` runs the product from: a loader that translates while it runs costs seconds at every start. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { addFiles } from '../worker/source-files';
import { compileCommand } from './compile';
import { run } from './services/run';

const PROJECT = 'tsconfig.dev.json';
/** What a build is made of. */
const SOURCES = ['src', 'activities', 'worker', 'workflows', 'scripts', 'tsconfig.json', PROJECT];

/** Where the build of the sources as they are now lies, whether it has been made or not. */
export function buildFolder(root: string): string {
  const hash = createHash('sha256');
  addFiles(hash, root, SOURCES);
  return join(root, '.signalbox', 'build', hash.digest('hex').slice(0, 16));
}

/** Makes a build that is not there yet, in place of those of other sources. */
export async function makeBuild(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  const parent = join(folder, '..');
  rmSync(parent, { recursive: true, force: true });
  mkdirSync(parent, { recursive: true });
  // Half a build must not be taken for a whole one.
  const draft = `${folder}.${process.pid}`;
  await run(compileCommand(draft, PROJECT));
  renameSync(draft, folder);
}
