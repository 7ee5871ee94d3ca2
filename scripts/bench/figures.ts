/** Figures: what was measured, against what, and whether the floor was reached. */
import type { Budget } from './options';
import type { Played } from './lanes';

export interface Floor {
  bound: 'at most' | 'at least';
  value: number;
  /** Whether the floor is on the ratio to the bare engine or on our own figure. */
  of: 'ratio' | 'ours';
}

export interface Figure {
  budget: Budget;
  name: string;
  unit: 'ms' | 'µs' | '/s' | 's' | 'writes' | 'reads' | 'plans' | 'requests' | 'rows';
  ours: number;
  bare: number | null;
  /** Null for figures that only explain another one. */
  floor: Floor | null;
  /** The ratio of each block that both sides were measured in, in turn; their median is the figure's ratio. */
  ratios?: readonly number[];
  /** CPU milliseconds per execution of our two processes and of the bare two. */
  cpu?: { ours: number; bare: number };
  more?: Record<string, unknown>;
}

export function ratioOf({ ours, bare, ratios }: Figure): number | null {
  if (ratios && ratios.length > 0) return median(ratios);
  return bare === null || bare === 0 ? null : ours / bare;
}

/** Null when there is no floor to pass. */
export function hasPassed(figure: Figure): boolean | null {
  const { floor, ours } = figure;
  if (!floor) return null;
  const value = floor.of === 'ours' ? ours : ratioOf(figure);
  if (value === null) return false;
  return floor.bound === 'at most' ? value <= floor.value : value >= floor.value;
}

/** The value that a share of all values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

const DECIMALS = 100;
export const rounded = (value: number): number => Math.round(value * DECIMALS) / DECIMALS;

/** Latencies as a reader wants them. */
export const spread = ({ latencies }: Pick<Played, 'latencies'>): Record<string, number> => ({
  n: latencies.length,
  min: rounded(Math.min(...latencies)),
  p50: rounded(median(latencies)),
  p95: rounded(quantile(latencies, 0.95)),
  p99: rounded(quantile(latencies, 0.99)),
  max: rounded(Math.max(...latencies)),
});
