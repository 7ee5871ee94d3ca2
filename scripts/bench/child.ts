/** Processes of a benchmark: started, found ready by a line of their log, asked questions, ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { NODE_FLAGS } from '../dev/node-flags';
import { onExit } from '../services/exit-hooks';
import { isAlive, signal, waitFor, waitUntilDead } from '../services/processes';
import { tiedToParent } from '../services/run';
import { compiled } from './build';

export const ROOT = resolve(__dirname, '../..');

const READY_MS_MAX = 60_000;
/** Run here as they are there; what stands beside them has Node's own settings. */
const OF_THE_IMAGE: ReadonlySet<string> = new Set(['src/main.ts', 'worker/main.ts']);
const STOP_MS_MAX = 20_000;
const TAIL_LINES = 20;

export interface ChildSpec {
  /** TypeScript entry, from the project's folder. */
  script: string;
  env: Record<string, string>;
  /** Part of the log line that says it is ready. */
  readyText: string;
  logFile: string;
  nodeArguments?: readonly string[];
}

export interface Child {
  readonly pid: number;
  /** The line that said it is ready. */
  readonly readyLine: string;
  /** Sends a question over the channel; answers what comes back, or fails with what went wrong there. */
  ask<Answer>(question: unknown, timeoutMs: number): Promise<Answer>;
  stop(): Promise<void>;
}

/** A reply over the channel. */
export type Reply = { id: number; answer: unknown } | { id: number; error: string };

const readLog = (path: string): string => readFileSync(path, 'utf8');
const tail = (path: string): string => readLog(path).trimEnd().split('\n').slice(-TAIL_LINES).join('\n');

function launch({ script, env, logFile, nodeArguments = [] }: ChildSpec): ChildProcess & { pid: number } {
  mkdirSync(dirname(logFile), { recursive: true });
  // A file and not a pipe: reading along would cost the process that measures.
  const output = openSync(logFile, 'w');
  const args = [...(OF_THE_IMAGE.has(script) ? NODE_FLAGS : []), ...nodeArguments, compiled(script)];
  const command = tiedToParent({ file: process.execPath, args });
  const child = spawn(command.file, command.args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    stdio: ['ignore', output, output, 'ipc'],
  });
  closeSync(output);
  if (!child.pid) throw new Error(`cannot run ${script}`);
  return child as ChildProcess & { pid: number };
}

/** One channel, many questions: each answer finds its question by number. */
function questions(child: ChildProcess) {
  const waiting = new Map<number, (reply: Reply) => void>();
  let asked = 0;
  child.on('message', (reply: Reply) => waiting.get(reply.id)?.(reply));
  return <Answer>(question: unknown, timeoutMs: number): Promise<Answer> =>
    new Promise((done, fail) => {
      asked += 1;
      const id = asked;
      const late = setTimeout(() => fail(new Error('a child process did not answer in time')), timeoutMs);
      waiting.set(id, (reply) => {
        waiting.delete(id);
        clearTimeout(late);
        if ('error' in reply) fail(new Error(reply.error));
        else done(reply.answer as Answer);
      });
      child.send({ id, question });
    });
}

/** Starts a process and waits until it says that it is ready. */
export async function startChild(spec: ChildSpec): Promise<Child> {
  const { logFile, readyText, script } = spec;
  const child = launch(spec);
  const release = onExit(() => signal(child.pid, 'SIGKILL'));
  const readyLine = (): string | undefined =>
    readLog(logFile)
      .split('\n')
      .slice(0, -1)
      .find((line) => line.includes(readyText));
  await waitFor(() => !isAlive(child.pid) || readyLine() !== undefined, { timeoutMs: READY_MS_MAX });
  const ready = readyLine();
  if (ready === undefined) {
    signal(child.pid, 'SIGKILL');
    throw new Error(`${script} did not become ready; its last lines:\n${tail(logFile)}`);
  }
  return {
    pid: child.pid,
    readyLine: ready,
    ask: questions(child),
    async stop() {
      if (isAlive(child.pid)) signal(child.pid, 'SIGTERM');
      if (!(await waitUntilDead([child.pid], STOP_MS_MAX))) signal(child.pid, 'SIGKILL');
      release();
    },
  };
}

/** The child's side of the channel: one handler for every question. */
export function answerQuestions(handle: (question: unknown) => Promise<unknown>): void {
  process.on('message', (message: { id: number; question: unknown }) => {
    const send = (reply: Reply): void => void process.send?.(reply);
    handle(message.question).then(
      (answer) => send({ id: message.id, answer }),
      (error: unknown) => send({ id: message.id, error: error instanceof Error ? error.message : String(error) }),
    );
  });
  // Whoever measured is gone: nobody could stop us any more.
  process.on('disconnect', () => process.exit(0));
}
