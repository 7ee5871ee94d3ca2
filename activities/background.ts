/** Work that an activity has begun and nobody waits for. What a killed worker leaves of it the sweep makes up for. */
import type { Context } from '../src/context';

export interface Background {
  /**
   * Runs `work` on its own, once whoever asks for it has had the time to answer; a failure is logged with what it was.
   */
  run(what: string, work: () => Promise<void>): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

/** Builds the background of a worker. */
export function createBackground({ log }: Pick<Context, 'log'>): Background {
  const underWay = new Set<Promise<void>>();
  return {
    run(what, work) {
      const running = new Promise((resolve) => setImmediate(resolve))
        .then(work)
        .catch((error: unknown) => log.warn('left to the sweep', { what, error }))
        .finally(() => underWay.delete(running));
      underWay.add(running);
    },
    async idle() {
      await Promise.all(underWay);
    },
  };
}
