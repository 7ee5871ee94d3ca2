/** A real mongod as a service: one node of a replica set of one, so that it offers all that clusters offer. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { mongo } from 'mongoose';
import { withAdmin } from './ping';
import { accepts, choosePortFor } from './ports';
import { tiedToParent } from './run';
import { createService, type Unit } from './service';
import type { Setup } from './setup';
import type { Found, Source, StoreAddresses } from './types';

const REPLICA_SET = 'signalbox';
const NOT_YET_INITIALIZED = 94;

interface ReplicaSetConfig {
  version: number;
  members: { _id: number; host: string }[];
}

/** Creates the set on first use, and corrects its only member's address when the port has changed since. */
async function alignReplicaSet(admin: mongo.Db, host: string): Promise<void> {
  const members = [{ _id: 0, host }];
  const config = await readConfig(admin);
  if (!config) {
    await admin.command({ replSetInitiate: { _id: REPLICA_SET, members } });
  } else if (config.members[0]?.host !== host) {
    // Forced, because a node that does not find itself in the set never becomes primary.
    await admin.command({ replSetReconfig: { ...config, version: config.version + 1, members }, force: true });
  }
}

async function readConfig(admin: mongo.Db): Promise<ReplicaSetConfig | undefined> {
  try {
    const answer = await admin.command({ replSetGetConfig: 1 });
    return answer['config'] as ReplicaSetConfig;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === NOT_YET_INITIALIZED) return undefined;
    throw error;
  }
}

async function isPrimary(port: number): Promise<boolean> {
  if (!(await accepts('127.0.0.1', port))) return false;
  const ask = async (admin: mongo.Db) => {
    await alignReplicaSet(admin, `127.0.0.1:${port}`);
    const hello = await admin.command({ hello: 1 });
    return hello['isWritablePrimary'] === true;
  };
  return withAdmin(port, ask).catch(() => false);
}

function mongodUnit(setup: Setup, program: string, port: number): Unit {
  const folder = join(setup.dataDir, 'mongod');
  const listening = ['--bind_ip', '127.0.0.1', '--port', String(port), '--nounixsocket'];
  const args = ['--dbpath', folder, ...listening, '--replSet', REPLICA_SET, '--quiet'];
  return {
    name: 'mongod',
    command: tiedToParent({ file: program, args, env: setup.env, cwd: setup.dataDir }),
    marker: folder,
    folder,
    stopSignal: 'SIGTERM',
    prepare: () => {
      mkdirSync(folder, { recursive: true });
      return Promise.resolve();
    },
    isReady: () => isPrimary(port),
  };
}

/** The service made of the given `mongod` program, with its port chosen. */
export async function mongodService(setup: Setup, source: Source, program: string): Promise<Found<StoreAddresses>> {
  const port = await choosePortFor('store', setup.ports.store, setup.log);
  const { dataDir, progress } = setup;
  const units = [mongodUnit(setup, program, port)];
  return {
    service: createService({ name: 'store', source, dataDir, units, progress }),
    // Direct: the set's member list is only ever this server, and may still name its previous port.
    addresses: { mongodbUri: `mongodb://127.0.0.1:${port}/signalbox?directConnection=true` },
  };
}
