/** The page of threats names tests that exist, and every test of a threat is on the page. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CONTROLS } from '../../scripts/mutations/controls';

const ROOT = resolve(__dirname, '../..');
const FOLDER = 'test/integration/threats';
const THREATS = 32;

interface Row {
  number: number;
  control: string;
  tests: string[];
}

const rows: Row[] = readFileSync(resolve(ROOT, 'docs/reference/threats.md'), 'utf8')
  .split('\n')
  .map((line) => /^\| (\d+) \| [^|]+ \| ([^|]+) \|([^|]*)\|$/.exec(line))
  .filter((match) => match !== null)
  .map(([, number, control = '', tests = '']) => ({
    number: Number(number),
    control,
    tests: [...tests.matchAll(/`(test\/[^`]+)`/g)].map(([, path = '']) => path),
  }));

test('every threat has one row', () => {
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: THREATS }, (_unused, index) => index + 1));
});

test('a row names tests that exist, or says why there is none', () => {
  const reason = /(not applicable|no test) yet because/;
  const bare = rows.filter(({ tests, control }) => tests.length === 0 && !reason.test(control));
  expect(bare.map(({ number }) => number)).toEqual([]);
  expect(rows.flatMap(({ tests }) => tests).filter((path) => !existsSync(resolve(ROOT, path)))).toEqual([]);
});

test('every test in the folder of threats is in the row of its number', () => {
  const files = readdirSync(resolve(ROOT, FOLDER)).filter((name) => name.endsWith('.test.ts'));
  const strays = files.filter(
    (name) =>
      !rows.some(({ number, tests }) => number === Number(name.slice(0, 2)) && tests.includes(`${FOLDER}/${name}`)),
  );
  expect(files.length).toBeGreaterThan(10);
  expect(strays).toEqual([]);
});

test('a row with tests has a planted bug that takes its control away, and a test of the row must notice', () => {
  const elsewhere = CONTROLS.filter(
    ({ threat, test: path }) => !rows.some(({ number, tests }) => number === threat && tests.includes(path)),
  );
  const without = rows.filter(
    ({ number, tests }) => tests.length > 0 && !CONTROLS.some((one) => one.threat === number),
  );
  expect(elsewhere.map(({ bug }) => bug)).toEqual([]);
  expect(without.map(({ number }) => number)).toEqual([]);
});
