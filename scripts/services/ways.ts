/** Tries the ways of having a service in their order and announces what became of each in one line. */
import type { Log, Source } from './types';

/** Ends the search instead of going on to the next way: somebody asked for exactly this one and it does not work. */
export class StopHere extends Error {}

export interface Way<T> {
  source: Source;
  /** What is tried, such as "`temporal` on PATH". */
  title: string;
  attempt(): Promise<T>;
}

export interface Choice<T> {
  source: Source;
  value: T;
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The first way that works. `advice` ends the error when none does. */
export async function firstWay<T>(
  subject: string,
  ways: readonly Way<T>[],
  log: Log,
  advice: string,
): Promise<Choice<T>> {
  const reasons: string[] = [];
  for (const [index, way] of ways.entries()) {
    const step = `${subject} ${index + 1}/${ways.length}: ${way.title}`;
    try {
      const value = await way.attempt();
      log(`${step}: in use`);
      return { source: way.source, value };
    } catch (error) {
      if (error instanceof StopHere) throw error;
      const reason = reasonOf(error);
      reasons.push(`  ${way.title}: ${reason}`);
      log(`${step}: ${reason.split('\n')[0]}`);
    }
  }
  throw new Error(`No ${subject} could be had.\n${reasons.join('\n')}\n${advice}`);
}
