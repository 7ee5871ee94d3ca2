/** The command line of `npm run bench`. */

/** What can be measured, by the number of its budget. */
export const BUDGETS = ['T1', 'T2', 'T3', 'T4', 'T5', 'T6', 'T15'] as const;
export type Budget = (typeof BUDGETS)[number];

const RUNS_DEFAULT = 100;
const RUNS_MAX = 2_000;

const USAGE = `npm run bench -- [--runs N] [--only T1,T3] [--write] [--profile FOLDER]

  --runs N          executions per side one after another; eight times as many at 50 at once (default ${RUNS_DEFAULT})
  --only T1,T3      measure these budgets only: ${BUDGETS.join(', ')}
  --write           keep the figures in docs/benchmarks instead of .signalbox/bench
  --profile FOLDER  write a CPU profile of api and worker there`;

export interface Options {
  runs: number;
  only: ReadonlySet<Budget>;
  isWritten: boolean;
  profileFolder: string | null;
}

/** A command line that cannot be followed; the message says why, with the usage. */
export class UsageError extends Error {
  constructor(why: string) {
    super(`${why}\n\n${USAGE}`);
  }
}

function runsOf(text: string): number {
  const runs = Number(text);
  if (!Number.isInteger(runs) || runs < 1 || runs > RUNS_MAX)
    throw new UsageError(`--runs takes a whole number from 1 to ${RUNS_MAX}, got "${text}"`);
  return runs;
}

function budgetsOf(text: string): Set<Budget> {
  const named = text.split(',').map((part) => part.trim().toUpperCase());
  const unknown = named.filter((name) => !BUDGETS.some((budget) => budget === name));
  if (unknown.length > 0) throw new UsageError(`unknown budgets: ${unknown.join(', ')}`);
  return new Set(BUDGETS.filter((budget) => named.includes(budget)));
}

/** Reads the arguments after the script's name; `--name value` and `--name=value` are the same. */
export function readOptions(argv: readonly string[]): Options {
  const rest = argv.flatMap((word) => (word.startsWith('--') ? word.split(/=(.*)/s, 2) : [word]));
  const options: Options = { runs: RUNS_DEFAULT, only: new Set(BUDGETS), isWritten: false, profileFolder: null };
  const valueOf = (flag: string): string => {
    const value = rest.shift();
    if (!value) throw new UsageError(`${flag} needs a value`);
    return value;
  };
  for (let flag = rest.shift(); flag !== undefined; flag = rest.shift()) {
    if (flag === '--runs') options.runs = runsOf(valueOf(flag));
    else if (flag === '--only') options.only = budgetsOf(valueOf(flag));
    else if (flag === '--write') options.isWritten = true;
    else if (flag === '--profile') options.profileFolder = valueOf(flag);
    else throw new UsageError(flag === '--help' ? 'npm run bench' : `unknown: ${flag}`);
  }
  return options;
}
