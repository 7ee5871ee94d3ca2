/** Group commit: what is asked for one by one is done together with whatever else waits by then. */

interface Asked<Item, Result> {
  item: Item;
  resolve: (result: Result | Promise<Result>) => void;
  reject: (reason: unknown) => void;
}

interface Lane<Item, Result> {
  waiting: Asked<Item, Result>[];
  roundsUnderWay: number;
  lastRoundAtMs: number;
  /** Runs while somebody waits for a round to end. */
  patience: NodeJS.Timeout | undefined;
}

interface Rounds {
  /** Items of a round at the most. */
  max: number;
  /** A round that takes longer than this holds nobody up: whoever waits begins another beside it. */
  patienceMs: number;
}

/**
 * Runs `round` for one item at once, and for all that are asked for meanwhile as soon as it has ended. Every item has
 * its turn in a round that begins after it was asked for. Lanes know nothing of each other. What a round answers with a
 * promise is told when that is settled, and nobody waits for it.
 */
export function together<Item, Result>(
  { max, patienceMs }: Rounds,
  round: (lane: string, items: Item[]) => Promise<(Result | Promise<Result>)[]>,
): (lane: string, item: Item) => Promise<Result> {
  const lanes = new Map<string, Lane<Item, Result>>();

  /** Runs a round; what it answers tells those who asked. */
  async function ended(name: string, asked: readonly Asked<Item, Result>[]): Promise<() => void> {
    try {
      const items = asked.map(({ item }) => item);
      const results = await round(name, items);
      return () => asked.forEach(({ resolve }, index) => resolve(results[index] as Result | Promise<Result>));
    } catch (error) {
      return () => asked.forEach(({ reject }) => reject(error));
    }
  }

  function hold(name: string, lane: Lane<Item, Result>): void {
    if (lane.waiting.length > 0) lane.patience ??= setTimeout(() => void begin(name, lane), patienceMs);
  }

  async function begin(name: string, lane: Lane<Item, Result>): Promise<void> {
    clearTimeout(lane.patience);
    lane.patience = undefined;
    lane.roundsUnderWay += 1;
    lane.lastRoundAtMs = performance.now();
    const asked = lane.waiting.splice(0, max);
    hold(name, lane);
    const tell = await ended(name, asked);
    lane.roundsUnderWay -= 1;
    if (lane.waiting.length > 0) void begin(name, lane);
    else if (lane.roundsUnderWay === 0) lanes.delete(name);
    tell();
  }

  return (name, item) =>
    new Promise((resolve, reject) => {
      const lane = lanes.get(name) ?? { waiting: [], roundsUnderWay: 0, lastRoundAtMs: 0, patience: undefined };
      lanes.set(name, lane);
      lane.waiting.push({ item, resolve, reject });
      const isHeldUp = lane.roundsUnderWay > 0 && performance.now() - lane.lastRoundAtMs <= patienceMs;
      if (isHeldUp) hold(name, lane);
      else void begin(name, lane);
    });
}
