/** `npm test`: every suite, one closing line, a true exit code. Nothing is skipped because a server is missing. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { removeAbandoned } from './services';
import { onStopAsked, onUnread } from './services/exit-hooks';

const ROOT = resolve(__dirname, '..');

interface Suite {
  name: string;
  projects: string[];
  workers: number;
}

/**
 * Fast first. More workers than cores where suites wait: for leases and time limits to end, for processes to start.
 * Those that break things run beside those that use the product, since what they break is their own.
 */
const SUITES: Suite[] = [
  { name: 'unit, architecture and contract', projects: ['unit'], workers: 3 },
  { name: 'integration, workflow, end to end and faults', projects: ['system', 'fault'], workers: 5 },
];

interface Result {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
}

const STOPPED_CODE = 130;

let jestProcess: ChildProcess | undefined;
let isStopped = false;

/** Only a terminal tells Jest by itself: told by anybody else, it would run on for minutes, unseen, with its servers. */
function stop(): void {
  isStopped = true;
  jestProcess?.kill('SIGTERM');
}

function runJest(suite: Suite, outputFile: string): Promise<number> {
  const jest = resolve(ROOT, 'node_modules/jest/bin/jest.js');
  const args = [
    jest,
    '--selectProjects',
    ...suite.projects,
    '--maxWorkers',
    String(suite.workers),
    '--json',
    '--outputFile',
    outputFile,
    ...process.argv.slice(2),
  ];
  return new Promise((done) => {
    // The JSON goes to the file and the report to stderr; stdout would only repeat the JSON.
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
    jestProcess = child;
    child.once('exit', (code) => done(code ?? 1));
  });
}

const read = (file: string): Result | null => {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Result;
  } catch {
    return null;
  }
};

/** A skipped test counts as failed; so does a suite that could not even start, though no test of it has. */
function countOf(result: Result | null, code: number): { passed: number; failed: number } {
  if (!result) return { passed: 0, failed: 1 };
  const failed = result.numFailedTests + result.numPendingTests;
  const broken = failed === 0 && (code !== 0 || result.numPassedTests === 0);
  return { passed: result.numPassedTests, failed: broken ? 1 : failed };
}

async function main(): Promise<void> {
  onStopAsked(stop);
  onUnread(stop);
  await removeAbandoned(tmpdir(), 'signalbox-test-');
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-results-'));
  const total = { passed: 0, failed: 0 };
  for (const suite of SUITES) {
    if (isStopped) break;
    const startedAt = performance.now();
    process.stderr.write(`\n== ${suite.name} ==\n`);
    const file = join(folder, `${suite.projects.join('-')}.json`);
    const code = await runJest(suite, file);
    const counted = countOf(read(file), code);
    total.passed += counted.passed;
    total.failed += counted.failed;
    process.stderr.write(`== ${suite.name}: ${Math.round((performance.now() - startedAt) / 1_000)} s ==\n`);
  }
  rmSync(folder, { recursive: true, force: true });
  if (isStopped) {
    console.log('stopped before the end');
    process.exit(STOPPED_CODE);
  }
  console.log(`${total.passed} passed, ${total.failed} failed`);
  process.exit(total.failed === 0 ? 0 : 1);
}

void main();
