/**
 * Which cluster belongs to which data folder, written down on both sides: the data folder names its cluster in
 * `store.json`, and the cluster its data folder. People move, copy and delete folders by hand.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// A folder that was moved away, with another one in its place by now, may come back to its data.
const ORPHAN_MS_MIN = 7 * 24 * 3_600_000;

const OWNER = '.owner.json';

const recordPath = (dataDir: string): string => join(dataDir, 'store.json');

/** One text field of a JSON file; undefined when the file or the field is missing or damaged. */
export function readField(path: string, name: string): string | undefined {
  try {
    const value = (JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>)[name];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** By what they are and not by their names: one folder can be reached by several paths. */
export function isSameFolder(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return one === other || (a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino);
}

const ownerOf = (cluster: string): string | undefined => readField(`${cluster}${OWNER}`, 'dataDir');

const clustersIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(OWNER))
    .map((name) => join(folder, name.slice(0, -OWNER.length)));

const claimedAt = (cluster: string): number =>
  statSync(`${cluster}${OWNER}`, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();

/** Full path of the data folder's cluster as recorded, whether or not it exists. */
export function recordedCluster(dataDir: string): string | undefined {
  return readField(recordPath(dataDir), 'cluster');
}

/** The recorded cluster; the latest below `folder` that names the data folder when the record is damaged. */
export function findCluster(dataDir: string, folder: string): string | undefined {
  const recorded = recordedCluster(dataDir);
  if (recorded || !existsSync(recordPath(dataDir))) return recorded;
  return clustersIn(folder)
    .filter((cluster) => ownerOf(cluster) === dataDir)
    .toSorted((one, other) => claimedAt(other) - claimedAt(one))[0];
}

/** The cluster's side, written at each start: it tells when the cluster was last of use, and where its folder is now. */
export function claimCluster(cluster: string, dataDir: string): void {
  writeFileSync(`${cluster}${OWNER}`, JSON.stringify({ dataDir }));
}

/** The data folder's side; whole or not at all, because without it the data cannot be found. */
export function recordCluster(dataDir: string, cluster: string): void {
  const path = recordPath(dataDir);
  writeFileSync(`${path}.draft`, JSON.stringify({ cluster }));
  renameSync(`${path}.draft`, path);
}

/** The data folder whose cluster this is, when another one that names it is only a copy of that folder. */
export function originalOf(dataDir: string, cluster: string): string | undefined {
  const owner = ownerOf(cluster);
  if (!owner || isSameFolder(owner, dataDir)) return undefined;
  return recordedCluster(owner) === cluster ? owner : undefined;
}

/**
 * Clusters whose data folder was deleted by hand or names another cluster by now. A folder that is gone together
 * with all around it may be on a disk that is not attached at the moment: its cluster stays.
 */
export function orphansIn(folder: string): string[] {
  return clustersIn(folder).filter((cluster) => {
    const owner = ownerOf(cluster);
    if (!owner || Date.now() - claimedAt(cluster) < ORPHAN_MS_MIN) return false;
    return existsSync(dirname(dirname(owner))) && recordedCluster(owner) !== cluster;
  });
}

/** Deletes a cluster and what was written down about it beside it. */
export function removeFiles(cluster: string): void {
  for (const path of [cluster, `${cluster}.draft`, `${cluster}${OWNER}`])
    rmSync(path, { recursive: true, force: true });
}
