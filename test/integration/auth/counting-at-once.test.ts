/** Processes that count for the same keys and agents at once: nobody waits for ever, and nothing is counted twice. */
import { newId } from '../../../src/domain/ids';
import { HOUR_MS } from '../../../src/domain/usage';
import { addRuns, readStats } from '../../../src/store/agent-runs';
import { addUsage, readUsage } from '../../../src/store/usage';
import { addHours, readHours } from '../../../src/store/usage-hours';
import { joinStack, type Harness } from '../../support/harness';

const KEYS = 40;
const ROUNDS = 40;
/** As many as a deployment may have; each writes what it counted every two seconds. */
const PROCESSES = 4;
const MS_MAX = 30_000;

const NOW = new Date();
const START_MS = Math.floor(NOW.getTime() / HOUR_MS) * HOUR_MS;
const NOTHING = { durations: {}, statuses: {}, paths: {}, failedPaths: {} };

let harness: Harness;
let orgId: string;
let ids: string[];
beforeAll(() => {
  harness = joinStack();
  orgId = newId('org');
  ids = Array.from({ length: KEYS }, () => newId('key'));
});
afterAll(() => harness.close());

/** The same things in an order of each process's own, as requests happened to come. */
const orders = (): string[][] =>
  Array.from({ length: PROCESSES }, (_unused, place) => {
    const from = Math.floor((place * KEYS) / PROCESSES);
    const turned = [...ids.slice(from), ...ids.slice(0, from)];
    return place % 2 === 0 ? turned : turned.toReversed();
  });

async function addAtOnce(add: (order: string[]) => Promise<void>): Promise<void> {
  await Promise.all(
    orders().map(async (order) => {
      for (let round = 0; round < ROUNDS; round += 1) await add(order);
    }),
  );
}

test(
  'totals of keys',
  async () => {
    await addAtOnce((order) =>
      addUsage(
        harness.store,
        order.map((keyId) => ({ keyId, orgId, requests: 1, errors: 0, lastUsedAt: NOW, deprecated: {} })),
        () => true,
      ),
    );
    const counted = await readUsage(harness.store, ids, NOW);
    expect(ids.map((id) => counted.get(id)?.totalRequests)).toEqual(ids.map(() => PROCESSES * ROUNDS));
  },
  MS_MAX,
);

test(
  'hours of keys',
  async () => {
    await addAtOnce((order) =>
      addHours(
        harness.store,
        order.map((keyId) => ({ keyId, orgId, startMs: START_MS, requests: 1, errors: 0, rateLimited: 0, ...NOTHING })),
      ),
    );
    for (const id of ids) {
      const [hour] = await readHours(harness.store, id, { fromMs: START_MS, toMs: START_MS + HOUR_MS });
      expect(hour?.requests).toBe(PROCESSES * ROUNDS);
    }
  },
  MS_MAX,
);

test(
  'runs of agents',
  async () => {
    const run = { completed: 1, failed: 0, total: 1, durationMs: 5, lastRunAt: NOW };
    await addAtOnce((order) =>
      addRuns(
        harness.store,
        order.map((agentId) => ({ orgId, agentId, ...run })),
      ),
    );
    const counted = await readStats(harness.store, orgId, ids);
    expect(ids.map((id) => counted.get(id)?.total)).toEqual(ids.map(() => PROCESSES * ROUNDS));
  },
  MS_MAX,
);
