/** Closed loops: a fixed number of executions under way, each followed by the next as soon as it has ended. */

/** Latencies in milliseconds, and how long the whole took. */
export interface Played {
  latencies: number[];
  seconds: number;
  /** Finds out, when time is not counted any more, whether what was played is really done. */
  verify?: () => Promise<void>;
}

export interface Load {
  runs: number;
  concurrency: number;
}

/** What executions are made of: three light steps, three that touch the outside, or a gate. */
export type Shape = 'light' | 'outside' | 'gated';

/** What bare workflows are made of: as ours, with nothing in them; or `calling`, which makes the calls of `outside`. */
export type BareShape = Shape | 'calling';

/** What the bare client is asked to play. */
export interface BareRound extends Load {
  shape: BareShape;
}

/** How long a gate is left alone before its decision, so that its workflow is really waiting. */
export const GATE_REST_MS = 30;

/** Beyond this something is broken, and figures would say nothing. */
const LOOP_MS_MAX = 300_000;

/** Plays `runs` executions, `concurrency` at a time. */
export async function inLanes({ runs, concurrency }: Load, play: () => Promise<number>): Promise<Played> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun < runs) {
      if (performance.now() - startedAt > LOOP_MS_MAX) throw new Error(`${runs} executions took too long`);
      begun += 1;
      latencies.push(await play());
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, runs) }, lane));
  return { latencies, seconds: (performance.now() - startedAt) / 1_000 };
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
