import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { compiledIn } from '../../../scripts/compile';
import { buildFolder, makeBuild } from '../../../scripts/build';

jest.setTimeout(60_000);

const PROJECT = resolve(__dirname, '../../..');
const ENTRIES = ['src/main.ts', 'worker/main.ts', 'scripts/seed.ts'];

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'signalbox-build-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Something in every place a build is made of. */
function writeSources(): void {
  for (const folder of ['src', 'activities', 'worker', 'workflows', 'scripts']) {
    mkdirSync(join(root, folder));
    writeFileSync(join(root, folder, 'one.ts'), `// ${folder}\n`);
  }
  for (const name of ['tsconfig.json', 'tsconfig.dev.json']) writeFileSync(join(root, name), '{}');
}

test.each([
  ['an edit', () => writeFileSync(join(root, 'src/one.ts'), '// other\n')],
  ['another name for the same content', () => writeFileSync(join(root, 'src/two.ts'), '// src\n')],
  ['a file that goes', () => rmSync(join(root, 'worker/one.ts'))],
  ['another way to compile', () => writeFileSync(join(root, 'tsconfig.dev.json'), '{ "compilerOptions": {} }')],
])('%s asks for another build', (_name, change) => {
  writeSources();
  const before = buildFolder(root);
  expect(buildFolder(root)).toBe(before);
  change();
  expect(buildFolder(root)).not.toBe(before);
});

test('a build holds what is started, is made once, and takes the place of the one before', async () => {
  const [first, second] = [join(root, 'build/one'), join(root, 'build/two')];
  await makeBuild(first);
  for (const entry of ENTRIES) {
    expect(existsSync(join(PROJECT, entry))).toBe(true);
    expect(existsSync(compiledIn(first, entry))).toBe(true);
  }
  const { mtimeMs } = statSync(compiledIn(first, 'src/main.ts'));
  await makeBuild(first);
  expect(statSync(compiledIn(first, 'src/main.ts')).mtimeMs).toBe(mtimeMs);
  await makeBuild(second);
  expect(readdirSync(join(root, 'build'))).toEqual(['two']);
});
