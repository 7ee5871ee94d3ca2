import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs, { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockHolder, tryLock, withLock } from '../../../scripts/services/lock';
import { identify } from '../../../scripts/services/processes';

let folder = '';
let path = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-lock-'));
  path = join(folder, 'part.lock');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const deadPid = (): number => spawnSync(process.execPath, ['--version']).pid;

test('a held lock cannot be had a second time, and names its holder', () => {
  const lock = tryLock(path);
  expect(lock).toBeDefined();
  expect(tryLock(path)).toBeUndefined();
  expect(lockHolder(path)?.pid).toBe(process.pid);
  lock?.release();
  expect(existsSync(path)).toBe(false);
});

test('the lock of a dead process is taken over', () => {
  writeFileSync(path, JSON.stringify({ pid: deadPid(), started: '1', token: 'dead' }));
  expect(lockHolder(path)).toBeUndefined();
  expect(tryLock(path)).toBeDefined();
  expect(lockHolder(path)?.pid).toBe(process.pid);
});

test('the lock of a dead process whose pid lives again in another one is taken over', () => {
  writeFileSync(path, JSON.stringify({ pid: process.ppid, started: 'another time', token: 'dead' }));
  expect(tryLock(path)).toBeDefined();
});

test('the lock of another live process is respected', async () => {
  const other = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
  writeFileSync(path, JSON.stringify({ ...identify(other.pid ?? 0), token: 'theirs' }));
  expect(tryLock(path)).toBeUndefined();
  other.kill('SIGKILL');
  await once(other, 'exit');
  expect(tryLock(path)).toBeDefined();
});

test.each(['{"pid": 12', 'null', '12', ''])('a lock file damaged to %j does not block for ever', (text) => {
  writeFileSync(path, text);
  expect(tryLock(path)).toBeDefined();
});

test('a takeover that was cut off is cleared away once it is old', () => {
  const dead = JSON.stringify({ pid: deadPid(), started: '1', token: 'dead' });
  writeFileSync(path, dead);
  writeFileSync(`${path}.takeover`, dead);
  expect(tryLock(path)).toBeUndefined();
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(`${path}.takeover`, longAgo, longAgo);
  expect(tryLock(path)).toBeUndefined();
  expect(tryLock(path)).toBeDefined();
});

test('a lock released by somebody who no longer holds it stays with its holder', () => {
  const first = tryLock(path);
  rmSync(path);
  expect(tryLock(path)).toBeDefined();
  first?.release();
  expect(existsSync(path)).toBe(true);
});

test('waiting ends when the holder lets go, and work never overlaps', async () => {
  const order: string[] = [];
  const waited: number[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} in`);
    await new Promise((resolve) => setImmediate(resolve));
    order.push(`${name} out`);
  };
  await Promise.all(['a', 'b', 'c'].map((name) => withLock(path, (pid) => waited.push(pid), work(name))));
  expect(order.map((entry) => entry.split(' ')[1])).toEqual(['in', 'out', 'in', 'out', 'in', 'out']);
  expect(new Set(waited)).toEqual(new Set([process.pid]));
});

test('the lock is given back when the work fails', async () => {
  const failing = withLock(
    path,
    () => {},
    () => Promise.reject(new Error('disk full')),
  );
  await expect(failing).rejects.toThrow('disk full');
  expect(existsSync(path)).toBe(false);
});

describe('where no links can be made', () => {
  beforeEach(() => {
    jest.spyOn(fs, 'linkSync').mockImplementation(() => {
      throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' });
    });
  });
  afterEach(() => jest.restoreAllMocks());

  test('a lock is had, held and given back all the same', () => {
    const lock = tryLock(path);
    expect(lock).toBeDefined();
    expect(tryLock(path)).toBeUndefined();
    expect(lockHolder(path)?.pid).toBe(process.pid);
    lock?.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('the lock of a dead process is taken over', () => {
    writeFileSync(path, JSON.stringify({ pid: deadPid(), started: '1', token: 'dead' }));
    expect(tryLock(path)).toBeDefined();
    expect(readdirSync(folder)).toEqual(['part.lock']);
  });

  test('one who died while he made a lock holds up others for seconds only', () => {
    mkdirSync(`${path}.turn`);
    expect(tryLock(path)).toBeUndefined();
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(`${path}.turn`, longAgo, longAgo);
    expect(tryLock(path)).toBeDefined();
  });
});

test('a lock that cannot be written is no lock that somebody holds', () => {
  rmSync(folder, { recursive: true });
  expect(() => tryLock(path)).toThrow('ENOENT');
});
