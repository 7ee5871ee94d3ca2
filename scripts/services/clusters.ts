/**
 * PostgreSQL clusters inside the store's root folder. Nothing may be mounted, so a data folder's cluster lives in
 * there too; the data folder names it in `store.json`, and the cluster names its data folder in return.
 */
import { randomUUID } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { withLock } from './lock';
import { choosePort, releasePort } from './ports';
import {
  type Cluster,
  clearCrash,
  clusterFolder,
  clusterProcesses,
  initializeCluster,
  postgresOwner,
  runStatements,
} from './postgres';
import { run, systemTool } from './run';
import { ensureCache, type Setup } from './setup';

const FOLDER = '/signalbox';
const TEMPLATE = `${FOLDER}/template`;
/** Changes with what the template holds, so that an older one is made anew. */
const TEMPLATE_RECIPE = '1';
const EXTENSIONS = ['CREATE EXTENSION documentdb CASCADE', 'CREATE EXTENSION documentdb_extended_rum'];

// A cluster is written down on both sides within moments; younger ones may be in the middle of it.
const ORPHAN_MS_MIN = 10 * 60_000;

const recordPath = (dataDir: string): string => join(dataDir, 'store.json');

/** One text field of a JSON file; undefined when the file or the field is missing or damaged. */
function readField(path: string, name: string): string | undefined {
  try {
    const value = (JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>)[name];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Full path of the data folder's cluster as recorded, whether or not it exists. */
function recordedCluster(dataDir: string): string | undefined {
  return readField(recordPath(dataDir), 'cluster');
}

function ownedFolder(root: string, path: string): void {
  const { uid, gid } = postgresOwner(root);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chownSync(path, uid, gid);
}

/** Creating a cluster and its extensions takes 2 s; copying a prepared one takes a tenth of that. */
async function ensureTemplate(setup: Setup, root: string): Promise<void> {
  const folder = join(root, FOLDER);
  const stamp = join(folder, 'template.json');
  const isReady = () => readField(stamp, 'recipe') === TEMPLATE_RECIPE;
  if (isReady()) return;
  mkdirSync(folder, { recursive: true });
  await setup.progress.track('store: preparing an empty cluster', (report) =>
    withLock(
      join(folder, 'template.lock'),
      (pid) => report(`waiting for process ${pid}`),
      async () => {
        if (isReady()) return;
        const draft: Cluster = { root, inner: `${TEMPLATE}.draft` };
        await clearCrash(draft);
        rmSync(clusterFolder(draft), { recursive: true, force: true });
        ownedFolder(root, clusterFolder(draft));
        await initializeCluster(draft);
        const port = await choosePort();
        await runStatements(draft, port, EXTENSIONS);
        releasePort(port);
        rmSync(join(root, TEMPLATE), { recursive: true, force: true });
        renameSync(clusterFolder(draft), join(root, TEMPLATE));
        writeFileSync(stamp, JSON.stringify({ recipe: TEMPLATE_RECIPE, finished_at: new Date().toISOString() }));
      },
    ),
  );
}

/** The data folder's cluster, copied from the template when there is none yet. */
export async function openCluster(setup: Setup, root: string): Promise<Cluster> {
  // Clusters lie in the cache, so a cache that can only be read is of no use to them.
  ensureCache(setup);
  await ensureTemplate(setup, root);
  removeOrphans(root);
  const recorded = recordedCluster(setup.dataDir);
  if (recorded && existsSync(join(recorded, 'PG_VERSION')) && dirname(recorded) === join(root, FOLDER)) {
    return clusterAt(root, recorded);
  }
  const inner = join(FOLDER, randomUUID().slice(0, 13));
  const folder = join(root, inner);
  mkdirSync(setup.dataDir, { recursive: true });
  writeFileSync(recordPath(setup.dataDir), JSON.stringify({ cluster: folder }));
  writeFileSync(`${folder}.owner.json`, JSON.stringify({ dataDir: setup.dataDir }));
  const draft = `${folder}.draft`;
  await run({ file: systemTool('cp'), args: ['-a', '--reflink=auto', join(root, TEMPLATE), draft] });
  renameSync(draft, folder);
  return { root, inner };
}

/**
 * Removes clusters whose data folder was deleted by hand or names another cluster by now. A folder that is gone
 * together with all around it may be on a disk that is not attached at the moment: its cluster stays.
 */
function removeOrphans(root: string): void {
  const folder = join(root, FOLDER);
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith('.owner.json'))) {
    const cluster = join(folder, name.replace('.owner.json', ''));
    const owner = readField(join(folder, name), 'dataDir');
    const age = Date.now() - (statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (!owner || age < ORPHAN_MS_MIN || !existsSync(dirname(dirname(owner)))) continue;
    if (recordedCluster(owner) !== cluster && clusterProcesses(clusterAt(root, cluster)).length === 0)
      removeFiles(cluster);
  }
}

const clusterAt = (root: string, path: string): Cluster => ({ root, inner: join(FOLDER, basename(path)) });

function removeFiles(cluster: string): void {
  for (const path of [cluster, `${cluster}.draft`, `${cluster}.owner.json`])
    rmSync(path, { recursive: true, force: true });
}

/** Deletes the data folder's cluster, after ending whatever still runs on it. */
export async function removeCluster(dataDir: string): Promise<void> {
  const recorded = recordedCluster(dataDir);
  if (!recorded) return;
  // The path comes from a file anybody may have edited: only a folder of ours is ever removed.
  if (!/^[0-9a-f-]{13}$/.test(basename(recorded)) || basename(dirname(recorded)) !== basename(FOLDER)) return;
  await clearCrash(clusterAt(dirname(dirname(recorded)), recorded));
  removeFiles(recorded);
}
