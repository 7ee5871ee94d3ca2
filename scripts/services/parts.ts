/** The cache: one folder per part, with a stamp that is written last, so a half-finished part is never used. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withLock } from './lock';
import type { Report } from './progress';
import { ensureCache, type Setup } from './setup';

/** Something the cache can hold. */
export interface Part {
  /** Folder name in the cache. */
  name: string;
  version: string;
}

export interface Stamp {
  version: string;
  /** How it was made, in words for the announcement. */
  origin: string;
  finished_at: string;
}

export interface Installed {
  directory: string;
  stamp: Stamp;
}

const stampPath = (directory: string): string => join(directory, 'stamp.json');

const partFolder = (cacheDir: string, part: Part): string => join(cacheDir, part.name);

/** How a part is made, and what is printed while it is. */
const METHODS = { download: 'downloading', build: 'building', install: 'installing' } as const;

/** Ways of making a part leave different half-finished work behind, so each has a draft folder of its own. */
type Method = keyof typeof METHODS;

const draftFolder = (cacheDir: string, part: Part, method: Method): string =>
  join(cacheDir, `${part.name}.${method}.draft`);

/** The finished part, or undefined when it is missing, unfinished or of another version. */
export function readPart(cacheDir: string, part: Part): Installed | undefined {
  const directory = partFolder(cacheDir, part);
  if (!existsSync(stampPath(directory))) return undefined;
  try {
    const stamp = JSON.parse(readFileSync(stampPath(directory), 'utf8')) as Stamp;
    return stamp.version === part.version ? { directory, stamp } : undefined;
  } catch {
    return undefined;
  }
}

export interface Recipe {
  part: Part;
  method: Method;
  origin: string;
  /** Fills the draft folder; what an interrupted run left in there it may go on with. */
  install(draft: string, report: Report): Promise<void>;
}

async function finish({ part, method, origin }: Recipe, cacheDir: string): Promise<Installed> {
  const draft = draftFolder(cacheDir, part, method);
  const directory = partFolder(cacheDir, part);
  const stamp: Stamp = { version: part.version, origin, finished_at: new Date().toISOString() };
  writeFileSync(stampPath(draft), `${JSON.stringify(stamp, null, 2)}\n`);
  await rm(directory, { recursive: true, force: true });
  renameSync(draft, directory);
  for (const other of Object.keys(METHODS) as Method[]) {
    await rm(draftFolder(cacheDir, part, other), { recursive: true, force: true });
  }
  return { directory, stamp };
}

/** The part from the cache, or made now under the part's lock. */
export async function ensurePart(setup: Setup, recipe: Recipe): Promise<Installed> {
  const { cacheDir, progress } = setup;
  const { part, method } = recipe;
  ensureCache(setup);
  return progress.track(`${METHODS[method]} ${part.name}`, (report) =>
    withLock(
      join(cacheDir, `${part.name}.lock`),
      (pid) => report(`waiting for process ${pid}, which is doing it`),
      async () => {
        const ready = readPart(cacheDir, part);
        if (ready) return ready;
        const draft = draftFolder(cacheDir, part, method);
        mkdirSync(draft, { recursive: true });
        await recipe.install(draft, report);
        return finish(recipe, cacheDir);
      },
    ),
  );
}
