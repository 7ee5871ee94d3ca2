/** `npm run bench`: the budgets of an execution, measured beside the bare engine in one run on one machine. */
import { buildMeasured } from './bench/build';
import { load } from './bench/cpu';
import { hasPassed, type Figure } from './bench/figures';
import { readOptions, UsageError, type Options } from './bench/options';
import { QUIET_LOAD, tableOf, writeRun } from './bench/report';
import { measureSpeed, REQUESTS_PER_RUN } from './bench/speed';
import { startStage, type Stage } from './bench/stage';
import { measureStarts } from './bench/start-times';
import { measureStore } from './bench/store-count';

const REQUESTS_BESIDE = 500;

const log = (line: string): void => void process.stderr.write(`${line}\n`);

async function measure(stage: Stage, { runs, only }: Options): Promise<Figure[]> {
  const figures = await measureSpeed(stage, { runs, only, log });
  if (only.has('T6')) {
    log('bench: T6, commands of the store');
    figures.push(...(await measureStore(stage)));
  }
  if (only.has('T15')) {
    log('bench: T15, starts');
    figures.push(...(await measureStarts(stage)));
  }
  return figures;
}

async function main(): Promise<boolean> {
  const options = readOptions(process.argv.slice(2));
  const startedAt = new Date();
  const loadAtStart = load();
  if (loadAtStart >= QUIET_LOAD)
    log(`bench: the machine is busy (load ${loadAtStart.toFixed(1)}); ratios will be noisy`);
  log('bench: building');
  buildMeasured();
  const requests = options.runs * REQUESTS_PER_RUN + REQUESTS_BESIDE;
  const stage = await startStage({ log, requests, profileFolder: options.profileFolder });
  try {
    const figures = await measure(stage, options);
    const { engine, store } = stage.services;
    const sources = { engine: engine.source, store: store.source };
    const path = writeRun({ startedAt, runs: options.runs, loadAtStart, sources, figures }, options.isWritten);
    console.log(`\n${tableOf(figures)}\n\nAll figures: ${path}`);
    return figures.every((figure) => hasPassed(figure) !== false);
  } finally {
    await stage.stop();
  }
}

main().then(
  (passed) => process.exit(passed ? 0 : 1),
  (error: unknown) => {
    log(error instanceof UsageError ? error.message : String(error instanceof Error ? error.stack : error));
    process.exit(error instanceof UsageError ? 2 : 1);
  },
);
