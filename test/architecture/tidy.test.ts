import { PROBLEMS } from '../../src/contracts/problem';
import { SETTINGS } from '../../src/config';
import { boundOperations } from '../../src/http/app';
import { codeFiles, codeLines, filesBelow, read } from './source-tree';

const SELF = 'test/architecture/tidy.test.ts';
const code = codeFiles();
const texts = filesBelow('').filter(
  (path) => /(\.(ts|tsx|js|md|ya?ml|sh|css|html)|Dockerfile|\.env\.example|\.ci\/run)$/.test(path) && path !== SELF,
);

const LINES_MAX = 300;
const TEST_LINES_MAX = 500;

test(`no file is longer than ${LINES_MAX} lines of code, no test longer than ${TEST_LINES_MAX}`, () => {
  const lengths = code.map((path) => ({
    path,
    lines: codeLines(path).filter((line) => line.trim()).length,
    max: path.startsWith('test/') ? TEST_LINES_MAX : LINES_MAX,
  }));
  expect(lengths.filter(({ lines, max }) => lines > max)).toEqual([]);
});

const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*$/;
/** React components are named like what they export. */
const COMPONENT = /^console\/src\/.*\/[A-Z][A-Za-z0-9]*\.tsx$/;

test('files and folders of code have kebab-case names', () => {
  const odd = code.filter((path) => !COMPONENT.test(path) && path.split('/').some((part) => !KEBAB.test(part)));
  expect(odd).toEqual([]);
});

interface Ban {
  /** What is banned, matched line by line in code without comments. */
  what: RegExp;
  where: RegExp;
  /** What to write in its place. */
  instead: string;
  except?: RegExp;
}

