/** Whether the engine answers: asked once for all who want to know, and told to operators when it changes. */
import type { Log } from '../log';

const REFUSAL_REMEMBERED_MS = 500;
const ASK_AGAIN_MS = 1_000;
const SAY_AGAIN_MS = 5 * 60_000;

/** How an outage is put to operators. */
export interface Telling {
  log: Pick<Log, 'warn'>;
  /** What is wrong and where to look; the same outage keeps its `kind`. */
  reasonOf: (error: unknown) => { kind: string; why: string };
}

interface Outage {
  kind: string;
  since: number;
  saidAt: number;
}

export interface Probe {
  /** A refusal is remembered for a moment, so that an outage costs callers one wait and not each. */
  answers(): Promise<boolean>;
  /** True when the last call was refused, a second or two ago. Nobody waits for this answer. */
  isAway(): boolean;
  close(): void;
}

const secondsSince = (at: number): number => Math.round((performance.now() - at) / 1_000);

/** Says once that the engine is away, again from time to time, and once that it is back. */
function createTeller({ log, reasonOf }: Telling) {
  let outage: Outage | null = null;
  return {
    away(error: unknown): void {
      const now = performance.now();
      const { kind, why } = reasonOf(error);
      if (outage?.kind === kind && now - outage.saidAt < SAY_AGAIN_MS) return;
      const since = outage?.since ?? now;
      log.warn('engine away', { why, ...(outage ? { away_s: secondsSince(since) } : {}) });
      outage = { kind, since, saidAt: now };
    },
    // As loud as the line that it takes back: who reads the one needs the other.
    back(): void {
      if (outage) log.warn('engine back', { away_s: secondsSince(outage.since) });
      outage = null;
    },
  };
}

/** While the engine is away it is asked every second, so that its return is told, and known, also when nobody wants anything of it. */
export function createProbe(ask: () => Promise<void>, telling: Telling | null): Probe {
  const teller = telling && createTeller(telling);
  let underWay: Promise<boolean> | null = null;
  let refusedAt: number | null = null;
  let again: NodeJS.Timeout | undefined;
  let isClosed = false;
  const attempt = async (): Promise<boolean> => {
    clearTimeout(again);
    try {
      await ask();
      refusedAt = null;
      if (!isClosed) teller?.back();
      return true;
    } catch (error) {
      refusedAt = performance.now();
      if (!isClosed) {
        teller?.away(error);
        again = setTimeout(() => void answers(), ASK_AGAIN_MS).unref();
      }
      return false;
    } finally {
      underWay = null;
    }
  };
  const answers = (): Promise<boolean> => {
    if (refusedAt !== null && performance.now() - refusedAt < REFUSAL_REMEMBERED_MS) return Promise.resolve(false);
    underWay ??= attempt();
    return underWay;
  };
  return {
    answers,
    isAway: () => refusedAt !== null,
    close() {
      isClosed = true;
      clearTimeout(again);
    },
  };
}
