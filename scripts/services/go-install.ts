/** Building a program with the Go tool chain, whose own registry settings are used. */
import { mkdirSync } from 'node:fs';
import type { Report } from './progress';
import { findProgram, run } from './run';
import type { Setup } from './setup';

/** `go install` into a folder. Go's own caches make an interrupted build go on where it stopped. */
export async function goInstall(setup: Setup, target: string, directory: string, report: Report): Promise<void> {
  const go = findGo(setup);
  mkdirSync(directory, { recursive: true });
  let downloads = 0;
  let packages = 0;
  // Symbols and debug data are left out: half the size on disk, and a shorter link step.
  const args = ['install', '-v', '-ldflags', '-s -w', target];
  // Neither program needs C, so no C compiler need be there.
  const env = { ...setup.env, GOBIN: directory, CGO_ENABLED: '0' };
  await run({ file: go, args, env }, (line) => {
    if (line.startsWith('go: downloading')) downloads += 1;
    else packages += 1;
    report(packages > 0 ? `${packages} packages compiled` : `${downloads} modules downloaded`);
  });
}

/** Path of the Go tool; refuses the way when it is missing. */
export function findGo(setup: Setup): string {
  const go = findProgram('go', { PATH: `${setup.env['PATH'] ?? ''}:/usr/local/go/bin` });
  if (!go) throw new Error('needs the `go` tool, which is not on PATH');
  return go;
}
