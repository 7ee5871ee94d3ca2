/** FerretDB over PostgreSQL as one service: together they are what a MongoDB server would be. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openCluster } from './clusters';
import { withAdmin } from './ping';
import { accepts, choosePort, choosePortFor } from './ports';
import { clearCrash, type Cluster, clusterFolder, clusterProcesses, isAccepting, serverCommand } from './postgres';
import { tiedToParent } from './run';
import { createService, type Unit } from './service';
import type { Setup } from './setup';
import type { StoreParts } from './store-parts';
import type { Found, Source, StoreAddresses } from './types';

function postgresUnit(setup: Setup, cluster: Cluster, port: number): Unit {
  return {
    name: 'postgres',
    command: serverCommand(cluster, { port, isDurable: setup.isDurable }),
    marker: `-D ${cluster.inner} `,
    folder: clusterFolder(cluster),
    // Fast shutdown: waiting for clients to leave would never end.
    stopSignal: 'SIGINT',
    prepare: () => clearCrash(cluster),
    isReady: (pid) => Promise.resolve(isAccepting(cluster, pid)),
    offspring: () => clusterProcesses(cluster),
  };
}

async function answersQueries(port: number): Promise<boolean> {
  if (!(await accepts('127.0.0.1', port))) return false;
  // A query goes through to PostgreSQL; a ping would be answered by FerretDB alone.
  return withAdmin(port, (admin) => admin.command({ listDatabases: 1, nameOnly: true })).then(
    () => true,
    () => false,
  );
}

interface Ports {
  postgres: number;
  store: number;
}

function ferretUnit(setup: Setup, program: string, ports: Ports): Unit {
  const stateDir = join(setup.dataDir, 'ferretdb');
  const listening = [`--listen-addr=127.0.0.1:${ports.store}`, '--debug-addr=-'];
  const args = [...listening, '--no-auth', '--telemetry=disable', '--log-level=WARN', `--state-dir=${stateDir}`];
  const env = {
    ...setup.env,
    FERRETDB_POSTGRESQL_URL: `postgres://postgres@127.0.0.1:${ports.postgres}/postgres`,
    // It passes on what PostgreSQL does: with more threads, two fifths of its time go into waking them.
    GOMAXPROCS: setup.env['GOMAXPROCS'] ?? '1',
  };
  return {
    name: 'ferretdb',
    command: tiedToParent({ file: program, args, env, cwd: setup.dataDir }),
    marker: stateDir,
    folder: stateDir,
    stopSignal: 'SIGTERM',
    prepare: () => {
      mkdirSync(stateDir, { recursive: true });
      return Promise.resolve();
    },
    isReady: () => answersQueries(ports.store),
  };
}

/** The service made of the given parts, with its ports chosen and its cluster in place. */
export async function ferretService(setup: Setup, source: Source, parts: StoreParts): Promise<Found<StoreAddresses>> {
  const cluster = await openCluster(setup, parts.root);
  const ports: Ports = {
    postgres: await choosePort(),
    store: await choosePortFor('store', setup.ports.store, setup.log),
  };
  const units = [postgresUnit(setup, cluster, ports.postgres), ferretUnit(setup, parts.ferretdb, ports)];
  const { dataDir, progress } = setup;
  return {
    service: createService({ name: 'store', source, dataDir, units, progress }),
    addresses: { mongodbUri: `mongodb://127.0.0.1:${ports.store}/signalbox` },
  };
}
