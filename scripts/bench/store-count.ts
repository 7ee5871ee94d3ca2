/** T6: what an execution asks of the store, counted on the wire between it and two processes of their own. */
import { join } from 'node:path';
import { choosePort } from '../services/ports';
import { rounded, type Figure } from './figures';
import { pause } from './lanes';
import { createProduct } from './product';
import { pauseSchedules } from './schedules';
import { startProduct, type Stage } from './stage';
import { isRead, isWrite, startStoreProxy, type StoreCommand, type StoreProxy } from './store-proxy';

const STEPS = 3;
const WARM_UP = 16;
const RUNS = 20;
/** Written together for many executions: what is under way when the count begins is not of these executions. */
const SETTLE_MS = 2_500;
const TASK_QUEUE = 'counted';

/** Commands per execution by name and collection. */
function perExecution(commands: readonly StoreCommand[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { name, collection } of commands) {
    const key = `${name} ${collection}`.trim();
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).map(([key, count]) => [key, rounded(count / RUNS)]));
}

const on = (commands: readonly StoreCommand[], collections: readonly string[]): StoreCommand[] =>
  commands.filter(({ collection }) => collections.includes(collection));

interface Counted {
  api: readonly StoreCommand[];
  worker: readonly StoreCommand[];
}

async function countRuns(stage: Stage, proxies: { api: StoreProxy; worker: StoreProxy }): Promise<Counted> {
  const port = await choosePort();
  const env = { ...stage.env, PORT: String(port), TEMPORAL_TASK_QUEUE: TASK_QUEUE };
  const { api, worker } = await startProduct({
    logs: join(stage.folder, 'counted'),
    apiEnv: { ...env, MONGODB_URI: proxies.api.uri },
    workerEnv: { ...env, MONGODB_URI: proxies.worker.uri },
  });
  const product = createProduct({ baseUrl: `http://127.0.0.1:${port}`, engine: stage.engine, callers: stage.callers });
  try {
    await product.load('light', { runs: WARM_UP, concurrency: 1 });
    await pauseSchedules(stage.engine, TASK_QUEUE);
    await pause(SETTLE_MS);
    proxies.api.reset();
    proxies.worker.reset();
    await product.load('light', { runs: RUNS, concurrency: 1 });
    return { api: [...proxies.api.commands], worker: [...proxies.worker.commands] };
  } finally {
    await product.close();
    await Promise.all([api.stop(), worker.stop()]);
  }
}

/** Counts light executions of a warm pair of processes. */
export async function measureStore(stage: Stage): Promise<Figure[]> {
  const uri = stage.services.mongodbUri;
  const proxies = { api: await startStoreProxy(uri), worker: await startStoreProxy(uri) };
  try {
    const { api, worker } = await countRuns(stage, proxies);
    const writes = on([...api, ...worker], ['executions']).filter(isWrite).length / RUNS;
    const reads = worker.filter(isRead).length / RUNS;
    return [
      {
        budget: 'T6',
        name: `writes of the execution's record, ${STEPS} light steps`,
        unit: 'writes',
        ours: writes,
        bare: null,
        floor: { bound: 'at most', value: 2 + STEPS, of: 'ours' },
        more: { api: perExecution(api), worker: perExecution(worker) },
      },
      {
        budget: 'T6',
        name: "reads on the workflow's path",
        unit: 'reads',
        ours: reads,
        bare: null,
        floor: { bound: 'at most', value: 0, of: 'ours' },
      },
    ];
  } finally {
    await Promise.all([proxies.api.stop(), proxies.worker.stop()]);
  }
}
