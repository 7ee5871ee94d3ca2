/** Schemathesis in the user's cache: the pinned packages in a folder of their own, made once per Python version. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ensurePart, readPart } from '../services/parts';
import type { Report } from '../services/progress';
import { findProgram, findSystemProgram, run } from '../services/run';
import type { Setup } from '../services/setup';

const REQUIREMENTS = resolve(__dirname, 'requirements.txt');
const NAMES = ['python3', 'python'];
const MINIMUM = [3, 10] as const;
const FINGERPRINT_LENGTH = 12;
const PROBE = 'import sys; print("%d.%d" % sys.version_info[:2])';

/** How to run schemathesis: a Python and the folder its packages are in. */
export interface Schemathesis {
  python: string;
  packages: string;
}

/** A folder and not a virtual environment: that holds absolute paths, and Debian's Python may not be able to make one. */
export async function ensureSchemathesis(setup: Setup): Promise<Schemathesis> {
  const { python, version } = await havePython(setup);
  const fingerprint = createHash('sha256')
    .update(readFileSync(REQUIREMENTS))
    .digest('hex')
    .slice(0, FINGERPRINT_LENGTH);
  const part = { name: `schemathesis-py${version}`, version: fingerprint };
  const ready =
    readPart(setup.cacheDir, part) ??
    (await ensurePart(setup, {
      part,
      method: 'install',
      origin: 'installed from the Python package registry',
      install: (draft, report) => installPackages(setup, { python, draft, report }),
    }));
  return { python, packages: join(ready.directory, 'packages') };
}

interface Install {
  python: string;
  draft: string;
  report: Report;
}

async function installPackages(setup: Setup, { python, draft, report }: Install): Promise<void> {
  await havePip(setup, python, report);
  const target = join(draft, 'packages');
  const args = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--no-deps', '--upgrade'];
  await run(
    { file: python, args: [...args, '--target', target, '--requirement', REQUIREMENTS], env: setup.env },
    report,
  );
}

async function versionOf(python: string, setup: Setup): Promise<string | null> {
  const text = await run({ file: python, args: ['-c', PROBE], env: setup.env }).catch(() => '');
  const [major = 0, minor = 0] = text.split('.').map(Number);
  return major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]) ? text : null;
}

async function findPython(setup: Setup): Promise<{ python: string; version: string } | null> {
  for (const name of NAMES) {
    const python = findProgram(name, setup.env);
    const version = python === undefined ? null : await versionOf(python, setup);
    if (python !== undefined && version !== null) return { python, version };
  }
  return null;
}

async function havePython(setup: Setup): Promise<{ python: string; version: string }> {
  const found = await findPython(setup);
  if (found) return found;
  const wanted = `Python ${MINIMUM.join('.')} or newer`;
  await setup.progress.track(`installing ${wanted}`, (report) => aptInstall(setup, ['python3', 'python3-pip'], report));
  const installed = await findPython(setup);
  if (!installed) throw new Error(`Fuzzing needs ${wanted} on PATH, and apt-get did not bring it.`);
  return installed;
}

async function havePip(setup: Setup, python: string, report: Report): Promise<void> {
  const probe = { file: python, args: ['-m', 'pip', '--version'], env: setup.env };
  const hasPip = await run(probe).then(
    () => true,
    () => false,
  );
  if (!hasPip) await aptInstall(setup, ['python3-pip'], report);
}

/** Debian keeps pip in a package of its own. */
async function aptInstall(setup: Setup, packages: readonly string[], report: Report): Promise<void> {
  const file = findSystemProgram('apt-get', setup.env);
  const missing = packages.join(' and ');
  if (!file || process.getuid?.() !== 0)
    throw new Error(`Fuzzing needs ${missing}; install it, or run as root where apt-get is.`);
  const env = { ...setup.env, DEBIAN_FRONTEND: 'noninteractive' };
  const tell = (line: string): void => report(`apt-get: ${line}`);
  const args = ['install', '--yes', '--no-install-recommends', ...packages];
  try {
    await run({ file, args, env }, tell);
  } catch {
    // A machine whose package lists were never fetched, or are too old, knows no such package.
    await run({ file, args: ['update'], env }, tell);
    await run({ file, args, env }, tell);
  }
}
