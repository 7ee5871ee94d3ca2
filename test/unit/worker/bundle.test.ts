import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cachedBundle, removeOldBundles } from '../../../worker/bundle';

const DAY_MS = 24 * 3_600_000;

test('bundles of more than a week ago are removed, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-bundles-'));
  const now = Date.parse('2026-11-22T12:00:00Z');
  const ages = {
    'workflows-0000000000000001.js': 8,
    'workflows-0000000000000002.js': 6,
    'workflows-0000000000000003.js.4711': 8,
    'workflows-mine.js': 8,
    'notes.txt': 8,
  };
  for (const [name, days] of Object.entries(ages)) {
    const at = new Date(now - days * DAY_MS);
    writeFileSync(join(folder, name), '');
    utimesSync(join(folder, name), at, at);
  }
  removeOldBundles(folder, now);
  expect(readdirSync(folder).toSorted()).toEqual(['notes.txt', 'workflows-0000000000000002.js', 'workflows-mine.js']);
  rmSync(folder, { recursive: true });
});

test('a bundle that was cut off is built again, a whole one is used as it is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-bundles-'));
  const path = await cachedBundle(folder);
  const whole = readFileSync(path, 'utf8');
  utimesSync(path, 1, 1);
  const first = statSync(path).mtimeMs;
  expect([await cachedBundle(folder), statSync(path).mtimeMs]).toEqual([path, first]);
  truncateSync(path, Math.floor(whole.length / 2));
  expect(await cachedBundle(folder)).toBe(path);
  expect(readFileSync(path, 'utf8').length).toBe(whole.length);
  rmSync(folder, { recursive: true });
});
