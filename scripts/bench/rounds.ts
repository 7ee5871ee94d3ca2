/** Rounds of both sides in turn, so that a machine that warms up or slows down does so for both. */
import { setTimeout as pause } from 'node:timers/promises';
import { startMeter, type Groups } from './cpu';
import { rounded } from './figures';
import type { Played } from './lanes';

type Player = (runs: number) => Promise<Played>;

export interface Duel {
  ours: Player;
  bare: Player;
  /** Executions per side in all. */
  runs: number;
  rounds: number;
  /** Executions per side that are played first and not counted. */
  warmUp: number;
  /** Rest before every turn, in milliseconds. */
  restMs?: number;
}

/** All rounds of one side. */
export interface Side extends Omit<Played, 'verify'> {
  /** CPU milliseconds per execution, by group. */
  cpu: Record<string, number>;
  /** Executions per second of each round. */
  rates: number[];
  foreignShares: number[];
}

interface Sum extends Omit<Played, 'verify'> {
  cpuMs: Record<string, number>;
  rates: number[];
  foreignShares: number[];
}

const emptySum = (): Sum => ({ latencies: [], seconds: 0, cpuMs: {}, rates: [], foreignShares: [] });

async function playRound(groups: Groups, player: Player, runs: number, sum: Sum): Promise<void> {
  const stop = startMeter(groups);
  const played = await player(runs);
  const spent = stop();
  await played.verify?.();
  sum.latencies.push(...played.latencies);
  sum.seconds += played.seconds;
  sum.rates.push(rounded(runs / played.seconds));
  sum.foreignShares.push(rounded(spent.foreignShare));
  for (const [group, milliseconds] of Object.entries(spent.cpuMs))
    sum.cpuMs[group] = (sum.cpuMs[group] ?? 0) + milliseconds;
}

function sideOf({ cpuMs, ...sum }: Sum): Side {
  const runs = sum.latencies.length;
  const cpu = Object.entries(cpuMs).map(([group, milliseconds]) => [group, rounded(milliseconds / runs)] as const);
  return { ...sum, cpu: Object.fromEntries(cpu) };
}

/** Plays bare, ours, ours, bare, bare, ours … */
export async function playDuel(groups: Groups, duel: Duel): Promise<{ ours: Side; bare: Side }> {
  const sums = { ours: emptySum(), bare: emptySum() };
  const { restMs = 0 } = duel;
  const perRound = Math.max(1, Math.ceil(duel.runs / duel.rounds));
  if (duel.warmUp > 0) {
    await duel.bare(duel.warmUp);
    await duel.ours(duel.warmUp);
  }
  for (let round = 0; round < duel.rounds; round += 1) {
    const turns = round % 2 === 0 ? (['bare', 'ours'] as const) : (['ours', 'bare'] as const);
    for (const turn of turns) {
      await pause(restMs);
      await playRound(groups, duel[turn], perRound, sums[turn]);
    }
  }
  return { ours: sideOf(sums.ours), bare: sideOf(sums.bare) };
}

export const rateOf = (side: Side): number => side.latencies.length / side.seconds;

const sumOf = (side: Side, groups: readonly string[]): number =>
  rounded(groups.reduce((sum, group) => sum + (side.cpu[group] ?? 0), 0));

/** CPU per execution of api and worker, against that of the bare worker and client. */
export const cpuPair = ({ ours, bare }: { ours: Side; bare: Side }): { ours: number; bare: number } => ({
  ours: sumOf(ours, ['api', 'worker']),
  bare: sumOf(bare, ['bare_worker', 'bare_client']),
});
