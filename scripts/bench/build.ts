/** Compiles what is measured, as the image does: nobody deploys through a loader that translates while it runs. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../..');
const FOLDER = join(ROOT, '.signalbox/bench/build');

/** Builds anew; stale files of an earlier build could hide that one is missing. */
export function buildMeasured(): void {
  rmSync(FOLDER, { recursive: true, force: true });
  const tsc = join(ROOT, 'node_modules/.bin/tsc');
  execFileSync(tsc, ['-p', join(ROOT, 'tsconfig.bench.json')], { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** The compiled form of a script of the project. */
export const compiled = (script: string): string => join(FOLDER, script.replace(/\.ts$/, '.js'));
