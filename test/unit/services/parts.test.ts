import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePart, type Part, readPart, type Recipe } from '../../../scripts/services/parts';
import { createSetup, type Setup } from '../../../scripts/services/setup';

const PART: Part = { name: 'thing', version: 'v2' };

let folder = '';
let setup: Setup;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-parts-'));
  setup = createSetup({ dataDir: join(folder, 'data'), cacheDir: join(folder, 'cache'), log: () => {}, env: {} });
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const recipe = (install: Recipe['install']): Recipe => ({ part: PART, method: 'build', origin: 'built', install });

const write =
  (content: string): Recipe['install'] =>
  (draft) => {
    writeFileSync(join(draft, 'program'), content);
    return Promise.resolve();
  };

test('a finished part carries a stamp and is made once', async () => {
  const install = jest.fn(write('one'));
  const first = await ensurePart(setup, recipe(install));
  const second = await ensurePart(setup, recipe(install));
  expect(install).toHaveBeenCalledTimes(1);
  expect(second).toEqual(first);
  expect(first.stamp).toMatchObject({ version: 'v2', origin: 'built' });
  expect(readFileSync(join(first.directory, 'program'), 'utf8')).toBe('one');
});

test('two at the same time make the part once', async () => {
  const install = jest.fn(write('one'));
  await Promise.all([ensurePart(setup, recipe(install)), ensurePart(setup, recipe(install))]);
  expect(install).toHaveBeenCalledTimes(1);
});

test('an interrupted part is not used, and the next try goes on with what is there', async () => {
  const interrupted: Recipe['install'] = (draft) => {
    writeFileSync(join(draft, 'half'), 'fetched');
    return Promise.reject(new Error('power cut'));
  };
  await expect(ensurePart(setup, recipe(interrupted))).rejects.toThrow('power cut');
  expect(readPart(setup.cacheDir, PART)).toBeUndefined();
  const seen = await ensurePart(
    setup,
    recipe((draft) => Promise.resolve(writeFileSync(join(draft, 'program'), readFileSync(join(draft, 'half'))))),
  );
  expect(readFileSync(join(seen.directory, 'program'), 'utf8')).toBe('fetched');
});

test('a part of another version is replaced', async () => {
  const old = await ensurePart(setup, { ...recipe(write('old')), part: { ...PART, version: 'v1' } });
  expect(readPart(setup.cacheDir, PART)).toBeUndefined();
  await ensurePart(setup, recipe(write('new')));
  expect(readFileSync(join(old.directory, 'program'), 'utf8')).toBe('new');
});

test('what another method left half-finished is cleared away by the one that finishes', async () => {
  const abandoned: Recipe = { ...recipe(() => Promise.reject(new Error('refused'))), method: 'download' };
  await expect(ensurePart(setup, abandoned)).rejects.toThrow('refused');
  expect(existsSync(join(setup.cacheDir, 'thing.download.draft'))).toBe(true);
  await ensurePart(setup, recipe(write('built')));
  expect(existsSync(join(setup.cacheDir, 'thing.download.draft'))).toBe(false);
});

test('a damaged stamp counts as none', async () => {
  const { directory } = await ensurePart(setup, recipe(write('one')));
  writeFileSync(join(directory, 'stamp.json'), '{"vers');
  expect(readPart(setup.cacheDir, PART)).toBeUndefined();
});
