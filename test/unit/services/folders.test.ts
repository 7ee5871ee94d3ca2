/** Folders that nothing can be kept in are refused in one sentence, at once. */
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServices } from '../../../scripts/services';
import { watchSpace } from '../../../scripts/dev/watch-space';
import { ensureFolder } from '../../../scripts/services/folders';
import { run, systemTool } from '../../../scripts/services/run';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-folders-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const NEEDS = { advice: 'Name another one.', freeMegabytes: 1 };

test('a folder is made with all above it', () => {
  ensureFolder(join(folder, 'a/b/c'), NEEDS);
  expect(() => ensureFolder(join(folder, 'a/b/c'), NEEDS)).not.toThrow();
});

test('where none can be made, what is in the way is said', () => {
  writeFileSync(join(folder, 'file'), '');
  expect(() => ensureFolder(join(folder, 'file/cache'), NEEDS)).toThrow(
    /file\/cache cannot be written to \(E(NOTDIR|EXIST): .*\)\. Name another one\.$/,
  );
  // A recursive `mkdir` of Node tries this for ever.
  expect(() => ensureFolder('/proc/signalbox/cache', NEEDS)).toThrow(/^\/proc\/signalbox\/cache cannot be written to/);
});

test('a disk that is full is named with what is free and what is needed', () => {
  expect(() => ensureFolder(folder, { ...NEEDS, freeMegabytes: 1e12 })).toThrow(
    /has \d+ MB free, 1000000000000 MB are needed: make room there\. Name another one\.$/,
  );
});

test('a disk that fills while the system runs is named once, and once more when it has room again', () => {
  jest.useFakeTimers();
  const disk = jest.spyOn(fs, 'statfsSync');
  const leave = (megabytes: number) => {
    disk.mockReturnValue({ bavail: megabytes, bsize: 1024 * 1024 } as ReturnType<typeof fs.statfsSync>);
    jest.advanceTimersByTime(10_000);
  };
  const lines: string[] = [];
  leave(12);
  const stop = watchSpace([folder, tmpdir(), join(folder, 'none')], 10, (line) => lines.push(line));
  for (const megabytes of [10, 9, 0, 11]) leave(megabytes);
  stop();
  leave(0);
  expect(lines).toEqual([
    `disk: ${folder} has 9 MB left. Make room there: without it, engine and store stand still.`,
    `disk: ${folder} has room again, 11 MB; what has waited goes on`,
  ]);
  jest.useRealTimers();
  jest.restoreAllMocks();
});

test('engine and store without a cache that can be made are refused once, with the setting', async () => {
  const options = { dataDir: join(folder, 'data'), cacheDir: '/proc/signalbox', env: { PATH: '' }, log: () => {} };
  await expect(startServices(options)).rejects.toThrow(
    /^\/proc\/signalbox cannot be written to \([^)]*\)\. Set SIGNALBOX_CACHE to a folder that can be written to\.$/,
  );
});

test('tools are found without a PATH, and one that is missing is named', async () => {
  const path = process.env['PATH'];
  process.env['PATH'] = '';
  try {
    expect(systemTool('cp')).toMatch(/^\/(usr\/)?bin\/cp$/);
  } finally {
    process.env['PATH'] = path;
  }
  await expect(run({ file: 'no-such-tool', args: [] })).rejects.toThrow(
    'no-such-tool is missing: install it, or put it on PATH',
  );
});
