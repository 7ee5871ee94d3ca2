/** A whole Signalbox on free loopback ports: engine, store, api, worker and a mail sink, all real processes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { removeServiceData, startServices, type Services } from '../../scripts/services';
import { choosePort } from '../../scripts/services/ports';
import { startInbox } from '../../scripts/dev/inbox';
import build from './global-build';
import { productProcess, type ProductProcess } from './processes';
import type { StackAddress } from './shared-stack';

type Inbox = Awaited<ReturnType<typeof startInbox>>;

export interface Stack extends StackAddress {
  services: Services;
  api: ProductProcess;
  worker: ProductProcess;
  inbox: Inbox;
  /** Where engine and store keep their data. */
  dataDir: string;
  stop(): Promise<void>;
}

interface StackOptions {
  env?: Record<string, string>;
  /** Processes to start; both unless named. */
  only?: 'services' | 'api';
}

const SECRET = 'test-secret-test-secret-test-secret-0';

const LOGS = resolve(__dirname, '../../.signalbox/test-logs');

const apiProcess = (env: Record<string, string>): ProductProcess =>
  productProcess({
    script: 'src/main.ts',
    env,
    readyText: '"msg":"api ready"',
    logFile: join(LOGS, `api-${env['PORT']}.log`),
  });

const workerProcess = (env: Record<string, string>): ProductProcess =>
  productProcess({
    script: 'worker/main.ts',
    env,
    readyText: '"msg":"worker ready"',
    logFile: join(LOGS, `worker-${env['PORT']}.log`),
  });

/** One more api process of a running stack: the same store, engine and secrets, another port. */
export async function startApi(
  stack: StackAddress,
  env: Record<string, string> = {},
): Promise<StackAddress & { api: ProductProcess }> {
  const port = String(await choosePort());
  const merged = { ...stack.env, ...env, PORT: port };
  const api = apiProcess(merged);
  await api.start();
  return { baseUrl: `http://127.0.0.1:${port}`, inboxUrl: stack.inboxUrl, env: merged, api };
}

/** One more worker on the engine of a running stack, with a task queue of its own. */
export async function startWorker(stack: StackAddress, taskQueue: string, env: Record<string, string>) {
  const port = String(await choosePort());
  const merged = { ...stack.env, ...env, PORT: port, TEMPORAL_TASK_QUEUE: taskQueue };
  const worker = workerProcess(merged);
  await worker.start();
  return { env: merged, process: worker };
}

/** An api and a worker with settings and a task queue of their own, on the store and the engine of a running stack. */
export async function startOwn(stack: StackAddress, name: string, env: Record<string, string>) {
  const uri = (stack.env['MONGODB_URI'] ?? '').replace(/\/signalbox\b/, `/signalbox_${name}`);
  const own = await startApi(stack, { ...env, MONGODB_URI: uri, TEMPORAL_TASK_QUEUE: name });
  const worker = workerProcess(own.env);
  await worker.start();
  return { ...own, worker, stop: () => Promise.all([own.api.stop(), worker.stop()]) };
}

const isQuiet = process.env['TEST_VERBOSE'] === undefined;

/** Suites share the build that was made before the first of them; whoever else starts a stack makes one. */
const isSuite = process.env['JEST_WORKER_ID'] !== undefined;

/** Starts everything, from the sources as they are; `stop` ends it and removes its data. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  if (!isSuite) build();
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-test-'));
  const log = (line: string): void => {
    if (!isQuiet) process.stderr.write(`${line}\n`);
  };
  const dataDir = join(folder, 'data');
  const services = await startServices({ dataDir, log, durable: false });
  const inbox = await startInbox({
    smtpPort: await choosePort(),
    httpPort: await choosePort(),
    dir: join(folder, 'inbox'),
    log,
  });
  const port = await choosePort();
  const env: Record<string, string> = {
    SIGNALBOX_MODE: 'development',
    HOST: '127.0.0.1',
    PORT: String(port),
    MONGODB_URI: services.mongodbUri,
    TEMPORAL_ADDRESS: services.temporalAddress,
    TEMPORAL_UI_URL: services.temporalUiUrl,
    SMTP_URL: inbox.smtpUrl,
    SMS_GATEWAY_URL: inbox.gatewayUrl('sms'),
    SLACK_GATEWAY_URL: inbox.gatewayUrl('slack'),
    TEAMS_GATEWAY_URL: inbox.gatewayUrl('teams'),
    HTTP_ALLOW_ADDRESSES: '127.0.0.0/8',
    WEBHOOK_LOOPBACK: 'true',
    WEBHOOK_RETRY_SCALE: '0.00002',
    KEY_PEPPER: SECRET,
    SESSION_SECRET: SECRET,
    TOKEN_SECRET: SECRET,
    SHUTDOWN_GRACE_SECONDS: '2',
    // Everything comes from this machine.
    CONNECTIONS_PER_ADDRESS: '0',
    ...options.env,
  };
  const api = apiProcess(env);
  const worker = workerProcess(env);
  if (options.only !== 'services')
    await Promise.all([api.start(), ...(options.only === 'api' ? [] : [worker.start()])]);
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    inboxUrl: inbox.inboxUrl,
    env,
    services,
    api,
    worker,
    inbox,
    dataDir,
    async stop() {
      await Promise.all([api.stop(), worker.stop()]);
      await inbox.stop();
      await services.stop();
      await removeServiceData(dataDir);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
