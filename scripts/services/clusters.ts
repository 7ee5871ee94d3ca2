/**
 * PostgreSQL clusters inside the store's root folder. Nothing may be mounted, so a data folder's cluster lives in
 * there too: which one it is, `cluster-owners.ts` knows.
 */
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  claimCluster,
  findCluster,
  isSameFolder,
  originalOf,
  readField,
  recordCluster,
  recordedCluster,
  removeFiles,
  orphansIn,
} from './cluster-owners';
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

const copyFolder = (from: string, to: string) =>
  run({ file: systemTool('cp'), args: ['-a', '--reflink=auto', from, to] });

/** A new cluster with the files of `source`; the data folder names it last, so what it names is whole. */
async function makeCluster(setup: Setup, root: string, source: Cluster): Promise<Cluster> {
  const cluster = { root, inner: join(FOLDER, randomUUID().slice(0, 13)) };
  const folder = clusterFolder(cluster);
  mkdirSync(setup.dataDir, { recursive: true });
  claimCluster(folder, setup.dataDir);
  await copyFolder(clusterFolder(source), `${folder}.draft`);
  renameSync(`${folder}.draft`, folder);
  return cluster;
}

/** Two servers on one cluster would end each other's processes: a copied data folder gets a copy of the cluster. */
async function copyCluster(setup: Setup, source: Cluster, original: string): Promise<Cluster> {
  const refuseWhileRunning = () => {
    if (clusterProcesses(source).length === 0) return;
    throw new Error(
      `${setup.dataDir} is a copy of ${original}, whose store is running: stop that one until this one has started ` +
        'for the first time, so that its data can be copied, or begin anew with `npm run dev -- --reset`.',
    );
  };
  refuseWhileRunning();
  const cluster = await setup.progress.track(`store: copying the data of ${original}`, () =>
    makeCluster(setup, source.root, source),
  );
  try {
    // Started meanwhile, it wrote while it was read.
    refuseWhileRunning();
  } catch (error) {
    removeFiles(clusterFolder(cluster));
    throw error;
  }
  return cluster;
}

/** Going on with an empty store would leave the engine with work on records that are gone, and hide the loss. */
function assertThere(setup: Setup, root: string, recorded: string): void {
  const anew = 'begin anew with `npm run dev -- --reset`.';
  if (!existsSync(join(recorded, 'PG_VERSION')))
    throw new Error(`The data of ${setup.dataDir} were in ${recorded}, which is gone: bring it back, or ${anew}`);
  if (!isSameFolder(dirname(recorded), join(root, FOLDER)))
    throw new Error(
      `The data of ${setup.dataDir} are in ${recorded}, in another cache than ${setup.cacheDir}: set SIGNALBOX_CACHE ` +
        `(or HOME) as it was, or ${anew}`,
    );
}

async function clusterOf(setup: Setup, root: string): Promise<Cluster> {
  const found = findCluster(setup.dataDir, join(root, FOLDER));
  if (!found) return makeCluster(setup, root, { root, inner: TEMPLATE });
  assertThere(setup, root, found);
  const cluster = clusterAt(root, found);
  const original = originalOf(setup.dataDir, found);
  return original ? copyCluster(setup, cluster, original) : cluster;
}

/** The data folder's cluster, copied from the template when there is none yet. */
export async function openCluster(setup: Setup, root: string): Promise<Cluster> {
  // Clusters lie in the cache, so a cache that can only be read is of no use to them.
  ensureCache(setup);
  await ensureTemplate(setup, root);
  const cluster = await clusterOf(setup, root);
  claimCluster(clusterFolder(cluster), setup.dataDir);
  recordCluster(setup.dataDir, clusterFolder(cluster));
  for (const orphan of orphansIn(join(root, FOLDER))) {
    if (clusterProcesses(clusterAt(root, orphan)).length === 0) removeFiles(orphan);
  }
  return cluster;
}

const clusterAt = (root: string, path: string): Cluster => ({ root, inner: join(FOLDER, basename(path)) });

/** Deletes the data folder's cluster, after ending whatever still runs on it. */
export async function removeCluster(dataDir: string): Promise<void> {
  const recorded = recordedCluster(dataDir);
  if (!recorded || originalOf(dataDir, recorded)) return;
  // The path comes from a file anybody may have edited: only a folder of ours is ever removed.
  if (!/^[0-9a-f-]{13}$/.test(basename(recorded)) || basename(dirname(recorded)) !== basename(FOLDER)) return;
  await clearCrash(clusterAt(dirname(dirname(recorded)), recorded));
  removeFiles(recorded);
}
