/**
 * `npx tsx scripts/mutations.ts [n …]`: plants each known bug (or those of these numbers) in a copy of this folder and runs the test
 * that must notice. Prints what was noticed; ends with 1 when a bug lived. The copy is removed, this folder is untouched.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { removeServiceData, startServices } from './services';
import { MUTATIONS } from './mutations/list';
import type { Mutation } from './mutations/mutation';

const ROOT = resolve(__dirname, '..');
const TEST_TIMEOUT_MS = 240_000;

/** Every file of the folder that is or could be committed, with the packages it has already. */
function copyOf(folder: string): string {
  const copy = join(folder, 'copy');
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' });
  for (const file of files.split('\n').filter(Boolean)) cpSync(join(ROOT, file), join(copy, file));
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Most tests have the bug in their own process and need only the store, which all of them share. */
function configFor(copy: string): string {
  const path = join(copy, 'jest.mutations.js');
  const text = `module.exports = { ...require('./jest.config.js').projects[0], rootDir: __dirname, testTimeout: 120000,
    testMatch: ['<rootDir>/test/**/*.test.ts'] };`;
  writeFileSync(path, text);
  return path;
}

interface Outcome {
  /** Number of tests that failed; null when none could be run. */
  failed: number | null;
  seconds: number;
}

function runTest(copy: string, config: string, { test, name, needsApi }: Mutation): Outcome {
  const startedAt = performance.now();
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  // Suites that break things start their own processes.
  const project = test.startsWith('test/fault/') ? 'fault' : 'system';
  const suite = needsApi ? ['--selectProjects', project] : ['-c', config];
  const args = [...suite, '--runTestsByPath', test, '--silent', '--json', '--outputFile', report, '--forceExit'];
  spawnSync(join(ROOT, 'node_modules/.bin/jest'), [...args, ...(name ? ['-t', name] : [])], {
    cwd: copy,
    stdio: 'ignore',
    timeout: TEST_TIMEOUT_MS,
  });
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  try {
    const { numFailedTests, numPassedTests } = JSON.parse(readFileSync(report, 'utf8')) as Record<string, number>;
    const ran = (numFailedTests ?? 0) + (numPassedTests ?? 0);
    return { failed: ran > 0 ? (numFailedTests ?? 0) : null, seconds };
  } catch {
    return { failed: null, seconds };
  }
}

function tryOne(copy: string, config: string, mutation: Mutation): Outcome {
  const path = join(copy, mutation.file);
  const sound = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    sound.replace(mutation.before, () => mutation.after),
  );
  try {
    return runTest(copy, config, mutation);
  } finally {
    writeFileSync(path, sound);
  }
}

async function main(): Promise<void> {
  const only = new Set(process.argv.slice(2).map(Number));
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-mutations-'));
  const dataDir = join(folder, 'data');
  const services = await startServices({ dataDir, log: () => undefined, durable: false });
  const env = { SIGNALBOX_MODE: 'development', MONGODB_URI: services.mongodbUri };
  process.env['SIGNALBOX_TEST_STACK'] = JSON.stringify({ baseUrl: '', inboxUrl: '', env });
  let lived = 0;
  try {
    const copy = copyOf(folder);
    const config = configFor(copy);
    console.log('| # | Bug | Caught by | |\n|---|---|---|---|');
    for (const [index, mutation] of MUTATIONS.entries()) {
      if (only.size > 0 && !only.has(index + 1)) continue;
      const { failed, seconds } = tryOne(copy, config, mutation);
      const isCaught = failed !== null && failed > 0;
      if (!isCaught) lived += 1;
      const verdict = isCaught ? `${failed} failed, ${seconds} s` : failed === null ? 'NOT RUN' : 'LIVED';
      console.log(`| ${index + 1} | ${mutation.bug} | \`${mutation.test}\` | ${verdict} |`);
    }
  } finally {
    await services.stop();
    await removeServiceData(dataDir);
    rmSync(folder, { recursive: true, force: true });
  }
  process.exit(lived > 0 ? 1 : 0);
}

void main();
