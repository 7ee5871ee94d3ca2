/** Everything a benchmark needs, as real processes: engine, store, api, worker, the outside, and the bare pair. */
import { bundleWorkflowCode } from '@temporalio/worker';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../src/config';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { openStore, type OpenStore } from '../../src/store/connect';
import { cachedBundle } from '../../worker/bundle';
import type { Services } from '../services';
import { choosePort } from '../services/ports';
import { ROOT, startChild, type Child } from './child';
import type { Groups } from './cpu';
import { profiling, staged, startGround, type Ground, type Undo } from './ground';
import { OUTSIDE_ADDRESSES, OUTSIDE_READY, type OutsideAddresses } from './messages';
import { createProduct, type Product } from './product';
import { createCallers, type Caller } from './tenants';

export interface StageOptions {
  log: (line: string) => void;
  /** Requests the callers' keys must be good for. */
  requests: number;
  profileFolder: string | null;
}

export interface Stage {
  folder: string;
  services: Services;
  env: Record<string, string>;
  outside: OutsideAddresses;
  store: OpenStore;
  engine: Engine;
  callers: Caller[];
  product: Product;
  bareClient: Child;
  groups: Groups;
  stop(): Promise<void>;
}

async function bareBundle(folder: string): Promise<string> {
  const quiet = Object.fromEntries(
    ['log', 'trace', 'debug', 'info', 'warn', 'error'].map((level) => [level, () => undefined]),
  );
  const workflowsPath = join(__dirname, 'bare-workflows.ts');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: quiet as never });
  const path = join(folder, 'bare-workflows.js');
  writeFileSync(path, code);
  return path;
}

async function startOutside(folder: string): Promise<{ child: Child; addresses: OutsideAddresses }> {
  const child = await startChild({
    script: 'scripts/bench/outside.ts',
    env: {},
    readyText: OUTSIDE_READY,
    logFile: join(folder, 'logs/outside.log'),
  });
  const addresses = JSON.parse(child.readyLine.slice(OUTSIDE_READY.length)) as OutsideAddresses;
  return { child, addresses };
}

interface EnvironmentParts {
  ground: Ground;
  outside: OutsideAddresses;
  port: number;
  bundle: string;
}

const productEnvironment = ({ ground, outside, port, bundle }: EnvironmentParts): Record<string, string> => ({
  ...ground.env,
  PORT: String(port),
  MONGODB_URI: ground.services.mongodbUri,
  TEMPORAL_UI_URL: ground.services.temporalUiUrl,
  WORKFLOW_BUNDLE: bundle,
  SMTP_URL: outside.SMTP_URL,
  HTTP_ALLOW_ADDRESSES: '127.0.0.0/8',
  AI_PROVIDER: 'openai_compatible',
  AI_BASE_URL: outside.AI_BASE_URL,
  AI_MODEL_QUICK: 'bench',
});

interface ProductOptions {
  /** Folder for the logs. */
  logs: string;
  apiEnv: Record<string, string>;
  workerEnv: Record<string, string>;
  nodeArguments?: readonly string[];
}

/** Api and worker of the product, each with its own environment. */
export async function startProduct(options: ProductOptions): Promise<{ api: Child; worker: Child }> {
  const { logs, apiEnv, workerEnv, nodeArguments = [] } = options;
  const start = (name: string, script: string, env: Record<string, string>): Promise<Child> =>
    startChild({ script, env, nodeArguments, readyText: `"msg":"${name} ready"`, logFile: join(logs, `${name}.log`) });
  const [api, worker] = await Promise.all([
    start('api', 'src/main.ts', apiEnv),
    start('worker', 'worker/main.ts', workerEnv),
  ]);
  return { api, worker };
}

async function startBare(
  { folder, services }: Ground,
  outside: OutsideAddresses,
): Promise<{ worker: Child; client: Child }> {
  const env = {
    SIGNALBOX_MODE: 'development',
    TEMPORAL_ADDRESS: services.temporalAddress,
    TEMPORAL_TASK_QUEUE: 'bare',
    WORKFLOW_BUNDLE: await bareBundle(folder),
    [OUTSIDE_ADDRESSES]: JSON.stringify(outside),
  };
  const script = (name: string): Promise<Child> =>
    startChild({
      script: `scripts/bench/bare-${name}.ts`,
      env,
      readyText: `bare ${name} ready`,
      logFile: join(folder, `logs/bare-${name}.log`),
    });
  const [worker, client] = await Promise.all([script('worker'), script('client')]);
  return { worker, client };
}

async function build({ log, requests, profileFolder }: StageOptions, undo: Undo): Promise<Omit<Stage, 'stop'>> {
  const ground = await startGround('signalbox-bench-', log, undo);
  const { folder, services } = ground;
  log('bench: starting api, worker, the outside and the bare pair');
  const { child: outsideChild, addresses: outside } = await startOutside(folder);
  undo.add(() => outsideChild.stop());
  const bundle = await cachedBundle(join(ROOT, '.signalbox/bundles'));
  const port = await choosePort();
  const env = productEnvironment({ ground, outside, port, bundle });
  const { api, worker } = await startProduct({
    logs: join(folder, 'logs'),
    apiEnv: env,
    workerEnv: env,
    nodeArguments: profiling(profileFolder),
  });
  undo.add(() => Promise.all([api.stop(), worker.stop()]));
  const bare = await startBare(ground, outside);
  undo.add(() => Promise.all([bare.client.stop(), bare.worker.stop()]));

  const config = readConfig(env);
  const store = openStore(services.mongodbUri);
  undo.add(() => store.close());
  const engine = connectEngine(config.temporal);
  undo.add(() => engine.close());
  const callers = await createCallers(store, config, { requests });
  const product = createProduct({ baseUrl: `http://127.0.0.1:${port}`, engine, callers });
  undo.add(() => product.close());
  await product.createAgents(outside.HTTP_URL);
  const groups: Groups = {
    api: () => [api.pid],
    worker: () => [worker.pid],
    bare_worker: () => [bare.worker.pid],
    bare_client: () => [bare.client.pid],
    engine: services.engine.pids,
    store: services.store.pids,
    outside: () => [outsideChild.pid],
    driver: () => [process.pid],
  };
  return { folder, services, env, outside, store, engine, callers, product, bareClient: bare.client, groups };
}

/** Brings everything up; on failure takes down what there is. */
export const startStage = (options: StageOptions): Promise<Stage> => staged((undo) => build(options, undo));
