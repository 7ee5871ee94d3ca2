/** What is installed is what was reviewed: exact versions, a lockfile with hashes, and nobody's scripts at install. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(__dirname, '../..');
const read = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8');

interface Manifest {
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}
interface Locked {
  version?: string;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  integrity?: string;
  link?: boolean;
  inBundle?: boolean;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const manifest = JSON.parse(read('package.json')) as Manifest;
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };
const wanted = { ...manifest.dependencies, ...manifest.devDependencies };

test('every dependency is named by one exact version', () => {
  const loose = Object.entries(wanted).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
  expect(loose).toEqual([]);
});

test('the lockfile has that version, and no other top-level dependency', () => {
  const root = packages[''];
  expect({ ...root?.dependencies, ...root?.devDependencies }).toEqual(wanted);
  const other = Object.entries(wanted).filter(
    ([name, version]) => packages[`node_modules/${name}`]?.version !== version,
  );
  expect(other).toEqual([]);
});

/** npm leaves out the hashes of native parts for machines unlike the one that wrote the file. */
const isForOtherMachines = ({ optional, os, cpu }: Locked): boolean => optional === true && Boolean(os ?? cpu);

test('every package of the lockfile has the hash it must have', () => {
  const unchecked = Object.entries(packages).filter(
    ([path, locked]) => path !== '' && !locked.link && !locked.inBundle && !locked.integrity?.startsWith('sha512-'),
  );
  expect(unchecked.filter(([, locked]) => !isForOtherMachines(locked)).map(([path]) => path)).toEqual([]);
});

test('nothing runs at install: neither our scripts nor those of packages', () => {
  const HOOKS = ['preinstall', 'install', 'postinstall', 'prepare', 'preprepare', 'postprepare'];
  expect(Object.keys(manifest.scripts).filter((name) => HOOKS.includes(name))).toEqual([]);
  expect(read('.npmrc')).toMatch(/^ignore-scripts=true$/m);
  const installs = read('Dockerfile')
    .split('\n')
    .filter((line) => /\bnpm (ci|install)\b/.test(line));
  expect(installs.length).toBeGreaterThan(0);
  // The image may install before it copies our settings, so the flag is in the command.
  expect(installs.filter((line) => !/--ignore-scripts/.test(line) && !copiesNpmrc())).toEqual([]);
});

const copiesNpmrc = (): boolean => /COPY .*\.npmrc/.test(read('Dockerfile'));
