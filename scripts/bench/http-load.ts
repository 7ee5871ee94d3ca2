/** Requests and commands of several sides in turn, so that whatever else the machine does happens to all of them. */
import { Pool } from 'undici';
import { cpuUsOf } from './cpu';
import { median, quantile, rounded } from './figures';
import { inLanes } from './lanes';

const CONNECTIONS_MAX = 64;
const MS_MAX = 15_000;

/** One request or command; fails when it is not answered as it should be. */
export type Shot = () => Promise<unknown>;

/** A request that is made again and again. */
export interface Target {
  port: number;
  path: string | (() => string);
  headers: () => Record<string, string>;
  method?: 'GET' | 'POST' | 'DELETE';
  body?: () => unknown;
  status: number;
}

export interface Answered {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

export interface Client {
  /** Answers whatever comes back. */
  ask(target: Omit<Target, 'status'>): Promise<Answered>;
  /** A shot that insists on the target's status. */
  shot(target: Target): () => Promise<Answered>;
  close(): Promise<void>;
}

/** Requests over kept connections, with as little work of its own as can be. */
export function createClient(): Client {
  const pools = new Map<number, Pool>();
  const poolOf = (port: number): Pool => {
    const pool =
      pools.get(port) ??
      new Pool(`http://127.0.0.1:${port}`, {
        connections: CONNECTIONS_MAX,
        headersTimeout: MS_MAX,
        bodyTimeout: MS_MAX,
      });
    pools.set(port, pool);
    return pool;
  };
  async function ask({ port, path, headers, method = 'GET', body }: Omit<Target, 'status'>): Promise<Answered> {
    const reply = await poolOf(port).request({
      method,
      path: typeof path === 'string' ? path : path(),
      headers: headers(),
      ...(body ? { body: JSON.stringify(body()) } : {}),
    });
    return { status: reply.statusCode, headers: reply.headers, text: await reply.body.text() };
  }
  return {
    ask,
    shot: (target) => async () => {
      const answered = await ask(target);
      if (answered.status === target.status) return answered;
      throw new Error(`${target.method ?? 'GET'} ${String(target.path)}: ${answered.status} ${answered.text}`);
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.close()));
    },
  };
}

/** Latencies of one side, in blocks. */
export interface Timed {
  latencies: number[];
  /** The median of each block. */
  medians: number[];
}

async function timed(shot: Shot): Promise<number> {
  const startedAt = performance.now();
  await shot();
  return performance.now() - startedAt;
}

export interface Turns {
  blocks: number;
  /** Shots per side and block. */
  perBlock: number;
  warmUp: number;
}

/** Blocks that are not counted. */
export const WARM_UP_BLOCKS = 5;

/** Turns for a number of runs; with few of them the figures only show that everything works. */
export const turnsOf = (runs: number, { blocks, share }: { blocks: number; share: number }): Turns => ({
  blocks,
  perBlock: Math.ceil(runs * share),
  // Servers run for days: what the compiler does in the first minute is not what anybody waits for.
  warmUp: Math.ceil(runs * share * WARM_UP_BLOCKS),
});

/** One shot of each side after the other, each time beginning with another one. */
export async function inTurn<Side extends string>(
  shots: Record<Side, Shot>,
  { blocks, perBlock, warmUp }: Turns,
): Promise<Record<Side, Timed>> {
  const names = Object.keys(shots) as Side[];
  const sides = Object.fromEntries(names.map((name) => [name, { latencies: [], medians: [] }])) as unknown as Record<
    Side,
    Timed
  >;
  for (let turn = 0; turn < warmUp; turn += 1) for (const name of names) await shots[name]();
  for (let block = 0; block < blocks; block += 1) {
    const taken = new Map<Side, number[]>(names.map((name) => [name, []]));
    for (let turn = 0; turn < perBlock; turn += 1) {
      for (let place = 0; place < names.length; place += 1) {
        const name = names[(turn + place) % names.length] as Side;
        taken.get(name)?.push(await timed(shots[name]));
      }
    }
    for (const [name, latencies] of taken) {
      sides[name].latencies.push(...latencies);
      sides[name].medians.push(median(latencies));
    }
  }
  return sides;
}

/** Block by block, what one side took of the other. */
export const ratiosOf = (ours: Timed, bare: Timed): number[] =>
  ours.medians.map((value, block) => value / (bare.medians[block] ?? Number.NaN));

/** One side of a load. */
interface LoadSide {
  shot: Shot;
  pid: number;
}

export interface Loaded {
  latencies: number[];
  /** Microseconds of CPU per request, round by round. */
  cpuUs: number[];
  /** Requests per second, round by round. */
  rates: number[];
}

/** Rounds that are not counted. */
export const WARM_UP_ROUNDS = 3;

/** Many requests at once, in rounds of each side in turn. */
export async function underLoad<Side extends string>(
  sides: Record<Side, LoadSide>,
  { rounds, requests, concurrency }: { rounds: number; requests: number; concurrency: number },
): Promise<Record<Side, Loaded>> {
  const names = Object.keys(sides) as Side[];
  const loads = Object.fromEntries(
    names.map((name) => [name, { latencies: [], cpuUs: [], rates: [] }]),
  ) as unknown as Record<Side, Loaded>;
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    for (let place = 0; place < names.length; place += 1) {
      const name = names[(round + WARM_UP_ROUNDS + place) % names.length] as Side;
      const { shot, pid } = sides[name];
      const before = cpuUsOf(pid);
      const played = await inLanes({ runs: requests, concurrency }, () => timed(shot));
      const spentUs = cpuUsOf(pid) - before;
      // These rounds are for the compiler.
      if (round < 0) continue;
      const load = loads[name];
      load.latencies.push(...played.latencies);
      load.cpuUs.push(spentUs / requests);
      load.rates.push(rounded(requests / played.seconds));
    }
  }
  return loads;
}

/** What a reader wants of a load. */
export const loadFacts = ({ latencies, cpuUs, rates }: Loaded): Record<string, unknown> => ({
  requests_per_second: median(rates),
  p50: rounded(median(latencies)),
  p95: rounded(quantile(latencies, 0.95)),
  p99: rounded(quantile(latencies, 0.99)),
  cpu_us: cpuUs.map(rounded),
});
