import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { removeServiceData } from '../../../scripts/services';
import { choosePort } from '../../../scripts/services/ports';
import { isAlive, waitFor, waitUntilDead } from '../../../scripts/services/processes';

jest.setTimeout(300_000);

const PROJECT = resolve(__dirname, '../../..');

/** Stand-ins for the product's processes: what they do beside starting is asked of them over HTTP. */
const API = `
import { createServer } from 'node:http';
const say = (level, msg) => console.log(JSON.stringify({ level, msg, pid: process.pid }));
createServer((request, response) => {
  if (request.url === '/crash') process.exit(3);
  response.end(JSON.stringify({ pid: process.pid, uri: process.env.MONGODB_URI, pepper: process.env.KEY_PEPPER }));
}).listen(Number(process.env.PORT), '127.0.0.1', () => say('info', 'api ready'));
say('warn', 'api is a stand-in');
`;
const WORKER = `
console.log(JSON.stringify({ level: 'info', msg: 'worker ready' }));
setInterval(() => {}, 60_000);
process.on('SIGTERM', () => process.exit(0));
`;
const BROKEN = `throw new Error('a mistake at line 1');`;
const SEED = `
export const seedDemo = async () => ({
  org_id: 'org_1', second_org_id: 'org_2', users: [{ email: 'a@b.test', password: 'p', role: 'owner' }],
  keys: { mail_admin: 'k1', mail_send: 'k2', plat_all: 'k3', plat_no_scopes: 'k4', second_org_plat_all: 'k5' },
  curl: 'curl $BASE/psa/api/tickets',
});`;

interface DevFile {
  base_url: string;
  inbox_url: string;
  keys: Record<string, string>;
}

interface ApiAnswer {
  pid: number;
  uri: string;
  pepper: string;
}

class Supervisor {
  readonly lines: string[] = [];
  readonly process: ChildProcess;

  constructor(folder: string, args: readonly string[] = [], env: Record<string, string> = {}) {
    this.process = spawn(process.execPath, ['--import', 'tsx', join(folder, 'dev.ts'), ...args], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const input of [this.process.stdout, this.process.stderr]) {
      if (input) createInterface({ input }).on('line', (line) => this.lines.push(line));
    }
  }

  get text(): string {
    return this.lines.join('\n');
  }

  async untilSays(text: string): Promise<void> {
    const isSaid = await waitFor(() => this.text.includes(text), { timeoutMs: 120_000 });
    if (!isSaid) throw new Error(`never said "${text}":\n${this.text}`);
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    const ended = once(this.process, 'exit');
    this.process.kill(signal);
    const [code] = (await ended) as [number | null];
    return code;
  }
}

let folder = '';
let supervisor: Supervisor | undefined;

const kept = (name: string): string => join(folder, '.signalbox', name);

const readDevFile = (): DevFile => JSON.parse(readFileSync(kept('dev.json'), 'utf8')) as DevFile;

const askApi = async (): Promise<ApiAnswer> => (await (await fetch(readDevFile().base_url)).json()) as ApiAnswer;

function recordedPids(): number[] {
  const read = (path: string) => (JSON.parse(readFileSync(path, 'utf8')) as { process: { pid: number } }).process.pid;
  const children = ['api', 'worker'].map((name) => kept(`processes/${name}.json`));
  const services = ['temporal', 'postgres', 'ferretdb', 'mongod'].map((name) => kept(`data/processes/${name}.json`));
  return [...children, ...services].filter((path) => existsSync(path)).map(read);
}

async function startReady(args: readonly string[] = []): Promise<Supervisor> {
  supervisor = new Supervisor(folder, args);
  await supervisor.untilSays('Ctrl-C stops everything');
  return supervisor;
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-supervisor-'));
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, content] of Object.entries({ 'api.mjs': API, 'worker.mjs': WORKER, 'seed.mjs': SEED })) {
    writeFileSync(join(folder, name), content);
  }
  const scripts = { api: join(folder, 'api.mjs'), worker: join(folder, 'worker.mjs'), seed: join(folder, 'seed.mjs') };
  const entry = JSON.stringify(join(PROJECT, 'scripts/dev/run-dev.ts'));
  const project = JSON.stringify({ root: folder, scripts });
  writeFileSync(join(folder, 'dev.ts'), `import { runDev } from ${entry};\nvoid runDev(${project});\n`);
});

afterEach(async () => {
  if (supervisor && supervisor.process.exitCode === null && supervisor.process.signalCode === null) {
    await supervisor.end('SIGTERM');
  }
  supervisor = undefined;
  await removeServiceData(kept('data'));
  rmSync(folder, { recursive: true, force: true });
});

test('a port that is taken while engine and store come up is not the one that the api gets', async () => {
  const port = await choosePort();
  supervisor = new Supervisor(folder, [], { PORT: String(port) });
  await supervisor.untilSays('engine');
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  await supervisor.untilSays('Ctrl-C stops everything');
  expect(readDevFile().base_url).not.toBe(`http://127.0.0.1:${port}`);
  other.close();
});

