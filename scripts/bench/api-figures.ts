/** Figures of common requests that no budget is set for: one at a time, and sixteen at once. */
import { tickets } from '../../src/resources/tickets';
import { median, rounded, spread, type Figure } from './figures';
import { inTurn, turnsOf, underLoad, type Target } from './http-load';
import { takingTurns, type HttpStage } from './http-stage';
import { collectionOf } from './seed-rows';

const TURNS = { blocks: 5, share: 0.4 };
const LOAD = { rounds: 3, concurrency: 16 };
const LOAD_FACTOR = 3;
const BATCH = 100;

const TICKET = { subject: 'The printer on floor two is out', priority: 'high', tags: ['printer'] };

/** Measures them in turn with each other. */
export async function measureApi(stage: HttpStage): Promise<Figure[]> {
  const { client, api, database } = stage;
  const headers = takingTurns(stage.keys);
  const found = await collectionOf(database.store, tickets.collection)
    .find({ tenantId: database.orgId })
    .limit(BATCH)
    .toArray();
  const ids = found.map(({ _id }) => _id);
  const one = `/psa/api/tickets/${ids[0] ?? ''}`;
  const tag = String((await client.ask({ port: api.port, path: one, headers })).headers['etag']);
  const targets: Record<string, Omit<Target, 'port'>> = {
    'GET one record': { path: one, headers, status: 200 },
    'list of 50': { path: '/psa/api/tickets?limit=50', headers, status: 200 },
    '304 of a record': { path: one, headers: () => ({ ...headers(), 'if-none-match': tag }), status: 304 },
    'batch of 100': { method: 'POST', path: '/psa/api/tickets/batch', headers, body: () => ({ ids }), status: 200 },
    'POST a record': { method: 'POST', path: '/psa/api/tickets', headers, body: () => TICKET, status: 201 },
  };
  const shots = Object.fromEntries(
    Object.entries(targets).map(([name, target]) => [name, client.shot({ ...target, port: api.port })]),
  );
  const single = await inTurn(shots, turnsOf(stage.runs, TURNS));
  const sides = Object.entries(shots).map(([name, shot]) => [name, { shot, pid: api.child.pid }] as const);
  const load = await underLoad(Object.fromEntries(sides), { ...LOAD, requests: stage.runs * LOAD_FACTOR });
  return Object.entries(single).map(([name, side]) => {
    const loaded = load[name];
    return {
      budget: 'API',
      name: `${name}, one at a time, p50`,
      unit: 'ms',
      ours: median(side.latencies),
      bare: null,
      floor: null,
      more: {
        one_at_a_time: spread(side),
        at_once: LOAD.concurrency,
        ...(loaded
          ? { ...spread(loaded), requests_per_second: median(loaded.rates), cpu_us: rounded(median(loaded.cpuUs)) }
          : {}),
      },
    };
  });
}
