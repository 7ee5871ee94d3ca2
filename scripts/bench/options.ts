/** The command line of `npm run bench`. */

/** What can be measured: budgets by their number, and the figures of the API that no budget is set for. */
export const BUDGETS = [
  ...(['T1', 'T2', 'T3', 'T4', 'T5', 'T6', 'T8', 'T9', 'T10', 'T11', 'T12', 'T14', 'T15'] as const),
  'API',
] as const;
export type Budget = (typeof BUDGETS)[number];

/** Ten minutes of real windows are measured only when they are asked for. */
const DEFAULT: readonly Budget[] = BUDGETS.filter((budget) => budget !== 'T14');

const RUNS_DEFAULT = 100;
const RUNS_MAX = 2_000;
const ROWS_DEFAULT = 1_000_000;
const ROWS_MIN = 20_000;
const ROWS_MAX = 10_000_000;

const USAGE = `npm run bench -- [T1 T3 …] [--runs N] [--rows N] [--short] [--write] [--profile FOLDER]

  T1 T3 …           measure these only: ${BUDGETS.join(', ')}; all but T14 when none is named
  --runs N          gates per side; three times as many executions one after another, eight times at 50 at once (default ${RUNS_DEFAULT})
  --rows N          tickets of the large lists in T10 and T11 (default ${ROWS_DEFAULT})
  --short           T14 over two windows of a minute instead of ten
  --write           keep the figures in docs/benchmarks instead of .signalbox/bench
  --profile FOLDER  write CPU profiles of the product's processes there`;

export interface Options {
  runs: number;
  rows: number;
  isShort: boolean;
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

function wholeNumber(flag: string, text: string, range: { min: number; max: number }): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < range.min || value > range.max)
    throw new UsageError(`${flag} takes a whole number from ${range.min} to ${range.max}, got "${text}"`);
  return value;
}

function budgetsOf(names: readonly string[]): Set<Budget> {
  const named = names.map((name) => name.trim().toUpperCase());
  const unknown = named.filter((name) => !BUDGETS.some((budget) => budget === name));
  if (unknown.length > 0) throw new UsageError(`unknown budgets: ${unknown.join(', ')}`);
  return new Set(BUDGETS.filter((budget) => named.includes(budget)));
}

/** Reads the arguments after the script's name; `--name value` and `--name=value` are the same. */
export function readOptions(argv: readonly string[]): Options {
  const rest = argv.flatMap((word) => (word.startsWith('--') ? word.split(/=(.*)/s, 2) : [word]));
  const named: string[] = [];
  const options: Options = {
    runs: RUNS_DEFAULT,
    rows: ROWS_DEFAULT,
    isShort: false,
    only: new Set(DEFAULT),
    isWritten: false,
    profileFolder: null,
  };
  const valueOf = (flag: string): string => {
    const value = rest.shift();
    if (!value) throw new UsageError(`${flag} needs a value`);
    return value;
  };
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--runs') options.runs = wholeNumber(word, valueOf(word), { min: 1, max: RUNS_MAX });
    else if (word === '--rows') options.rows = wholeNumber(word, valueOf(word), { min: ROWS_MIN, max: ROWS_MAX });
    else if (word === '--only') named.push(...valueOf(word).split(','));
    else if (word === '--short') options.isShort = true;
    else if (word === '--write') options.isWritten = true;
    else if (word === '--profile') options.profileFolder = valueOf(word);
    else if (word.startsWith('-')) throw new UsageError(word === '--help' ? 'npm run bench' : `unknown: ${word}`);
    else named.push(word);
  }
  return named.length > 0 ? { ...options, only: budgetsOf(named) } : options;
}
