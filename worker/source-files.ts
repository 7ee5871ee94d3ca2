/** What was built from sources is told apart by a hash of them: times of files lie after a checkout or a copy. */
import type { Hash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Adds the name and the content of a file, or of all files in a folder, each below `root`. */
export function addFiles(hash: Hash, root: string, names: readonly string[]): void {
  for (const name of names) {
    const path = join(root, name);
    if (statSync(path).isDirectory()) {
      const inside = readdirSync(path).sort();
      addFiles(
        hash,
        root,
        inside.map((entry) => join(name, entry)),
      );
    } else hash.update(name).update(readFileSync(path));
  }
}
