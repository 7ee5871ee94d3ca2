/** The list of planted bugs cannot rot: what each one edits is there, once, and so is the test that must notice. */
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { MUTATIONS } from '../../scripts/mutations/list';

const ROOT = resolve(__dirname, '../..');

test.each(MUTATIONS)('$bug', ({ file, before, after, test: path }) => {
  expect(readFileSync(resolve(ROOT, file), 'utf8').split(before)).toHaveLength(2);
  expect(after).not.toBe(before);
  expect([path, existsSync(resolve(ROOT, path))]).toEqual([path, true]);
});

test('there are twenty at least, and each is another', () => {
  expect(MUTATIONS.length).toBeGreaterThanOrEqual(20);
  expect(new Set(MUTATIONS.map(({ bug }) => bug)).size).toBe(MUTATIONS.length);
});
