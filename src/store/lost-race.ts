/** What a writer does who lost a race: it waits a moment, so that writers who met once do not meet again, and tries anew. */
import { setTimeout } from 'node:timers/promises';
import { randomFraction } from '../domain/ids';

/** The longest pause after the first lost race; each further one is twice as long, up to the last. */
const PAUSE_MS = 4;
const DOUBLINGS_MAX = 7;
/** Clients wait longer; a hundred writers of one record are through by then, also on a slow store. */
const PATIENCE_MS = 15_000;

/**
 * Makes an attempt until one wins. `attempt` is told how many races were lost before it, and answers null when it lost
 * another. Null when others were faster for 15 s.
 */
export async function untilWon<Result>(attempt: (lost: number) => Promise<Result | null>): Promise<Result | null> {
  const until = performance.now() + PATIENCE_MS;
  for (let lost = 0; ; lost += 1) {
    const result = await attempt(lost);
    if (result !== null || performance.now() > until) return result;
    await setTimeout(randomFraction() * PAUSE_MS * 2 ** Math.min(lost, DOUBLINGS_MAX));
  }
}
