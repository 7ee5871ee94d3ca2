/** How long and how often properties are tried. A failure prints seed, path and the smallest case that fails. */
import type { Parameters } from 'fast-check';

const read = (name: string): string | undefined => process.env[name] || undefined;

/** Properties over real servers are bound by time, so that a busy machine tries less and not longer. */
const LIMIT_MS = 45_000;
/** Time that one case and its report may take beyond the limit. */
const GRACE_MS = 60_000;
const NIGHT_MS = 3 * 60 * 60 * 1_000;

const isNight = read('PROPERTY_RUNS') !== undefined;

/** What a test of a property over real servers may take. */
export const PROPERTY_TIMEOUT_MS = (isNight ? NIGHT_MS : LIMIT_MS) + GRACE_MS;

/** A failure is repeated with the seed and the path that it printed. */
const again = <Case>(): Parameters<Case> => {
  const seed = read('PROPERTY_SEED');
  const path = read('PROPERTY_PATH');
  return { ...(seed ? { seed: Number(seed) } : {}), ...(path ? { path } : {}) };
};

/** Runs of a pure property: `usual`, or what `PROPERTY_RUNS` asks for at night. */
export const pure = <Case>(usual = 200): Parameters<Case> => ({
  numRuns: Number(read('PROPERTY_RUNS') ?? usual),
  ...again<Case>(),
});

/**
 * Runs of a property over real servers; `share` of the runs at night, one in a hundred unless named. `seed` is for few
 * usual runs that are to meet something in particular.
 */
export const served = <Case>(usual: number, share = 0.01, seed?: number): Parameters<Case> => ({
  ...(isNight || seed === undefined ? {} : { seed }),
  numRuns: isNight ? Math.max(usual, Math.ceil(Number(read('PROPERTY_RUNS')) * share)) : usual,
  ...(isNight ? {} : { interruptAfterTimeLimit: LIMIT_MS }),
  ...again<Case>(),
});
