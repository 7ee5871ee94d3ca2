/** Compiles the product as the image does: a loader that translates while it runs costs seconds at every start. */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '..');

/** The command that compiles a project of this folder into `folder`. */
export function compileCommand(folder: string, project: string): { file: string; args: string[]; cwd: string } {
  // Types are what `npm run check` is for.
  const args = ['-p', join(ROOT, project), '--outDir', folder, '--noCheck'];
  // By this Node, and not by one that would have to be on PATH.
  return { file: process.execPath, args: [join(ROOT, 'node_modules/typescript/bin/tsc'), ...args], cwd: ROOT };
}

/** Compiles a project of this folder into `folder`, anew: files of an earlier build could hide that one is missing. */
export function compileInto(folder: string, project: string): void {
  rmSync(folder, { recursive: true, force: true });
  const { file, args, cwd } = compileCommand(folder, project);
  execFileSync(file, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Where the compiled form of a script of the project lies below `folder`. */
export const compiledIn = (folder: string, script: string): string => join(folder, script.replace(/\.ts$/, '.js'));
