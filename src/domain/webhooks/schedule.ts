/** What follows from an attempt: done, again after a while, given up, or an endpoint that wants no more. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Pauses before the second to the tenth attempt: about 75 hours in all. */
export const PAUSES_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];
const JITTER = 0.2;
const RETRY_AFTER_MS_MAX = DAY;
const GONE = 410;
const ASKS_TO_WAIT: ReadonlySet<number> = new Set([429, 503]);

/** How one attempt went; `statusCode` is null when no answer came. */
export interface Outcome {
  ok: boolean;
  statusCode: number | null;
  retryAfterMs: number | null;
}

export type Verdict = { kind: 'delivered' } | { kind: 'retry'; waitMs: number } | { kind: 'failed' } | { kind: 'gone' };

interface Odds {
  /** From 0 up to 1: receivers that failed together are not asked together again. */
  random: number;
  /** Factor on the schedule; what a receiver asks for is not scaled. */
  scale: number;
}

/** Decides after attempt number `tries` (1 for the first). */
export function verdictOf(outcome: Outcome, tries: number, { random, scale }: Odds): Verdict {
  if (outcome.ok) return { kind: 'delivered' };
  if (outcome.statusCode === GONE) return { kind: 'gone' };
  const pauseMs = PAUSES_MS[tries - 1];
  if (pauseMs === undefined) return { kind: 'failed' };
  const spread = 1 - JITTER + 2 * JITTER * random;
  const asked = ASKS_TO_WAIT.has(outcome.statusCode ?? 0) ? Math.min(outcome.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX) : 0;
  return { kind: 'retry', waitMs: Math.max(Math.round(pauseMs * spread * scale), asked) };
}

/** An endpoint is disabled after this long without one success, and this many failures. */
const FAILING_MS_MAX = 5 * DAY;
const FAILURES_MAX = 20;
const STAGES = [100, 75, 50] as const;
export type Stage = (typeof STAGES)[number] | 0;

/** How far an endpoint is on its way to being disabled, in the steps that its owners are told about. */
export function stageOf({ failingSince, failures }: { failingSince: Date | null; failures: number }, now: Date): Stage {
  if (!failingSince) return 0;
  const progress = Math.min((now.getTime() - failingSince.getTime()) / FAILING_MS_MAX, failures / FAILURES_MAX);
  return STAGES.find((stage) => progress * 100 >= stage) ?? 0;
}
