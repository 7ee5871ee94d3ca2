/** Group commit of one kind of write: who comes alone goes alone and at once, and those who wait meanwhile go together. */
import { together } from '../domain/together';

/** A command of the store that takes longer holds nobody up. */
const PATIENCE_MS = 250;

interface Writing<Write, Result> {
  /** Writes of a command at the most. */
  max: number;
  alone: (write: Write) => Promise<Result>;
  /** Answers in the order of the writes; with promises for those that are not made yet. */
  all: (writes: readonly Write[]) => Promise<(Result | Promise<Result>)[]>;
}

/** Builds it. */
export function groupCommit<Write extends object, Result>({ max, alone, all }: Writing<Write, Result>) {
  const ask = together({ max, patienceMs: PATIENCE_MS }, async (_lane, writes: Write[]) => {
    const [write, ...others] = writes;
    return write && others.length === 0 ? [await alone(write)] : all(writes);
  });
  return (write: Write): Promise<Result> => ask('', write);
}
