/** T1 to T5: how fast executions are, and what they cost, beside the bare engine. */
import { setTimeout as pause } from 'node:timers/promises';
import { median, quantile, rounded, spread, type Figure, type Floor } from './figures';
import { inLanes, type BareRound, type BareShape, type Played } from './lanes';
import type { Budget } from './options';
import { cpuPair, playDuel, rateOf, type Side } from './rounds';
import type { Stage } from './stage';

/** Rounds of five: the machine is now a tenth faster and now a tenth slower, for longer than they take. */
const LATENCY_ROUNDS = 60;
const LATENCY_FACTOR = 3;
const GATE_ROUNDS = 20;
const LOAD_ROUNDS = 4;
const LOAD_FACTOR = 8;
const CONCURRENCY = 50;
const BARE_MS_MAX = 300_000;
/**
 * V8 is busy compiling for the first two thousand executions of a process, which no process that serves for long is; and
 * again for the first hundred when it turns from many at once to one at a time.
 */
const SERVED_FACTOR = 20;
/** The engine comes back to each task and activity when its ten seconds are over: whoever plays then would pay for it. */
const LOAD_REST_MS = 12_000;

/** Requests per run that all of this makes at the most, for keys enough. */
export const REQUESTS_PER_RUN = 250;

const playBare = (stage: Stage, round: BareRound): Promise<Played> => stage.bareClient.ask<Played>(round, BARE_MS_MAX);

const sidesOf = ({ ours, bare }: { ours: Side; bare: Side }): Record<string, unknown> => ({
  ours: { ...spread(ours), cpu_ms: ours.cpu, foreign_share: ours.foreignShares },
  bare: { ...spread(bare), cpu_ms: bare.cpu, foreign_share: bare.foreignShares },
});

/** What is measured beside what. */
interface Match {
  shape: 'light' | 'outside';
  bare: BareShape;
  name: string;
  /** Only workflows with nothing in them have a floor; what others show explains the distance to it. */
  isHeld: boolean;
}

const LIGHT: Match = { shape: 'light', bare: 'light', name: 'three light steps', isHeld: true };
const OUTSIDE: Match = { shape: 'outside', bare: 'outside', name: 'three outside steps', isHeld: true };
const CALLING: Match = { ...OUTSIDE, bare: 'calling', name: 'the same beside the same bare calls', isHeld: false };

const heldTo = ({ isHeld }: Match, floor: Floor): Floor | null => (isHeld ? floor : null);

/** Lets both sides serve for a while. */
async function warmUp(stage: Stage, runs: number, { shape, bare }: Match): Promise<void> {
  const load = { runs: runs * SERVED_FACTOR, concurrency: CONCURRENCY };
  await playBare(stage, { shape: bare, ...load });
  await stage.product.load(shape, load);
  await pause(LOAD_REST_MS);
}

/** T1 and T2: one after another. */
async function measureLatency(stage: Stage, runs: number, what: { budget: 'T1' | 'T2'; match: Match }) {
  const { budget, match } = what;
  const sides = await playDuel(stage.groups, {
    ours: (count) => stage.product.single(match.shape, count),
    bare: (count) => playBare(stage, { shape: match.bare, runs: count, concurrency: 1 }),
    runs: runs * LATENCY_FACTOR,
    rounds: LATENCY_ROUNDS,
    warmUp: runs,
  });
  return {
    budget,
    name: `event posted → completed readable, ${match.name}, one at a time, p50`,
    unit: 'ms',
    ours: median(sides.ours.latencies),
    bare: median(sides.bare.latencies),
    floor: heldTo(match, { bound: 'at most', value: 1.5, of: 'ratio' }),
    cpu: cpuPair(sides),
    more: sidesOf(sides),
  } satisfies Figure;
}

interface LoadFigures {
  rate: Figure;
  cpu: Figure;
}