const BANS: Ban[] = [
  {
    what: /^export default\b/,
    where: /\.tsx?$/,
    instead: 'a named export',
    // Jest and Vite take nothing else.
    except: /^(test\/support\/global-|console\/vite\.config)/,
  },
  {
    what: /\bsleep\(|setTimeout\((resolve|done)\b/,
    where: /^test\//,
    instead: 'waitFor(condition) of test/support/harness.ts',
    // Helpers that wait for conditions, stand-ins that are slow on purpose, and load that comes at a given pace.
    except: /^test\/(support|fault)\//,
  },
  { what: /\bDate\.now\(/, where: /^src\/(domain|store)\//, instead: 'a `now` the caller passes' },
  { what: /\bMath\.random\(/, where: /^(src|activities|worker)\//, instead: 'newId or derivedId of src/domain/ids.ts' },
  { what: /\bconsole\.\w+\(/, where: /^(src|workflows|activities|worker)\//, instead: 'context.log' },
  { what: /\bprocess\.env\b/, where: /^(src|activities|worker)\//, instead: 'a setting', except: /^src\/config\.ts$/ },
  { what: /(:|\bas|<|\|)\s*any\b(?!['"`])/, where: /\.tsx?$/, instead: '`unknown`, and a contract that parses it' },
  {
    what: /\b(describe|test|it)\.(skip|only|todo|failing)\b|\b(x|f)(test|it|describe)\(/,
    where: /^test\//,
    instead: 'a test that runs',
  },
];

test('banned words are absent', () => {
  const found = BANS.flatMap(({ what, where, instead, except }) =>
    code
      .filter((path) => where.test(path) && !except?.test(path) && path !== SELF)
      .flatMap((path) =>
        codeLines(path).flatMap((line, index) =>
          what.test(line) ? [`${path}:${index + 1} write ${instead}: ${line.trim()}`] : [],
        ),
      ),
  );
  expect(found).toEqual([]);
});

interface Stray {
  what: RegExp;
  why: string;
}

/** Looked for in every text, comments and documents included. */
const STRAYS: Stray[] = [
  { what: /\b(TODO|FIXME|XXX|HACK)\b/, why: 'do it now, or say in a decision record why not' },
  {
    what: /(eslint|oxlint|biome)-disable(?!-next-line [a-z/-]+( |$))|@ts-(ignore|expect-error|nocheck)/,
    why: 'only one named rule is switched off, for one line',
  },
  {
    what: /registry\.(npmjs|yarnpkg)\.(org|com)|proxy\.golang\.org|sum\.golang\.org|(deb|security)\.debian\.org|pypi\.org|index\.docker\.io/,
    why: 'package registries are chosen by the tools of the machine',
  },
  {
    what: /\/work\/(main|shared)|\bDESIGN\.md|(?<![-\w/])(aesthetics|perf|temporal|conventions|console|email)\.md\b|\b(agents|conventions|perf|temporal|email|console|aesthetics)(\.md)? §/,
    why: 'a reader of this repository has no such page',
  },
];

test('texts name nothing that only its authors could know', () => {
  const found = STRAYS.flatMap(({ what, why }) =>
    texts.flatMap((path) =>
      read(path)
        .split('\n')
        .flatMap((line, index) => (what.test(line) ? [`${path}:${index + 1} ${why}: ${line.trim()}`] : [])),
    ),
  );
  expect(found).toEqual([]);
});

test('every error code has a page, and every page a code', () => {
  const pages = filesBelow('docs/reference/errors').filter((path) => !path.endsWith('README.md'));
  const expected = Object.keys(PROBLEMS).map((name) => `docs/reference/errors/${name}.md`);
  expect(pages.toSorted()).toEqual(expected.toSorted());
});

test('every decision has its number, and no number is missing or taken twice', () => {
  const names = filesBelow('docs/decisions').map((path) => path.split('/').at(-1) ?? '');
  const records = names.filter((name) => name !== 'README.md').toSorted();
  expect(records.map((name) => Number(/^(\d{4})-[a-z0-9-]+\.md$/.exec(name)?.[1]))).toEqual(
    records.map((_name, index) => index + 1),
  );
});

test('every setting is in the configuration page with its default and meaning', () => {
  const rows = read('docs/operating/configuration.md').split('\n');
  const missing = Object.entries(SETTINGS).filter(
    ([name, { fallback, meaning }]) =>
      !rows.some((row) => row.startsWith(`| \`${name}\` |`) && row.includes(meaning) && row.includes(fallback)),
  );
  expect(missing.map(([name]) => name)).toEqual([]);
});

const bounds = boundOperations();
const operations = bounds.flatMap(({ operations: declared }) => declared);

test('every operation has a handler', () => {
  const without = bounds.flatMap(({ operations: declared, handlers }) =>
    declared.filter(({ id }) => typeof handlers[id] !== 'function').map(({ id }) => id),
  );
  expect(without).toEqual([]);
});

test('every operation has a name of its own and a summary that reads as one line', () => {
  const ids = operations.map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  expect(operations.filter(({ summary }) => !/^[A-Z][^\n]{3,119}[^.\s]$/.test(summary)).map(({ id }) => id)).toEqual(
    [],
  );
});

test('every relative link of a document leads to a file', () => {
  const broken = texts
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) =>
      [...read(path).matchAll(/\]\((?![a-z]+:|#|\/)([^)#\s]+)/g)].flatMap(([, target = '']) => {
        const parts = [...path.split('/').slice(0, -1), ...target.split('/')];
        const resolved = parts
          .reduce<string[]>(
            (walk, part) => (part === '..' ? walk.slice(0, -1) : part === '.' ? walk : [...walk, part]),
            [],
          )
          .join('/');
        return exists(resolved) ? [] : [`${path}: ${target}`];
      }),
    );
  expect(broken).toEqual([]);
});

const everything = new Set(filesBelow(''));
const exists = (path: string): boolean => {
  const plain = path.replace(/\/$/, '');
  return everything.has(plain) || [...everything].some((file) => file.startsWith(`${plain}/`));
};
