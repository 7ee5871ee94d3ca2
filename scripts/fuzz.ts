/** `npm run fuzz`: generated requests against every operation of the running product; what it answers is what it says. */
import { randomInt } from 'node:crypto';
import { join, resolve } from 'node:path';
import { readConfig } from '../src/config';
import { openStore } from '../src/store/connect';
import { startStack } from '../test/support/stack';
import { createCast, type Cast } from './fuzz/cast';
import { readOptions, UsageError, type Options } from './fuzz/options';
import { ensureSchemathesis, type Schemathesis } from './fuzz/python';
import { failuresIn, runMount, type MountResult } from './fuzz/run-mount';
import { createSetup } from './services/setup';

const ROOT = resolve(__dirname, '..');
const FOLDER = join(ROOT, '.signalbox/fuzz');
/** Schemathesis uses one core, the product under it the other. */
const LANES = 2;
const SEED_MAX = 2 ** 32;
/** A session's cookie has the name the document says only where clients come by https. */
const FUZZ_ENVIRONMENT = { PUBLIC_URL: 'https://signalbox.test' };

const log = (line: string): void => void process.stderr.write(`fuzz: ${line}\n`);
const setup = createSetup({ dataDir: FOLDER, log });
type Stack = Awaited<ReturnType<typeof startStack>>;

async function createCasts({ env, baseUrl }: Stack, { mounts }: Options): Promise<Cast[]> {
  const store = openStore(env['MONGODB_URI'] ?? '');
  try {
    const casts: Cast[] = [];
    for (const mount of mounts) casts.push(await createCast({ baseUrl, config: readConfig(env), store }, mount));
    return casts;
  } finally {
    await store.close();
  }
}

const titleOf = ({ mount, operations, cases, findings, seconds }: MountResult): string =>
  `${mount.padEnd(10)} ${String(operations).padStart(4)} operations ${String(cases).padStart(7)} cases ` +
  `${String(findings.length).padStart(4)} findings ${String(seconds).padStart(5)} s`;

/** Takes casts from the list until it is empty; several lanes share one list. */
async function lane(waiting: Cast[], results: MountResult[], run: (cast: Cast) => Promise<MountResult>): Promise<void> {
  for (let cast = waiting.shift(); cast !== undefined; cast = waiting.shift()) {
    const result = await run(cast);
    results.push(result);
    log(titleOf(result));
  }
}

async function fuzz(stack: Stack, schemathesis: Schemathesis, options: Options): Promise<MountResult[]> {
  const casts = await setup.progress.track('creating tenants and records', () => createCasts(stack, options));
  const results: MountResult[] = [];
  const run = (cast: Cast): Promise<MountResult> =>
    setup.progress.track(cast.mount, (report) =>
      runMount({ ...options, cast, baseUrl: stack.baseUrl, schemathesis, folder: FOLDER }, report),
    );
  await Promise.all(Array.from({ length: LANES }, () => lane(casts, results, run)));
  return results;
}

function report(results: readonly MountResult[], { seed, mounts }: Options): boolean {
  for (const { mount, findings, output } of results) {
    if (findings.length > 0) console.log(`\n${mount}\n${failuresIn(output)}\n  ${findings.join('\n  ')}`);
  }
  console.log('');
  for (const mount of mounts) {
    const result = results.find((candidate) => candidate.mount === mount);
    if (result) console.log(titleOf(result));
  }
  const cases = results.reduce((sum, result) => sum + result.cases, 0);
  const findings = results.reduce((sum, result) => sum + result.findings.length, 0);
  console.log(`${cases} cases, ${findings} findings; repeat with --seed ${seed}; all output in ${FOLDER}`);
  return findings === 0 && results.length === mounts.length;
}

async function main(): Promise<boolean> {
  const options = readOptions(process.argv.slice(2), () => randomInt(1, SEED_MAX));
  log(`seed ${options.seed}`);
  const schemathesis = await ensureSchemathesis(setup);
  const stack = await setup.progress.track('starting engine, store, api and worker', () =>
    startStack({ env: FUZZ_ENVIRONMENT }),
  );
  try {
    return report(await fuzz(stack, schemathesis, options), options);
  } finally {
    await stack.stop();
  }
}

main().then(
  (passed) => process.exit(passed ? 0 : 1),
  (error: unknown) => {
    log(error instanceof UsageError ? error.message : String(error instanceof Error ? error.stack : error));
    process.exit(error instanceof UsageError ? 2 : 1);
  },
);
