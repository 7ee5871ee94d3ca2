/** Downloading one program inside an archive into the cache. */
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fetchFile, Refused } from './fetch-file';
import { ensurePart, type Part } from './parts';
import { assertNotRefused, forgetRefusal, rememberRefusal } from './refusals';
import { run, systemTool } from './run';
import type { Setup } from './setup';

export interface Download {
  part: Part;
  url: string;
  /** File name of the program, wherever it lies in the archive. */
  program: string;
}

function findFile(directory: string, name: string): string {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const found = entries.find((entry) => entry.isFile() && basename(entry.name) === name);
  if (!found) throw new Error(`the archive holds no ${name}`);
  return join(found.parentPath, found.name);
}

async function unpack(archive: string, program: string): Promise<string> {
  const folder = `${archive}.unpacked`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  try {
    await run({ file: systemTool('tar'), args: ['-xzf', archive, '-C', folder] });
    return findFile(folder, program);
  } catch (cause) {
    // Half an archive, or a page of a captive network: fetched anew next time.
    rmSync(archive, { force: true });
    throw new Error(`not a usable archive: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

async function install(setup: Setup, download: Download, target: { draft: string; report: (detail: string) => void }) {
  const { draft, report } = target;
  const work = join(draft, 'download');
  const archive = join(work, 'archive.tgz');
  mkdirSync(work, { recursive: true });
  await fetchFile({ url: download.url, path: archive, env: setup.env, report });
  report('unpacking');
  const program = join(draft, download.program);
  renameSync(await unpack(archive, download.program), program);
  chmodSync(program, 0o755);
  // A program for another machine or with missing libraries must not be stamped as usable.
  await run({ file: program, args: ['--version'], env: setup.env });
  rmSync(work, { recursive: true, force: true });
}

/** Folder with the program in the cache. A host that cannot be reached is not asked again for an hour. */
export async function downloadProgram(setup: Setup, download: Download): Promise<string> {
  const { cacheDir } = setup;
  assertNotRefused(cacheDir, download.url);
  try {
    const installed = await ensurePart(setup, {
      part: download.part,
      method: 'download',
      origin: `downloaded from ${new URL(download.url).host}`,
      install: (draft, report) => install(setup, download, { draft, report }),
    });
    forgetRefusal(cacheDir, download.url);
    return installed.directory;
  } catch (error) {
    if (error instanceof Refused) rememberRefusal(cacheDir, download.url);
    throw error;
  }
}
