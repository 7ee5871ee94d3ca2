import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isAlive, waitFor } from '../../../scripts/services/processes';

const PROJECT = resolve(__dirname, '../../..');

let folder = '';

const at = (path: string): string => join(folder, path);

/** What `npm ci` leaves behind, as far as the bootstrap looks at it. */
function fillModules(): void {
  mkdirSync(at('node_modules'), { recursive: true });
  writeFileSync(at('node_modules/.package-lock.json'), '{}');
  symlinkSync(join(PROJECT, 'node_modules/tsx'), at('node_modules/tsx'));
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-bootstrap-'));
  mkdirSync(at('scripts'));
  copyFileSync(join(PROJECT, 'scripts/bootstrap.js'), at('scripts/bootstrap.js'));
  writeFileSync(at('package-lock.json'), '{}');
  writeFileSync(
    at('scripts/check.ts'),
    `const words: string[] = process.argv.slice(2);\nconsole.log(words.join('+'));\nprocess.exit(7);\n`,
  );
  // Stands for npm: does what `npm ci` would.
  writeFileSync(
    at('npm.js'),
    `const fs = require('node:fs');
     fs.writeFileSync('npm-arguments', process.argv.slice(2).join(' '));
     if (fs.existsSync('fail')) process.exit(5);
     if (fs.existsSync('deaf')) {
       process.on('SIGINT', () => {});
       fs.writeFileSync('deaf', String(process.pid));
       setTimeout(() => {}, 60_000);
       return;
     }
     fs.mkdirSync('node_modules', { recursive: true });
     fs.writeFileSync('node_modules/.package-lock.json', '{}');
     fs.appendFileSync('installs', 'x');
     if (fs.existsSync('slow')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
     if (!fs.existsSync('node_modules/tsx')) fs.symlinkSync(${JSON.stringify(join(PROJECT, 'node_modules/tsx'))}, 'node_modules/tsx');`,
  );
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const environment = () => ({ ...process.env, npm_execpath: at('npm.js') });

function bootstrap(args: readonly string[], flags: readonly string[] = []): SpawnSyncReturns<string> {
  const command = [...flags, at('scripts/bootstrap.js'), ...args];
  return spawnSync(process.execPath, command, { cwd: folder, env: environment(), encoding: 'utf8' });
}

test('the command gets its arguments, and its exit code is kept', () => {
  fillModules();
  const { stdout, status } = bootstrap(['check', '--fix', 'src']);
  expect(stdout).toBe('--fix+src\n');
  expect(status).toBe(7);
  expect(existsSync(at('npm-arguments'))).toBe(false);
});

test('missing packages are installed first, and that is said', () => {
  const { stdout, status } = bootstrap(['check']);
  expect(readFileSync(at('npm-arguments'), 'utf8')).toBe('ci --include=dev');
  expect(stdout).toContain('installing packages (npm ci)');
  expect(stdout).toContain('packages installed in');
  expect(status).toBe(7);
});

test('packages older than the lock file are installed again', () => {
  fillModules();
  const later = new Date(Date.now() + 10_000);
  utimesSync(at('package-lock.json'), later, later);
  bootstrap(['check']);
  expect(existsSync(at('npm-arguments'))).toBe(true);
});

test('packages without those for development are installed again', () => {
  mkdirSync(at('node_modules'));
  writeFileSync(at('node_modules/.package-lock.json'), '{}');
  expect(bootstrap(['check']).status).toBe(7);
  expect(existsSync(at('npm-arguments'))).toBe(true);
});

/** A `check` beside others; resolves with its exit code. */
async function start(flags: readonly string[] = []): Promise<number | null> {
  const options = { cwd: folder, env: environment(), stdio: 'ignore' } as const;
  const command = [...flags, at('scripts/bootstrap.js'), 'check'];
  const [code] = (await once(spawn(process.execPath, command, options), 'exit')) as [number | null];
  return code;
}

test('two commands at once install once, and a lock of the dead is not waited for', async () => {
  writeFileSync(at('slow'), '');
  mkdirSync(at('.signalbox'));
  writeFileSync(at('.signalbox/install.lock'), '999999999\n');
  const ends = [start(), start()];
  expect(await Promise.all(ends)).toEqual([7, 7]);
  expect(readFileSync(at('installs'), 'utf8')).toBe('x');
  expect(existsSync(at('.signalbox/install.lock'))).toBe(false);
});

test('the one that clears the lock of the dead late does not clear the lock of the living', async () => {
  writeFileSync(at('slow'), '');
  mkdirSync(at('.signalbox'));
  writeFileSync(at('.signalbox/install.lock'), '999999999\n');
  writeFileSync(
    at('late.js'),
    `const fs = require('node:fs');
     const remove = fs.rmSync;
     fs.rmSync = (path, options) => {
       if (path.endsWith('install.lock')) {
         fs.writeFileSync('decided', '');
         Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
       }
       remove(path, options);
     };`,
  );
  const late = start(['--require', at('late.js')]);
  await waitFor(() => existsSync(at('decided')), { timeoutMs: 10_000, intervalMs: 10 });
  expect(await Promise.all([late, start()])).toEqual([7, 7]);
  expect(readFileSync(at('installs'), 'utf8')).toBe('x');
});

test('a failed install ends the run with its exit code', () => {
  writeFileSync(at('fail'), '');
  expect(bootstrap(['check']).status).toBe(5);
  expect(existsSync(at('.signalbox/install.lock'))).toBe(false);
});

test('Ctrl-C ends an install within seconds, and what it leaves does not pass for whole', async () => {
  fillModules();
  const later = new Date(Date.now() + 10_000);
  utimesSync(at('package-lock.json'), later, later);
  writeFileSync(at('deaf'), '');
  const options = { cwd: folder, env: environment(), stdio: 'ignore' } as const;
  const child = spawn(process.execPath, [at('scripts/bootstrap.js'), 'check'], options);
  const ended = once(child, 'exit');
  const npm = () => Number(readFileSync(at('deaf'), 'utf8'));
  await waitFor(() => npm() > 0, { timeoutMs: 10_000, intervalMs: 10 });
  const askedAt = Date.now();
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  expect(Date.now() - askedAt).toBeLessThan(10_000);
  expect(isAlive(npm())).toBe(false);
  expect(existsSync(at('node_modules/.package-lock.json'))).toBe(false);
  expect(existsSync(at('.signalbox/install.lock'))).toBe(false);
});

test.each([[[]], [['deploy']]])('%j is not a command', (args) => {
  fillModules();
  const { stderr, status } = bootstrap(args);
  expect(stderr).toBe('signalbox: say which command to run: dev, test, check, bench, fuzz\n');
  expect(status).toBe(1);
});

test('an old Node is refused in one sentence', () => {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.18.3' } });`;
  writeFileSync(at('pretend.js'), pretend);
  const { stderr, status } = bootstrap(['check'], ['--require', at('pretend.js')]);
  expect(stderr).toBe('signalbox: Node 20.19 or newer is needed, this is 20.18.3 (see .nvmrc)\n');
  expect(status).toBe(1);
});

/** A command that says when it is up and when it is told to stop. */
function writePatientCommand(): void {
  writeFileSync(
    at('scripts/dev.ts'),
    `process.on('SIGTERM', () => { console.log('stopping'); process.exit(4); });\nsetInterval(() => {}, 1_000);\nconsole.log('up');\n`,
  );
}

test('a signal reaches the command, which decides how to end', async () => {
  fillModules();
  writePatientCommand();
  const child = spawn(process.execPath, [at('scripts/bootstrap.js'), 'dev'], {
    cwd: folder,
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  await once(reader, 'line');
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await ended).toEqual([4, null]);
  expect(lines).toEqual(['up', 'stopping']);
});

test("when npm's shell is killed, the command is told to stop", async () => {
  fillModules();
  writePatientCommand();
  const command = `"${process.execPath}" "${at('scripts/bootstrap.js')}" dev; true`;
  const shell = spawn('sh', ['-c', command], {
    cwd: folder,
    env: { ...environment(), npm_lifecycle_event: 'dev' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const reader = createInterface({ input: shell.stdout }).on('line', (line) => lines.push(line));
  await once(reader, 'line');
  // The pipe ends when the last of its writers has ended, the command included.
  const ended = once(reader, 'close');
  shell.kill('SIGKILL');
  await ended;
  expect(lines).toEqual(['up', 'stopping']);
});

/** Stands for Jest: runs until it is told to stop. */
const ENDLESS_SUITE = `process.on('SIGTERM', () => { console.error('suite stopped'); process.exit(1); });
setInterval(() => {}, 1_000);
console.error('suite up');`;

test.each(['SIGTERM', 'SIGKILL'] as const)('tests end with whoever started them, by %s', async (signal) => {
  fillModules();
  symlinkSync(join(PROJECT, 'scripts/services'), at('scripts/services'));
  copyFileSync(join(PROJECT, 'scripts/test.ts'), at('scripts/test.ts'));
  mkdirSync(at('node_modules/jest/bin'), { recursive: true });
  writeFileSync(at('node_modules/jest/bin/jest.js'), ENDLESS_SUITE);
  const child = spawn(process.execPath, [at('scripts/bootstrap.js'), 'test'], {
    cwd: folder,
    env: { ...environment(), TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  while (!lines.includes('suite up')) await once(reader, 'line');
  // The pipe ends when the last of its writers has ended, the suites included.
  const ended = once(reader, 'close');
  child.kill(signal);
  await ended;
  expect(lines).toContain('suite stopped');
  expect(lines.filter((line) => line === 'suite up')).toHaveLength(1);
});
