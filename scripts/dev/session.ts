/** One run of the development system: everything is started in order, and taken down in the opposite one. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, type Log, removeServiceData, type Services, startServices } from '../services';
import { ensureFolder } from '../services/folders';
import { tryLock, lockHolder } from '../services/lock';
import { choosePortFor } from '../services/ports';
import { waitFor } from '../services/processes';
import { Progress } from '../services/progress';
import { endLeftovers } from '../services/records';
import { cacheFolder } from '../services/setup';
import { SupervisedChild } from './child';
import { createDevFile, removeDevFile, runningBaseUrl, writeDevFile } from './dev-file';
import { apiPortOf, childEnvironment, keepSecrets } from './environment';
import { type Inbox, startInbox } from './inbox';
import { seedFrom, type SeedResult } from './seed-data';
import { watchServices } from './watch-services';
import { watchSpace } from './watch-space';

const SECRETS_FILE = 'secrets.json';
/** What is made from the sources alone. */
const COMPILED = ['build', 'bundles'];
const PORTS = { api: 3000, temporal: 7233, temporalUi: 8233, store: 27_017, smtp: 1025, inbox: 8025 };
// What a build, logs and the data of a first start take.
const FREE_MEGABYTES = 50;
// Less than what a start asks for: here work is under way, which needs little.
const FREE_MEGABYTES_RUNNING = 10;
const ADVICE = 'The system keeps its build, logs and data there: run it from a folder that can be written to.';
const READY_MS_MAX = 120_000;
const CHILD_GRACE_MS = 12_000;

/** Full paths of the JavaScript entries a session runs. */
export interface Scripts {
  api: string;
  worker: string;
  seed: string;
}

export interface SessionOptions {
  /** The project's folder; everything the session keeps is in `.signalbox` below it. */
  root: string;
  /** Makes the scripts that are not there yet, beside engine and store coming up. */
  build?: () => Promise<void>;
  scripts: Scripts;
  env: Environment;
  isVerbose: boolean;
  isReset: boolean;
  print: Log;
}

export interface Started {
  baseUrl: string;
  temporalUiUrl: string;
  inboxUrl: string;
  seed: SeedResult;
}