test('it says how to get in, shows warnings only, and Ctrl-C leaves no process and no dev.json behind', async () => {
  const { lines, text } = await startReady();
  expect(text).toContain(`curl ${readDevFile().base_url}/psa/api/tickets`);
  expect(readDevFile().keys['plat_all']).toBe('k3');
  expect(statSync(kept('dev.json')).mode & 0o777).toBe(0o600);
  expect(lines.filter((line) => line.startsWith('api '))).toEqual([expect.stringContaining('warn api is a stand-in')]);
  const pids = recordedPids();
  expect(pids.length).toBeGreaterThanOrEqual(4);
  expect(await supervisor?.end('SIGINT')).toBe(0);
  expect(pids.filter(isAlive)).toEqual([]);
  expect(existsSync(kept('dev.json'))).toBe(false);
  expect(existsSync(kept('dev.lock'))).toBe(false);
});

test('when nobody reads its lines any more, it stops in order', async () => {
  const { process: child } = await startReady();
  const pids = recordedPids();
  child.stdout?.destroy();
  child.stderr?.destroy();
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  expect(await ended).toEqual([0, null]);
  expect(pids.filter(isAlive)).toEqual([]);
  for (const name of ['dev.json', 'dev.lock']) expect(existsSync(kept(name))).toBe(false);
  expect(recordedPids()).toEqual([]);
});

test('a second one in the same folder says that one is running, and disturbs nothing', async () => {
  await startReady();
  const second = new Supervisor(folder);
  const [code] = (await once(second.process, 'exit')) as [number];
  expect(code).toBe(1);
  expect(second.text).toContain(`already running here: process ${supervisor?.process.pid} (${readDevFile().base_url})`);
  expect((await askApi()).pid).toBeGreaterThan(0);
});

test('a process that dies is started again, and so is the engine', async () => {
  const running = await startReady();
  const { pid } = await askApi();
  await fetch(`${readDevFile().base_url}/crash`).catch(() => {});
  await running.untilSays('ended with 3; starting it again in 0.5 s');
  await running.untilSays('ready again');
  expect((await askApi()).pid).not.toBe(pid);

  const { process: engine } = JSON.parse(readFileSync(kept('data/processes/temporal.json'), 'utf8')) as {
    process: { pid: number };
  };
  process.kill(engine.pid, 'SIGKILL');
  await running.untilSays('engine: ended by itself, started again with the same data');
});

test('killed outright, it leaves what the next start clears away; secrets stay the same', async () => {
  const first = await startReady();
  const { pepper } = await askApi();
  const pids = recordedPids();
  await first.end('SIGKILL');
  expect(existsSync(kept('dev.json'))).toBe(true);
  await startReady();
  expect(await waitUntilDead(pids, 10_000)).toBe(true);
  expect((await askApi()).pepper).toBe(pepper);
});

test('--reset removes the data of earlier runs', async () => {
  const first = await startReady();
  const marker = kept('data/marker');
  writeFileSync(marker, '');
  await first.end('SIGTERM');
  const second = await startReady(['--reset']);
  expect(second.text).toContain('all data removed');
  expect(existsSync(marker)).toBe(false);
});

test('a process that cannot start ends the run with its own words, and what was compiled is made anew', async () => {
  writeFileSync(join(folder, 'worker.mjs'), BROKEN);
  // What still runs would fail for lack of its modules, and hide why the start did.
  const farewell = `process.on('SIGTERM', () => {
    console.log('the build is there: ' + existsSync('.signalbox/build'));
    process.exit(0);
  });`;
  writeFileSync(join(folder, 'api.mjs'), `import { existsSync } from 'node:fs';${API}${farewell}`);
  for (const name of ['build', 'bundles', 'data']) mkdirSync(kept(name), { recursive: true });
  supervisor = new Supervisor(folder);
  const [code] = (await once(supervisor.process, 'exit')) as [number];
  expect(code).toBe(1);
  expect(supervisor.text).toContain('a mistake at line 1');
  expect(supervisor.text).toContain(
    'worker ended 3 times before it was ready. The next start compiles everything anew.',
  );
  expect(supervisor.text).toContain('the build is there: true');
  expect(['build', 'bundles', 'data'].map((name) => existsSync(kept(name)))).toEqual([false, false, true]);
  expect(recordedPids()).toEqual([]);
});

test('whoever started it may be killed before it listens: it ends all the same', async () => {
  const child = ['process.execPath', `['--import', 'tsx', ${JSON.stringify(join(folder, 'dev.ts'))}]`];
  const options = `{ cwd: ${JSON.stringify(folder)}, stdio: ['ignore', 'ignore', 'ignore', 'ipc'], detached: true }`;
  const script = `
    const { spawn } = require('node:child_process');
    require('node:fs').writeSync(1, String(spawn(${child.join(', ')}, ${options}).pid));
    process.kill(process.pid, 'SIGKILL');`;
  const starter = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = (await once(starter.stdout, 'data')) as [Buffer];
  const pid = Number(said);
  try {
    expect(await waitUntilDead([pid], 60_000)).toBe(true);
  } finally {
    if (isAlive(pid)) process.kill(pid, 'SIGTERM');
  }
  expect(recordedPids()).toEqual([]);
});
