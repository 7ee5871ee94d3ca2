/** `npm run bench`: the budgets, measured beside the bare engine, the bare server and the bare store in one run on one machine. */
import { buildMeasured } from './bench/build';
import { load } from './bench/cpu';
import { measureApi } from './bench/api-figures';
import { hasPassed, type Figure } from './bench/figures';
import { startHttpStage, type HttpStage } from './bench/http-stage';
import { measureLimits } from './bench/limits';
import { measureLists } from './bench/lists';
import { readOptions, UsageError, type Budget, type Options } from './bench/options';
import { QUIET_LOAD, tableOf, writeRun } from './bench/report';
import { measureChain, measureGet, measureUnchanged } from './bench/requests';
import { measureSpeed, REQUESTS_PER_RUN } from './bench/speed';
import { startStage, type Stage } from './bench/stage';
import { measureStarts } from './bench/start-times';
import { measureStore } from './bench/store-count';

const REQUESTS_BESIDE = 500;

const log = (line: string): void => void process.stderr.write(`${line}\n`);

/** What needs executions: engine, worker and the bare pair. */
const OF_EXECUTIONS: readonly Budget[] = ['T1', 'T2', 'T3', 'T4', 'T5', 'T6', 'T15'];

async function measureExecutions(stage: Stage, { runs, only }: Options): Promise<Figure[]> {
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

/** What needs nothing but requests, in the order of least disturbance: the large database comes last. */
async function measureRequests(stage: HttpStage, { rows, isShort, only }: Options): Promise<Figure[]> {
  const parts: [Budget, () => Promise<Figure[]>][] = [
    ['T8', () => measureChain(stage)],
    ['T9', () => measureGet(stage)],
    ['T12', () => measureUnchanged(stage)],
    ['API', () => measureApi(stage)],
    ['T14', () => measureLimits(stage, { isShort, log })],
  ];
  const figures: Figure[] = [];
  for (const [budget, measure] of parts) {
    if (!only.has(budget)) continue;
    log(`bench: ${budget}`);
    figures.push(...(await measure()));
  }
  if (only.has('T10') || only.has('T11')) figures.push(...(await measureLists(stage, { rows, only, log })));
  return figures;
}

type Measured = Pick<Stage | HttpStage, 'services'> & { figures: Figure[] };

async function onStage<Of extends { services: Stage['services']; stop(): Promise<void> }>(
  starting: Promise<Of>,
  measure: (stage: Of) => Promise<Figure[]>,
): Promise<Measured> {
  const stage = await starting;
  try {
    return { services: stage.services, figures: await measure(stage) };
  } finally {
    await stage.stop();
  }
}

async function measureAll(options: Options): Promise<Measured[]> {
  const { runs, only, profileFolder } = options;
  const done: Measured[] = [];
  if (OF_EXECUTIONS.some((budget) => only.has(budget))) {
    const requests = runs * REQUESTS_PER_RUN + REQUESTS_BESIDE;
    const stage = startStage({ log, requests, profileFolder });
    done.push(await onStage(stage, (it) => measureExecutions(it, options)));
  }
  if ([...only].some((budget) => !OF_EXECUTIONS.includes(budget)))
    done.push(await onStage(startHttpStage({ log, runs, profileFolder }), (it) => measureRequests(it, options)));
  return done;
}

async function main(): Promise<boolean> {
  const options = readOptions(process.argv.slice(2));
  const startedAt = new Date();
  const loadAtStart = load();
  if (loadAtStart >= QUIET_LOAD)
    log(`bench: the machine is busy (load ${loadAtStart.toFixed(1)}); ratios will be noisy`);
  log('bench: building');
  buildMeasured();
  const measured = await measureAll(options);
  const figures = measured.flatMap((part) => part.figures);
  const [first] = measured;
  const sources = first ? { engine: first.services.engine.source, store: first.services.store.source } : {};
  const { runs, rows, isWritten } = options;
  const path = writeRun({ startedAt, runs, rows, loadAtStart, sources, figures }, isWritten);
  console.log(`\n${tableOf(figures)}\n\nAll figures: ${path}`);
  return figures.every((figure) => hasPassed(figure) !== false);
}

main().then(
  (passed) => process.exit(passed ? 0 : 1),
  (error: unknown) => {
    log(error instanceof UsageError ? error.message : String(error instanceof Error ? error.stack : error));
    process.exit(error instanceof UsageError ? 2 : 1);
  },
);
