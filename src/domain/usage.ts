/** How a key's requests are put into buckets of time and duration, and read from them again. */

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** How long figures are kept, in days. */
export const USAGE_DAYS_KEPT = 90;

/** Upper bounds of the duration buckets in milliseconds; the last one holds everything longer, too. */
const BOUNDS_MS = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000,
  30_000,
] as const;
const LAST = BOUNDS_MS.length - 1;
const PERCENTILE = 0.95;

/** Counts by name. */
export type Counts = Record<string, number>;

/** The bucket of a duration. */
export function durationBucket(milliseconds: number): number {
  const found = BOUNDS_MS.findIndex((bound) => milliseconds <= bound);
  return found < 0 ? LAST : found;
}

/** The duration that 95 of 100 requests did not exceed, as the upper bound of its bucket; null when none was counted. */
export function p95Of(durations: Counts): number | null {
  const counts = BOUNDS_MS.map((_bound, index) => durations[index] ?? 0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = Math.ceil(total * PERCENTILE);
  let seen = 0;
  const reached = counts.findIndex((count) => (seen += count) >= rank);
  return BOUNDS_MS[reached] ?? null;
}

/** Adds the second counts to the first. */
export function addCounts(to: Counts, from: Counts): void {
  for (const [name, count] of Object.entries(from)) to[name] = (to[name] ?? 0) + count;
}

/** What a key did in a span of time. */
export interface HourFigures {
  requests: number;
  errors: number;
  rateLimited: number;
  durations: Counts;
  statuses: Counts;
  /** Requests and errors by method and route template. */
  paths: Counts;
  failedPaths: Counts;
}

export const noFigures = (): HourFigures => ({
  requests: 0,
  errors: 0,
  rateLimited: 0,
  durations: {},
  statuses: {},
  paths: {},
  failedPaths: {},
});

/** Adds the second figures to the first. */
export function addFigures(to: HourFigures, from: HourFigures): void {
  to.requests += from.requests;
  to.errors += from.errors;
  to.rateLimited += from.rateLimited;
  for (const field of ['durations', 'statuses', 'paths', 'failedPaths'] as const) addCounts(to[field], from[field]);
}

/** Beginnings of the buckets that cover `from` up to, not including, `to`. */
export function bucketStarts(from: Date, to: Date, lengthMs: number): number[] {
  const first = Math.floor(from.getTime() / lengthMs) * lengthMs;
  const count = Math.max(0, Math.ceil((to.getTime() - first) / lengthMs));
  return Array.from({ length: count }, (_unused, index) => first + index * lengthMs);
}

/** Tells whether an id is asked about for the first time on a day (UTC). Forgets all of them with the day, or at `max`. */
export function firstOfDay(max: number): (id: string, now: Date) => boolean {
  let today = 0;
  let seen = new Set<string>();
  return (id, now) => {
    const day = Math.floor(now.getTime() / DAY_MS);
    if (day !== today || seen.size >= max) seen = new Set();
    today = day;
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  };
}
