/** Running helper programs: found on a given PATH, never outliving us, their last lines kept for the error. */
import { execFileSync, spawn } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { onExit } from './exit-hooks';
import { signal } from './processes';
import type { Environment } from './types';

const KEPT_LINES = 15;

// Where administrators' tools live on Debian; often missing from the PATH of an ordinary shell.
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin'];
const USUAL_FOLDERS = ['/usr/bin', '/bin'];

/** Full path of a program on `env.PATH`, or undefined. */
export function findProgram(name: string, env: Environment): string | undefined {
  const folders = (env['PATH'] ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Like `findProgram`, looking into the folders of system tools as well. */
export function findSystemProgram(name: string, env: Environment): string | undefined {
  return findProgram(name, env) ?? SYSTEM_FOLDERS.map((folder) => join(folder, name)).find(isExecutable);
}

/** A tool every system has; by full path, because the PATH given to it need not be one it can be found on. */
export const systemTool = (name: string): string =>
  findSystemProgram(name, { PATH: [process.env['PATH'] ?? '', ...USUAL_FOLDERS].join(delimiter) }) ?? name;

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export interface Command {
  file: string;
  args: readonly string[];
  env?: Environment;
  cwd?: string;
}

// A missing working folder reads the same as a missing program.
const missing = ({ file, cwd }: Command): string =>
  cwd !== undefined && !existsSync(cwd) ? `${cwd} is missing` : `${file} is missing: install it, or put it on PATH`;

/** Runs a program to its end; rejects with its last lines when it fails. Every line goes to `onLine`. */
export async function run(command: Command, onLine: (line: string) => void = () => {}): Promise<string> {
  const child = spawn(command.file, command.args, {
    env: command.env,
    cwd: command.cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const release = onExit(() => child.pid && signal(child.pid, 'SIGKILL'));
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      onLine(line);
    });
  }
  try {
    const ended = await new Promise<string>((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) =>
        reject(error.code === 'ENOENT' ? new Error(missing(command)) : error),
      );
      child.once('close', (code, name) =>
        resolve(code === null ? `was ended by ${name}` : code ? `ended with ${code}` : ''),
      );
    });
    if (ended) throw new Error(`${command.file} ${ended}:\n${lines.join('\n')}`);
    return lines.join('\n');
  } finally {
    release();
  }
}

let canTieToParent: boolean | undefined;

/**
 * Words in front of a command that make the kernel signal it when we die. They cover what exit hooks cannot: our own
 * SIGKILL. None where `setpriv` is missing; then the next start ends what was left over.
 */
export function parentTie(signalName: 'INT' | 'TERM'): string[] {
  canTieToParent ??= probeSetpriv();
  return canTieToParent ? ['setpriv', '--pdeathsig', signalName, '--'] : [];
}

/** The command, ended by the kernel when we die. */
export function tiedToParent(command: Command): Command {
  const [first, ...rest] = parentTie('TERM');
  return first ? { ...command, file: systemTool(first), args: [...rest, command.file, ...command.args] } : command;
}

function probeSetpriv(): boolean {
  try {
    execFileSync(systemTool('setpriv'), ['--pdeathsig', 'TERM', '--', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
