/** Work that comes round again and again until it is stopped. */
import { setTimeout } from 'node:timers/promises';

export interface Loop {
  /** No pass begins any more; answers when the one under way is over. */
  stop: () => Promise<void>;
}

interface Rounds {
  /** Time between the end of a pass and the beginning of the next. */
  pauseMs: number;
  /** Told of the first pass that fails of several in a row, and of none that a stop breaks off. */
  failed: (error: unknown) => void;
}

/** Makes a pass at once and after every pause. One that fails is made again like any other. */
export function startLoop(pass: () => Promise<void>, { pauseMs, failed }: Rounds): Loop {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async (): Promise<void> => {
    let isFailing = false;
    while (!signal.aborted) {
      try {
        await pass();
        isFailing = false;
      } catch (error) {
        if (!isFailing && !signal.aborted) failed(error);
        isFailing = true;
      }
      // An abort ends the pause early; that is all it means here.
      await setTimeout(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const running = run();
  return {
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}
