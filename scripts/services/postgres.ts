/** PostgreSQL with DocumentDB inside its own root folder: how its programs are called there. */
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, processesIn, signal, waitFor, waitUntilDead } from './processes';
import { type Command, run, parentTie, systemTool } from './run';

const PROGRAMS = '/usr/lib/postgresql/18/bin';
const USER = 'postgres';
const BACKENDS_END_MS = 5_000;
const STATUS_LINE = 7;

/** A cluster's folder, as seen from outside and from inside the root. */
export interface Cluster {
  root: string;
  /** Path inside the root, such as `/signalbox/0123`. */
  inner: string;
}

export const clusterFolder = ({ root, inner }: Cluster): string => join(root, inner);

/** Owner of everything PostgreSQL writes; read from the root's own user list. */
export function postgresOwner(root: string): { uid: number; gid: number } {
  const line = readFileSync(join(root, 'etc/passwd'), 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${USER}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (!uid || !gid) throw new Error(`${root} has no user ${USER}`);
  return { uid: Number(uid), gid: Number(gid) };
}

/** A command that runs inside the root as the PostgreSQL user. */
export function insideRoot(root: string, argv: readonly string[]): Command {
  const env = { PATH: `${PROGRAMS}:/usr/bin:/bin`, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', TZ: 'UTC' };
  return {
    file: systemTool('chroot'),
    args: [`--userspec=${USER}:${USER}`, root, ...argv],
    env: { ...process.env, ...env },
  };
}

function settings(port: number, isDurable: boolean): string[] {
  const values: Record<string, string> = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    // The root has no folder for sockets that others could reach.
    unix_socket_directories: '',
    // Nothing is mounted inside the root, so there is no /dev/shm.
    dynamic_shared_memory_type: 'mmap',
    shared_preload_libraries: 'pg_cron,pg_documentdb_core,pg_documentdb,pg_documentdb_extended_rum',
    // Without it no index serves a sort.
    'documentdb.alternate_index_handler_name': 'extended_rum',
    // Looks up statistics of every index of a collection for each query; the product names the index of every list.
    'documentdb.enable_index_correlation_from_statistics': 'off',
    'cron.database_name': 'postgres',
    'cron.log_run': 'off',
    shared_buffers: '256MB',
    max_connections: '200',
    max_wal_size: '1GB',
    jit: 'off',
    // Records of executions are beyond 2 KB, so every write packs one: PostgreSQL's own way takes a tenth of its time.
    default_toast_compression: 'lz4',
    log_checkpoints: 'off',
    // Commits stay synchronous either way: a killed server must not lose what it acknowledged.
    ...(isDurable ? {} : { fsync: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

export interface ServerOptions {
  port: number;
  isDurable: boolean;
}

export function serverCommand(cluster: Cluster, { port, isDurable }: ServerOptions): Command {
  const server = [`${PROGRAMS}/postgres`, '-D', cluster.inner, ...settings(port, isDurable)];
  return insideRoot(cluster.root, [...parentTie('INT'), ...server]);
}

/** Processes of the cluster: each works in the cluster's folder, whatever process group it is in. */
export const clusterProcesses = (cluster: Cluster): number[] => processesIn(clusterFolder(cluster));

const pidFile = (cluster: Cluster): string => join(clusterFolder(cluster), 'postmaster.pid');

/**
 * Makes a crashed cluster startable: ends backends that outlived their server and removes its pid file. Left there,
 * the file would block the start when its pid now belongs to another cluster's process.
 */
export async function clearCrash(cluster: Cluster): Promise<void> {
  const isClear = () => {
    const left = clusterProcesses(cluster);
    for (const pid of left) signal(pid, 'SIGKILL');
    return left.length === 0;
  };
  if (!(await waitFor(isClear, { timeoutMs: BACKENDS_END_MS })))
    throw new Error(`PostgreSQL of ${cluster.inner} lives on`);
  rmSync(pidFile(cluster), { force: true });
}

/** True once the server with this pid says so itself. */
export function isAccepting(cluster: Cluster, pid: number): boolean {
  try {
    const lines = readFileSync(pidFile(cluster), 'utf8').split('\n');
    return Number(lines[0]) === pid && lines[STATUS_LINE]?.trim() === 'ready';
  } catch {
    return false;
  }
}

/** Runs the statements on a server started for them alone. */
export async function runStatements(cluster: Cluster, port: number, statements: readonly string[]): Promise<void> {
  const { file, args, env } = serverCommand(cluster, { port, isDurable: false });
  const server = spawn(file, args, { env, detached: true, stdio: 'ignore' });
  const { pid } = server;
  if (!pid) throw new Error('cannot run chroot');
  try {
    const settled = await waitFor(() => isAccepting(cluster, pid) || !isAlive(pid), { timeoutMs: 30_000 });
    if (!settled || !isAlive(pid)) throw new Error('PostgreSQL did not start for its preparation');
    const client = ['psql', '-v', 'ON_ERROR_STOP=1', '-h', '127.0.0.1', '-p', String(port), '-U', USER];
    await run(insideRoot(cluster.root, [...client, ...statements.flatMap((statement) => ['-c', statement])]));
  } finally {
    signal(pid, 'SIGINT');
    await waitUntilDead([pid], 10_000);
  }
}

/** Creates the files of a new cluster. */
export async function initializeCluster(cluster: Cluster): Promise<void> {
  const options = ['--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync', `--username=${USER}`];
  await run(insideRoot(cluster.root, [`${PROGRAMS}/initdb`, '-D', cluster.inner, ...options]));
}
