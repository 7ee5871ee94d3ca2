/** Real product processes for tests: start, wait for the ready line, stop, kill and start again on the same port. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { NODE_FLAGS } from '../../scripts/dev/node-flags';
import { compiled } from './global-build';

const ROOT = resolve(__dirname, '../..');
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;

export interface ProductProcess {
  readonly pid: number;
  start(): Promise<void>;
  /** SIGTERM, then waits for the end. */
  stop(): Promise<void>;
  /** SIGKILL, then waits for the end. */
  kill(): Promise<void>;
  /** Lines the process has written. */
  lines(): readonly string[];
}

interface ProcessOptions {
  script: string;
  env: Record<string, string>;
  readyText: string;
  logFile: string;
}

const LINES_MAX = 5_000;

/** Describes a process; nothing runs before `start`. */
export function productProcess({ script, env, readyText, logFile }: ProcessOptions): ProductProcess {
  let child: ChildProcess | null = null;
  let ended: Promise<void> = Promise.resolve();
  const lines: string[] = [];
  mkdirSync(dirname(logFile), { recursive: true });
  let log: WriteStream | null = null;

  const note = (chunk: Buffer): void => {
    log?.write(chunk);
    lines.push(...chunk.toString().split('\n').filter(Boolean));
    if (lines.length > LINES_MAX) lines.splice(0, lines.length - LINES_MAX);
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!child) return;
    child.kill(signal);
    const late = setTimeout(() => child?.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(late);
    child = null;
  };

  return {
    get pid() {
      return child?.pid ?? 0;
    },
    async start() {
      lines.length = 0;
      log = createWriteStream(logFile, { flags: 'a' });
      const started = spawn(process.execPath, [...NODE_FLAGS, compiled(script)], {
        cwd: ROOT,
        env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child = started;
      process.once('exit', () => started.kill('SIGKILL'));
      ended = new Promise((done) => started.once('exit', () => done()));
      started.stdout.on('data', note);
      started.stderr.on('data', note);
      await new Promise<void>((done, fail) => {
        const late = setTimeout(
          () => fail(new Error(`${script} was not ready in time:\n${lines.slice(-20).join('\n')}`)),
          READY_TIMEOUT_MS,
        );
        const look = (): void => {
          if (!lines.some((line) => line.includes(readyText))) return;
          clearTimeout(late);
          started.stdout.off('data', look);
          done();
        };
        started.stdout.on('data', look);
        started.once('exit', (code) => {
          clearTimeout(late);
          fail(new Error(`${script} ended with ${String(code)} before it was ready:\n${lines.slice(-20).join('\n')}`));
        });
      });
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    lines: () => lines,
  };
}
