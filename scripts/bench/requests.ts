/** T8, T9 and T12: what the way through the API adds to a request, and the figures of common requests. */
import { tickets } from '../../src/resources/tickets';
import { collectionOf } from './seed-rows';
import { median, rounded, spread, type Figure } from './figures';
import {
  inTurn,
  loadFacts,
  ratiosOf,
  turnsOf,
  underLoad,
  WARM_UP_BLOCKS,
  WARM_UP_ROUNDS,
  type Loaded,
  type Timed,
} from './http-load';
import { takingTurns, type HttpStage } from './http-stage';
import type { BareHttpAsk } from './messages';

const TURNS = { blocks: 10, share: 0.6 };
// Short rounds: the machine's own pace changes within seconds, and each side should meet all of its moods.
const LOAD = { rounds: 24, concurrency: 32 };
const LOAD_FACTOR = 6;
/** What asks nobody takes a tenth of the time of other requests, and so as many more are needed to tell sides apart. */
const HELD_FACTOR = 8;
/** Requests that one side of T8 makes at the most. */
const chainRequests = (runs: number): number =>
  ((LOAD.rounds + WARM_UP_ROUNDS) * LOAD_FACTOR + (TURNS.blocks + WARM_UP_BLOCKS) * TURNS.share) * runs;
const ASK_MS_MAX = 5_000;
const LIMITS_MS_MAX = 1.5;

/** An operation whose handler asks nobody: one entry of the event catalog, by a validated filter. */
const CATALOG = '/agents/api/events?source_product=fleet';

const sidesOf = (sides: Record<string, Timed>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(sides).map(([name, side]) => [name, spread(side)]));

const tellBare = (stage: HttpStage, body: unknown): Promise<unknown> =>
  stage.bare.child.ask({ body } satisfies BareHttpAsk, ASK_MS_MAX);

const none = (): Record<string, string> => ({});

type ChainSide = 'uncounted' | 'counted' | 'bare' | 'command';
type Single = Record<ChainSide, Timed>;
type Load = Record<ChainSide, Loaded>;

const cpuRatios = (ours: Loaded, of: Loaded): number[] =>
  ours.cpuUs.map((value, round) => value / (of.cpuUs[round] ?? Number.NaN));

const uncountedFigure = ({ uncounted, bare }: Load, single: Single): Figure => ({
  budget: 'T8',
  name: 'CPU of a request through the whole chain, limits counted in the process',
  unit: 'µs',
  ours: median(uncounted.cpuUs),
  bare: median(bare.cpuUs),
  ratios: cpuRatios(uncounted, bare),
  floor: { bound: 'at most', value: 2, of: 'ratio' },
  more: {
    held_because:
      'The budget is on a request without the store, and the one store command of the limits is by design. ' +
      'This process of the API differs from the shipped one in the meter alone: it counts both policies in memory.',
    operation: `GET ${CATALOG}`,
    at_once: LOAD.concurrency,
    uncounted: loadFacts(uncounted),
    bare: loadFacts(bare),
    one_at_a_time_ms: sidesOf(single),
  },
});

const countedFigure = ({ counted, command, bare }: Load): Figure => ({
  budget: 'T8',
  name: 'the same as shipped: limits counted in the store, at once for all that wait',
  unit: 'µs',
  ours: median(counted.cpuUs),
  bare: median(command.cpuUs),
  ratios: cpuRatios(counted, command),
  floor: null,
  more: {
    bare_is: 'Express that makes one such store command for each request and answers the same bytes',
    of_bare_without_command: rounded(median(cpuRatios(counted, bare))),
    counted: loadFacts(counted),
    command: loadFacts(command),
  },
});

const p50 = (side: Timed): number => median(side.latencies);

const commandFigure = ({ counted, uncounted, command, bare }: Single): Figure => ({
  budget: 'T8',
  name: 'what counting the limits in the store adds, one at a time, p50',
  unit: 'ms',
  ours: p50(counted) - p50(uncounted),
  bare: p50(command) - p50(bare),
  floor: { bound: 'at most', value: LIMITS_MS_MAX, of: 'ours' },
});

