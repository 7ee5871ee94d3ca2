import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeAbandoned } from '../../../scripts/services';
import { identify, isAlive } from '../../../scripts/services/processes';
import { endLeftovers, recordProcess } from '../../../scripts/services/records';

let folder = '';
let child: ChildProcess;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-records-'));
  // Ignores the polite signal, as a hanging server would.
  const script = `process.on('SIGTERM', () => {}); process.stdin.resume(); // ${folder}`;
  child = spawn(process.execPath, ['-e', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
});

afterEach(() => {
  child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const pid = (): number => child.pid ?? 0;

function writeRecord(changes: Record<string, unknown>): void {
  mkdirSync(join(folder, 'processes'), { recursive: true });
  const record = {
    process: identify(pid()),
    owner: { pid: 999_999_999, started: '1' },
    marker: folder,
    stopSignal: 'SIGKILL',
    ...changes,
  };
  writeFileSync(join(folder, 'processes', 'server.json'), JSON.stringify(record));
}

test('a process whose owner is gone is ended, said so, and forgotten', async () => {
  writeRecord({});
  const lines: string[] = [];
  await endLeftovers(folder, (line) => lines.push(line));
  expect(isAlive(pid())).toBe(false);
  expect(lines).toEqual([`ending server (process ${pid()}), left over from an earlier start`]);
  expect(readdirSync(join(folder, 'processes'))).toEqual([]);
});

test('a foreign process that got the pid later is left alone', async () => {
  writeRecord({ process: { pid: pid(), started: 'another time' } });
  await endLeftovers(folder, () => {});
  expect(isAlive(pid())).toBe(true);
});

test('a process with another command line is left alone', async () => {
  writeRecord({ marker: '/somewhere/else' });
  await endLeftovers(folder, () => {});
  expect(isAlive(pid())).toBe(true);
});

test('a folder whose owner lives is refused', async () => {
  recordProcess(folder, { name: 'server', pid: pid(), marker: folder, stopSignal: 'SIGTERM' });
  await expect(endLeftovers(folder, () => {})).rejects.toThrow(`is in use by process ${process.pid}`);
  expect(isAlive(pid())).toBe(true);
});

test.each(['{"proc', 'null', '{"process":null}'])('a record damaged to %j is cleared away', async (text) => {
  mkdirSync(join(folder, 'processes'));
  writeFileSync(join(folder, 'processes', 'server.json'), text);
  await endLeftovers(folder, () => {});
  expect(readdirSync(join(folder, 'processes'))).toEqual([]);
});

test('throw-away data of a run that was killed are removed, those of a live one and of others are not', async () => {
  const named = (name: string): string => join(folder, name, 'data/processes');
  writeRecord({ process: { pid: pid(), started: 'another time' } });
  cpSync(join(folder, 'processes'), named('run-dead'), { recursive: true });
  cpSync(join(folder, 'processes'), named('other-dead'), { recursive: true });
  recordProcess(join(folder, 'run-live/data'), { name: 'server', pid: pid(), marker: folder, stopSignal: 'SIGTERM' });
  mkdirSync(named('run-starting'), { recursive: true });
  await removeAbandoned(folder, 'run-');
  expect(existsSync(join(folder, 'run-dead'))).toBe(false);
  expect(['other-dead', 'run-live', 'run-starting'].filter((name) => existsSync(named(name)))).toHaveLength(3);
  expect(isAlive(pid())).toBe(true);
});
