/** `npm run check`: everything a change must pass before it is handed over, except the suites that need servers. */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '..');
const LANES_MAX = 4;
const OUTPUT_LINES_MAX = 200;

interface Part {
  name: string;
  program: string;
  args: string[];
}

const tool = (name: string, ...args: string[]): Pick<Part, 'program' | 'args'> => ({
  program: join(ROOT, 'node_modules/.bin', name),
  args,
});
const script = (path: string, ...args: string[]): Pick<Part, 'program' | 'args'> => ({
  program: process.execPath,
  args: ['--import', 'tsx', join(ROOT, path), ...args],
});

/** What did not change since the last run is not checked again: a change of one file takes seconds instead of half a minute. */
const types = (project: string, cache: string) =>
  tool('tsc', '--noEmit', '-p', project, '--incremental', '--tsBuildInfoFile', join(ROOT, '.signalbox', cache));

/** The longest first, so that no lane ends long after the others. */
const PARTS: Part[] = [
  { name: 'tests', ...tool('jest', '--selectProjects', 'unit', '--maxWorkers', '3', '--silent') },
  { name: 'lint', ...tool('oxlint', '--type-aware') },
  { name: 'types', ...types('tsconfig.json', 'types.tsbuildinfo') },
  { name: 'types of workflows', ...types('workflows', 'workflow-types.tsbuildinfo') },
  { name: 'openapi', ...script('scripts/openapi.ts', '--check') },
  { name: 'dead code', ...tool('knip', '--no-progress', '--cache', '--cache-location', join(ROOT, '.signalbox/knip')) },
  { name: 'format', ...tool('oxfmt', '--check') },
];

interface Outcome {
  part: Part;
  passed: boolean;
  seconds: number;
  output: string;
}

function run(part: Part): Promise<Outcome> {
  const startedAt = performance.now();
  const output: string[] = [];
  return new Promise((done) => {
    const finish = (passed: boolean): void =>
      done({ part, passed, seconds: (performance.now() - startedAt) / 1_000, output: output.join('') });
    const child = spawn(part.program, part.args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(String(chunk)));
    child.once('error', (error) => {
      output.push(`cannot run ${part.program}: ${error.message}\n`);
      finish(false);
    });
    child.once('close', (code) => finish(code === 0));
  });
}

function report({ part, passed, seconds, output }: Outcome): void {
  console.log(`${passed ? 'ok  ' : 'FAIL'}  ${part.name.padEnd(20)} ${seconds.toFixed(1).padStart(5)} s`);
  if (passed) return;
  const lines = output.trimEnd().split('\n');
  const left = Math.max(0, lines.length - OUTPUT_LINES_MAX);
  if (left > 0) console.log(`      … ${left} more lines above`);
  for (const line of lines.slice(left)) console.log(`      ${line}`);
}

/** Takes parts from the list until it is empty; several lanes share one list. */
async function lane(waiting: Part[], failed: string[]): Promise<void> {
  for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
    const outcome = await run(part);
    report(outcome);
    if (!outcome.passed) failed.push(part.name);
  }
}

async function main(): Promise<void> {
  const startedAt = performance.now();
  const waiting = [...PARTS];
  const failed: string[] = [];
  const lanes = Math.min(LANES_MAX, Math.max(2, availableParallelism()));
  await Promise.all(Array.from({ length: lanes }, () => lane(waiting, failed)));
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  console.log(
    failed.length === 0
      ? `all ${PARTS.length} parts passed in ${seconds} s`
      : `failed: ${failed.join(', ')} (${seconds} s)`,
  );
  process.exitCode = failed.length === 0 ? 0 : 1;
}

void main();