/** T8. The limits are one store command by design; the floor is on all the rest, both are told. */
export async function measureChain(stage: HttpStage): Promise<Figure[]> {
  const { runs, client, api, bare, database } = stage;
  const uncounted = await stage.startUncounted();
  const callers = await stage.callersFor(chainRequests(runs));
  const through = (port: number) => client.shot({ port, path: CATALOG, headers: takingTurns(callers), status: 200 });
  const shots = {
    uncounted: through(uncounted.port),
    counted: through(api.port),
    bare: client.shot({ port: bare.port, path: '/same', headers: none, status: 200 }),
    command: client.shot({ port: bare.port, path: `/guarded/${database.orgId}`, headers: none, status: 200 }),
  };
  await tellBare(stage, JSON.parse((await shots.counted()).text));
  const single = await inTurn(shots, turnsOf(runs, TURNS));
  const load = await underLoad(
    {
      uncounted: { shot: shots.uncounted, pid: uncounted.child.pid },
      counted: { shot: shots.counted, pid: api.child.pid },
      bare: { shot: shots.bare, pid: bare.child.pid },
      command: { shot: shots.command, pid: bare.child.pid },
    },
    { ...LOAD, requests: runs * LOAD_FACTOR },
  );
  await uncounted.child.stop();
  return [uncountedFigure(load, single), countedFigure(load), commandFigure(single)];
}

interface Known {
  id: string;
  path: string;
}

async function someTicket({ database }: HttpStage): Promise<Known> {
  const found = await collectionOf(database.store, tickets.collection).findOne({ tenantId: database.orgId });
  if (!found) throw new Error('no ticket');
  return { id: found._id, path: `/psa/api/tickets/${found._id}` };
}

/** T9. */
export async function measureGet(stage: HttpStage): Promise<Figure[]> {
  const { client, api, bare, database } = stage;
  const { id, path } = await someTicket(stage);
  const sides = await inTurn(
    {
      ours: client.shot({ port: api.port, path, headers: takingTurns(stage.keys), status: 200 }),
      bare: client.shot({ port: bare.port, path: `/tickets/${database.orgId}/${id}`, headers: none, status: 200 }),
    },
    turnsOf(stage.runs, TURNS),
  );
  return [
    {
      budget: 'T9',
      name: 'GET one record, one at a time, p50',
      unit: 'ms',
      ours: median(sides.ours.latencies),
      bare: median(sides.bare.latencies),
      ratios: ratiosOf(sides.ours, sides.bare),
      floor: { bound: 'at most', value: 2, of: 'ratio' },
      more: { bare_is: 'Express that makes one raw findOne and answers what it found', ...sidesOf(sides) },
    },
  ];
}

async function tagOf(stage: HttpStage, path: string): Promise<string> {
  const { headers } = await stage.client.ask({ port: stage.api.port, path, headers: takingTurns(stage.keys) });
  return String(headers['etag']);
}

/** T12. What a process holds itself is fresh for as long as it runs; a record's version is the store's to tell. */
export async function measureUnchanged(stage: HttpStage): Promise<Figure[]> {
  const { client, api, bare, database } = stage;
  const { id, path } = await someTicket(stage);
  const held = '/psa/api/openapi.json';
  const [heldTag, recordTag] = [await tagOf(stage, held), await tagOf(stage, path)];
  const headers = takingTurns(stage.keys);
  const shots = {
    held: client.shot({ port: api.port, path: held, headers: () => ({ 'if-none-match': heldTag }), status: 304 }),
    bare: client.shot({ port: bare.port, path: '/unchanged', headers: none, status: 304 }),
  };
  // By themselves: behind a request that waits for the store, the one side has more to fetch into the caches again.
  const alone = await inTurn(shots, turnsOf(stage.runs * HELD_FACTOR, TURNS));
  const sides = await inTurn(
    {
      record: client.shot({
        port: api.port,
        path,
        headers: () => ({ ...headers(), 'if-none-match': recordTag }),
        status: 304,
      }),
      bare: shots.bare,
      commands: client.shot({
        port: bare.port,
        path: `/guarded/${database.orgId}/unchanged/${id}`,
        headers: none,
        status: 304,
      }),
    },
    turnsOf(stage.runs, TURNS),
  );
  const figure = (name: string, [ours, other]: [Timed, Timed], value: number | null): Figure => ({
    budget: 'T12',
    name,
    unit: 'ms',
    ours: p50(ours),
    bare: p50(other),
    ratios: ratiosOf(ours, other),
    floor: value === null ? null : { bound: 'at most', value, of: 'ratio' },
  });
  return [
    {
      ...figure('304 of a document that the process holds, p50', [alone.held, alone.bare], 1.2),
      more: {
        held_because:
          'Records are not held in memory, because another process may have changed them; what is held and always ' +
          'fresh are the documents of the API.',
        ...sidesOf({ ...alone, record: sides.record, commands: sides.commands }),
      },
    },
    {
      ...figure(
        '304 of a record, against Express that makes the same two store commands, p50',
        [sides.record, sides.commands],
        1.2,
      ),
      more: { commands: 'the charge of the limits, which also tells revoked keys, and the version of the record' },
    },
    figure('304 of a record, against Express that asks nobody, p50', [sides.record, sides.bare], null),
  ];
}