/** T3 and T5: fifty at once. */
async function measureLoad(stage: Stage, runs: number, match: Match): Promise<LoadFigures> {
  const sides = await playDuel(stage.groups, {
    ours: (count) => stage.product.load(match.shape, { runs: count, concurrency: CONCURRENCY }),
    bare: (count) => playBare(stage, { shape: match.bare, runs: count, concurrency: CONCURRENCY }),
    runs: runs * LOAD_FACTOR,
    rounds: LOAD_ROUNDS,
    warmUp: 0,
    restMs: LOAD_REST_MS,
  });
  const cpu = cpuPair(sides);
  const more = { ...sidesOf(sides), rates: { ours: sides.ours.rates, bare: sides.bare.rates } };
  return {
    rate: {
      budget: 'T3',
      name: `executions per second, ${match.name}, ${CONCURRENCY} at once`,
      unit: '/s',
      ours: rateOf(sides.ours),
      bare: rateOf(sides.bare),
      floor: heldTo(match, { bound: 'at least', value: 0.7, of: 'ratio' }),
      cpu,
      more,
    },
    cpu: {
      budget: 'T5',
      name: `CPU of our processes per execution, ${match.name}, ${CONCURRENCY} at once`,
      unit: 'ms',
      ours: cpu.ours,
      bare: cpu.bare,
      floor: match === LIGHT ? { bound: 'at most', value: 1.5, of: 'ratio' } : null,
    },
  };
}

/** T4: from a decision to the step behind the gate. */
async function measureGate(stage: Stage, runs: number): Promise<Figure[]> {
  const answered: number[] = [];
  const sides = await playDuel(stage.groups, {
    ours: (count) =>
      inLanes({ runs: count, concurrency: 1 }, async () => {
        const { fromAnsweredMs, fromSentMs } = await stage.product.gate();
        answered.push(fromAnsweredMs);
        return fromSentMs;
      }),
    bare: (count) => playBare(stage, { shape: 'gated', runs: count, concurrency: 1 }),
    runs,
    rounds: GATE_ROUNDS,
    warmUp: 0,
  });
  const bare = median(sides.bare.latencies);
  return [
    {
      budget: 'T4',
      name: 'decision answered → next step started, p50',
      unit: 'ms',
      ours: median(answered),
      bare,
      floor: { bound: 'at most', value: 1.5, of: 'ratio' },
      more: { p95: rounded(quantile(answered, 0.95)) },
    },
    {
      budget: 'T4',
      name: 'decision sent → next step started, p50',
      unit: 'ms',
      ours: median(sides.ours.latencies),
      bare,
      floor: null,
      more: sidesOf(sides),
    },
  ];
}

/** Measures what was asked for of T1 to T5. */
export async function measureSpeed(
  stage: Stage,
  options: { runs: number; only: ReadonlySet<Budget>; log: (line: string) => void },
): Promise<Figure[]> {
  const { runs, only, log } = options;
  const figures: Figure[] = [];
  const served = new Set<Match>();
  const warmedUp = async (match: Match): Promise<void> => {
    if (served.has(match)) return;
    served.add(match);
    await warmUp(stage, runs, match);
  };
  if (only.has('T3') || only.has('T5')) {
    for (const match of [LIGHT, OUTSIDE, CALLING]) {
      await warmedUp(match);
      log(`bench: T3 and T5, ${match.name}, ${runs * LOAD_FACTOR} executions per side, ${CONCURRENCY} at once`);
      const { rate, cpu } = await measureLoad(stage, runs, match);
      figures.push(...[rate, cpu].filter(({ budget }) => only.has(budget)));
    }
  }
  for (const [budget, match] of [
    ['T1', LIGHT],
    ['T2', OUTSIDE],
    ['T2', CALLING],
  ] as const) {
    if (!only.has(budget)) continue;
    await warmedUp(match);
    log(`bench: ${budget}, ${match.name}, ${runs * LATENCY_FACTOR} executions per side`);
    figures.push(await measureLatency(stage, runs, { budget, match }));
  }
  if (only.has('T4')) {
    log(`bench: T4, ${runs} gates per side`);
    figures.push(...(await measureGate(stage, runs)));
  }
  return figures;
}
