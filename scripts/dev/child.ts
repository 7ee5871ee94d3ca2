/** One supervised process of the product: started, watched, started again when it dies, stopped within a bound. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { onExit } from '../services/exit-hooks';
import { isAlive, signal, waitUntilDead } from '../services/processes';
import { forgetProcess, recordProcess } from '../services/records';
import { tiedToParent } from '../services/run';
import type { Log } from '../services/types';
import { formatLogLine, parseLogLine } from './log-lines';
import { NODE_FLAGS } from './node-flags';

const BACKOFF_MS_FIRST = 500;
const BACKOFF_MS_MAX = 10_000;
/** A process that dies this often without ever having been ready has a mistake that waiting does not mend. */
const EARLY_DEATHS_MAX = 3;
const KILL_MS_MAX = 5_000;

export interface ChildSpec {
  name: string;
  /** JavaScript entry. */
  script: string;
  /** The `msg` of the log line that says it is ready. */
  readyMessage: string;
  env: Record<string, string>;
  cwd: string;
  /** Where its process is written down, for the next start to find after a crash. */
  recordDir: string;
  isVerbose: boolean;
  print: Log;
}

export class SupervisedChild {
  readonly #spec: ChildSpec;
  #process: ChildProcess | undefined;
  #isStopping = false;
  #hasBeenReady = false;
  #deaths = 0;
  #restart: NodeJS.Timeout | undefined;
  #releaseExit: () => void = () => {};
  #settleReady: { resolve: () => void; reject: (error: Error) => void };
  /** Settles once: when the process is ready for the first time, or when it never will be. */
  readonly ready: Promise<void>;

  constructor(spec: ChildSpec) {
    this.#spec = spec;
    this.#settleReady = { resolve: () => {}, reject: () => {} };
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    // The session awaits it only after other work; until then a failure must not count as unhandled.
    this.ready.catch(() => {});
  }

  get name(): string {
    return this.#spec.name;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  start(): void {
    const { name, script, env, cwd, recordDir } = this.#spec;
    const command = tiedToParent({ file: process.execPath, args: ['--enable-source-maps', ...NODE_FLAGS, script] });
    // In a group of its own: Ctrl-C in the terminal reaches only the supervisor, which stops things in order.
    const child = spawn(command.file, command.args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = child;
    const { pid } = child;
    if (pid) {
      recordProcess(recordDir, { name, pid, marker: script, stopSignal: 'SIGTERM' });
      this.#releaseExit = onExit(() => signal(pid, 'SIGKILL'));
    }
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on('line', (line) => this.#onLine(line));
    }
    child.once('error', (error) => this.#print(`cannot be started: ${error.message}`));
    child.once('close', (code, signalName) => this.#onDeath(code === null ? `by ${signalName}` : `with ${code}`));
  }

  /** Asks it to end, waits, then ends it. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#restart);
    const pid = this.pid;
    if (!pid || !isAlive(pid)) return;
    signal(pid, 'SIGTERM');
    if (await waitUntilDead([pid], graceMs)) return;
    this.#print(`did not stop within ${graceMs / 1_000} s, ending it`);
    signal(pid, 'SIGKILL');
    await waitUntilDead([pid], KILL_MS_MAX);
  }

  #print(text: string): void {
    this.#spec.print(`${this.#spec.name.padEnd(6)} | ${text}`);
  }

  #onLine(line: string): void {
    if (parseLogLine(line)?.msg === this.#spec.readyMessage) {
      if (this.#hasBeenReady) this.#print('ready again');
      this.#hasBeenReady = true;
      this.#deaths = 0;
      this.#settleReady.resolve();
    }
    const text = formatLogLine(line, this.#spec.isVerbose);
    if (text !== undefined) this.#print(text);
  }

  #onDeath(how: string): void {
    this.#releaseExit();
    forgetProcess(this.#spec.recordDir, this.#spec.name);
    if (this.#isStopping) return;
    this.#deaths += 1;
    if (!this.#hasBeenReady && this.#deaths >= EARLY_DEATHS_MAX) {
      this.#print(`ended ${how}`);
      this.#settleReady.reject(new Error(`${this.#spec.name} ended ${this.#deaths} times before it was ready`));
      return;
    }
    const waitMs = Math.min(BACKOFF_MS_FIRST * 2 ** (this.#deaths - 1), BACKOFF_MS_MAX);
    this.#print(`ended ${how}; starting it again in ${waitMs / 1_000} s`);
    this.#restart = setTimeout(() => this.start(), waitMs);
  }
}