export class Session {
  readonly #options: SessionOptions;
  readonly #folder: string;
  readonly #progress: Progress;
  /** What has to be taken down, in the order it was brought up. */
  readonly #undo: (() => void | Promise<void>)[] = [];
  #stopping: Promise<void> | undefined;
  #isBuildInDoubt = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#folder = join(options.root, '.signalbox');
    this.#progress = new Progress(options.print);
  }

  /** Brings everything up. On failure the caller stops the session, which takes down what there is. */
  async start(): Promise<Started> {
    const { env, print } = this.#options;
    await this.#claimFolder();
    const wanted = apiPortOf(env, PORTS.api);
    const [services, inbox] = await Promise.all([this.#startServices(), this.#startInbox(), this.#build()]);
    const secrets = keepSecrets(join(this.#folder, SECRETS_FILE));
    // Only now: what comes up before may take minutes, in which others take ports.
    const apiPort = await choosePortFor('api', wanted, print);
    const childEnv = childEnvironment({ own: env, services, inbox, secrets, apiPort });
    // Behind the processes, which would miss their modules.
    this.#onStop(() => this.#removeDoubtfulBuild());
    const children = this.#startChildren(childEnv);
    const baseUrl = `http://127.0.0.1:${apiPort}`;
    const [seed] = await this.#fromBuild([this.#seed(childEnv), ...children.map((child) => this.#untilReady(child))]);
    await this.#untilAnswering(`${baseUrl}/readyz`);
    const started = { baseUrl, temporalUiUrl: services.temporalUiUrl, inboxUrl: inbox.inboxUrl, seed };
    this.#publish(started);
    return started;
  }

  /** Takes everything down in the opposite order; called again, waits for the same end. */
  stop(): Promise<void> {
    this.#stopping ??= this.#progress.track('stopping', () => this.#undoAll());
    return this.#stopping;
  }

  // What one part throws must not keep the others running.
  async #undoAll(): Promise<void> {
    for (const undo of this.#undo.toReversed()) {
      try {
        await undo();
      } catch (error) {
        this.#options.print(`while stopping: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  /** Registers how to take something down; at once when the session is already being stopped. */
  #onStop(undo: () => void | Promise<void>): void {
    if (this.#stopping) void undo();
    else this.#undo.push(undo);
  }

  async #claimFolder(): Promise<void> {
    const { print, isReset } = this.#options;
    const path = join(this.#folder, 'dev.lock');
    ensureFolder(this.#folder, { advice: ADVICE, freeMegabytes: FREE_MEGABYTES });
    const lock = tryLock(path);
    const devFile = join(this.#folder, 'dev.json');
    if (!lock) {
      const where = runningBaseUrl(devFile) ?? 'not ready yet';
      throw new Error(`already running here: process ${lockHolder(path)?.pid ?? '?'} (${where}). Stop it first.`);
    }
    this.#onStop(() => lock.release());
    // Left by a run that was killed; scripts must not take it for a running system.
    removeDevFile(devFile);
    await endLeftovers(this.#folder, print);
    if (!isReset) return;
    await this.#progress.track('removing all data', async () => {
      await removeServiceData(join(this.#folder, 'data'));
      rmSync(join(this.#folder, 'inbox'), { recursive: true, force: true });
      // Of no use without the data; and this is the way out when they cannot be read.
      rmSync(join(this.#folder, SECRETS_FILE), { force: true });
    });
    print('all data removed');
  }

  async #build(): Promise<void> {
    const { build } = this.#options;
    if (build) await this.#progress.track('compiling', build);
  }

  /** What does not start may be cut off, as by a power cut, and nobody would look there: it is made anew next time. */
  async #fromBuild<T extends unknown[]>(starts: [...T]): Promise<{ [Index in keyof T]: Awaited<T[Index]> }> {
    try {
      return await Promise.all(starts);
    } catch (cause) {
      this.#isBuildInDoubt = true;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`${why}. The next start compiles everything anew.`, { cause });
    }
  }

  #removeDoubtfulBuild(): void {
    if (!this.#isBuildInDoubt) return;
    for (const name of COMPILED) rmSync(join(this.#folder, name), { recursive: true, force: true });
  }

  async #startServices(): Promise<Services> {
    const { env, print } = this.#options;
    const ports = { temporal: PORTS.temporal, temporalUi: PORTS.temporalUi, store: PORTS.store };
    const services = await startServices({ dataDir: join(this.#folder, 'data'), ports, env, log: print });
    this.#onStop(() => services.stop());
    this.#onStop(watchServices(services, print));
    // The store keeps its data in the cache.
    this.#onStop(watchSpace([this.#folder, cacheFolder(env)], FREE_MEGABYTES_RUNNING, print));
    return services;
  }

  async #startInbox(): Promise<Inbox> {
    const { print } = this.#options;
    const smtpPort = await choosePortFor('mail sink', PORTS.smtp, print);
    const httpPort = await choosePortFor('inbox', PORTS.inbox, print);
    const inbox = await startInbox({ smtpPort, httpPort, dir: join(this.#folder, 'inbox'), log: () => {} });
    this.#onStop(() => inbox.stop());
    return inbox;
  }

  #startChildren(env: Record<string, string>): SupervisedChild[] {
    const { root, scripts, isVerbose, print } = this.#options;
    const common = { env, cwd: root, recordDir: this.#folder, isVerbose, print };
    const children = [
      new SupervisedChild({ ...common, name: 'api', script: scripts.api, readyMessage: 'api ready' }),
      new SupervisedChild({ ...common, name: 'worker', script: scripts.worker, readyMessage: 'worker ready' }),
    ];
    this.#onStop(async () => {
      await Promise.all(children.map((child) => child.stop(CHILD_GRACE_MS)));
    });
    if (!this.#stopping) for (const child of children) child.start();
    return children;
  }

  async #untilReady(child: SupervisedChild): Promise<void> {
    const limit = new Promise<never>((_resolve, reject) => {
      const give = () => reject(new Error(`${child.name} was not ready after ${READY_MS_MAX / 1_000} s`));
      setTimeout(give, READY_MS_MAX).unref();
    });
    await this.#progress.track(`${child.name}: starting`, () => Promise.race([child.ready, limit]));
  }

  async #untilAnswering(url: string): Promise<void> {
    const answers = async () =>
      (await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => null))?.status === 200;
    const isReady = await this.#progress.track('api: becoming ready', () =>
      waitFor(answers, { timeoutMs: READY_MS_MAX, intervalMs: 50 }),
    );
    if (!isReady) throw new Error(`${url} did not answer 200 within ${READY_MS_MAX / 1_000} s`);
  }

  #seed(env: Record<string, string>): Promise<SeedResult> {
    const { scripts } = this.#options;
    return this.#progress.track('seed: demo organisations', () =>
      seedFrom(scripts.seed, { mongodbUri: env['MONGODB_URI'] ?? '', env, keysFile: join(this.#folder, 'keys.json') }),
    );
  }

  #publish({ seed, ...addresses }: Started): void {
    const path = join(this.#folder, 'dev.json');
    this.#onStop(() => removeDevFile(path));
    if (!this.#stopping) writeDevFile(path, createDevFile(addresses, seed));
  }
}
