/** The command line of `npm run fuzz`. */
import type { ServiceName } from '../../src/contracts/operation';
import { documentedServices } from '../../src/http/api-documents';

const EXAMPLES_DEFAULT = 25;
const EXAMPLES_MAX = 10_000;
/**
 * The coverage phase of a short run takes one of so many operations, and of what it makes up for these one of so many
 * cases. Making cases up is what costs, whether they are sent or not, so few operations are tried deeper rather than all
 * of them with a case or two. Which ones differs by mount, so every kind of a resource's eight routes is among them.
 */
const OPERATIONS_SHARE_SHORT = 25;
const SHARE_SHORT = 16;
const PHASES = ['examples', 'coverage', 'fuzzing', 'stateful'] as const;
/** What is left out costs most of its time making requests up, not sending them. */
const PHASES_SHORT = PHASES.slice(0, 2);
const SEED_SHORT = 20_261_120;

const USAGE = `npm run fuzz -- [--seed N] [--max-examples N] [--mount psa,crm] [--short]

  --seed N          repeats a run; a new one each time unless named, ${SEED_SHORT} for a short run
  --max-examples N  requests per operation in the fuzzing phase (${EXAMPLES_DEFAULT})
  --mount psa,crm   these mounts only: ${documentedServices.join(', ')}
  --short           every operation by its examples, a share of them in the coverage phase, always the same`;

/** How much of a mount is tried. */
export interface Effort {
  seed: number;
  maxExamples: number;
  /** One of so many cases of the coverage phase; 1 is all of them. */
  share: number;
  /** One of so many operations has a coverage phase; 1 is all of them. */
  operationsShare: number;
  /** Of schemathesis, in its order. */
  phases: readonly string[];
}

export interface Options extends Effort {
  mounts: readonly ServiceName[];
}

/** A command line that cannot be followed; the message says why, with the usage. */
export class UsageError extends Error {
  constructor(why: string) {
    super(`${why}\n\n${USAGE}`);
  }
}

/** A short look: reproducible, and about a minute for all mounts. */
export const SHORT: Effort = {
  seed: SEED_SHORT,
  maxExamples: EXAMPLES_DEFAULT,
  share: SHARE_SHORT,
  operationsShare: OPERATIONS_SHARE_SHORT,
  phases: PHASES_SHORT,
};

function wholeNumber(flag: string, text: string, maximum: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > maximum)
    throw new UsageError(`${flag} takes a whole number from 1 to ${maximum}, got "${text}"`);
  return value;
}

function mountsOf(text: string): ServiceName[] {
  const named = text.split(',').map((part) => part.trim());
  const unknown = named.filter((name) => !documentedServices.some((mount) => mount === name));
  if (unknown.length > 0) throw new UsageError(`unknown mounts: ${unknown.join(', ')}`);
  return documentedServices.filter((mount) => named.includes(mount));
}

/** Reads the arguments after the script's name; `--name value` and `--name=value` are the same. */
export function readOptions(argv: readonly string[], randomSeed: () => number): Options {
  const rest = argv.flatMap((word) => (word.startsWith('--') ? word.split(/=(.*)/s, 2) : [word]));
  const given: Partial<Options> = {};
  let base: Effort | null = null;
  const valueOf = (flag: string): string => {
    const value = rest.shift();
    if (!value) throw new UsageError(`${flag} needs a value`);
    return value;
  };
  for (let flag = rest.shift(); flag !== undefined; flag = rest.shift()) {
    if (flag === '--seed') given.seed = wholeNumber(flag, valueOf(flag), Number.MAX_SAFE_INTEGER);
    else if (flag === '--max-examples') given.maxExamples = wholeNumber(flag, valueOf(flag), EXAMPLES_MAX);
    else if (flag === '--mount') given.mounts = mountsOf(valueOf(flag));
    else if (flag === '--short') base = SHORT;
    else throw new UsageError(flag === '--help' ? 'npm run fuzz' : `unknown: ${flag}`);
  }
  const all = { share: 1, operationsShare: 1, phases: PHASES };
  const full: Effort = { seed: randomSeed(), maxExamples: EXAMPLES_DEFAULT, ...all };
  return { mounts: documentedServices, ...(base ?? full), ...given };
}
