/** Data folders that people moved, copied or damaged: nothing in them is lost, and none disturbs another. */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { removeServiceData } from '../../../scripts/services';
import { isAlive } from '../../../scripts/services/processes';
import { createSetup } from '../../../scripts/services/setup';
import { findStore } from '../../../scripts/services/store';
import type { Found, StoreAddresses } from '../../../scripts/services/types';

jest.setTimeout(120_000);

type Store = Found<StoreAddresses>;

const DAY_MS = 24 * 3_600_000;

let folder = '';
let started: Store[] = [];

const at = (name: string): string => join(folder, name, 'data');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-copied-'));
});

afterEach(async () => {
  await Promise.all(started.map(({ service }) => service.stop()));
  started = [];
  for (const name of readdirSync(folder)) await removeServiceData(at(name));
  rmSync(folder, { recursive: true, force: true });
});

async function start(name: string): Promise<Store> {
  const store = await findStore(createSetup({ dataDir: at(name), log: () => {}, durable: false }));
  await store.service.start();
  started.push(store);
  return store;
}

interface Note {
  _id: string;
}

async function withNotes<T>(store: Store, work: (notes: mongoose.mongo.Collection<Note>) => Promise<T>): Promise<T> {
  const connection = await mongoose.createConnection(store.addresses.mongodbUri).asPromise();
  try {
    return await work(connection.collection<Note>('notes'));
  } finally {
    await connection.close();
  }
}

const write = (store: Store, id: string) => withNotes(store, (notes) => notes.insertOne({ _id: id }));

const read = (store: Store) =>
  withNotes(store, async (notes) => (await notes.find().sort({ _id: 1 }).toArray()).map(({ _id: id }) => id));

/** A folder with one note, stopped. */
async function fill(name: string): Promise<void> {
  const store = await start(name);
  await write(store, 'first');
  await store.service.stop();
}

const copy = (from: string, to: string): void => cpSync(join(folder, from), join(folder, to), { recursive: true });

const clusterOf = (name: string): string =>
  (JSON.parse(readFileSync(join(at(name), 'store.json'), 'utf8')) as { cluster: string }).cluster;

/** Processes of PostgreSQL that end by themselves: sessions, and workers for one task. */
const PASSING = /^postgres: (?:postgres |autovacuum worker|parallel worker)/;

const titleOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return 'postgres: postgres ended';
  }
};

/** Processes that run for as long as their store. When another one is killed, PostgreSQL begins most of these anew. */
const lastingOf = ({ service }: Store): number[] => service.pids().filter((pid) => !PASSING.test(titleOf(pid)));

test('a copied folder has the data from then on for itself, and both run beside each other', async () => {
  await fill('one');
  copy('one', 'two');
  const two = await start('two');
  const one = await start('one');
  const lasting = lastingOf(one);
  await write(one, 'of one');
  await write(two, 'of two');
  expect([await read(one), await read(two)]).toEqual([
    ['first', 'of one'],
    ['first', 'of two'],
  ]);
  await two.service.stop();
  await start('two');
  expect(lasting.length).toBeGreaterThanOrEqual(2);
  expect(lasting.every(isAlive)).toBe(true);
  expect(await read(one)).toEqual(['first', 'of one']);
});

test('a copy whose original runs says so and leaves it alone; without its data it goes on', async () => {
  await fill('one');
  copy('one', 'two');
  const one = await start('one');
  await expect(start('two')).rejects.toThrow(`${at('two')} is a copy of ${at('one')}, whose store is running: stop`);
  await removeServiceData(at('two'));
  expect(await read(one)).toEqual(['first']);
  expect(await read(await start('two'))).toEqual([]);
});

test('data are found again when the file that names them is damaged', async () => {
  await fill('one');
  writeFileSync(join(at('one'), 'store.json'), '{"clus');
  expect(await read(await start('one'))).toEqual(['first']);
});

test('a folder that was moved finds its data again, though another one has its place by now', async () => {
  await fill('one');
  const dayAgo = new Date(Date.now() - DAY_MS);
  utimesSync(`${clusterOf('one')}.owner.json`, dayAgo, dayAgo);
  renameSync(join(folder, 'one'), join(folder, 'moved'));
  expect(await read(await start('one'))).toEqual([]);
  expect(await read(await start('moved'))).toEqual(['first']);
});

test('data of a folder that was deleted are removed after a week', async () => {
  await fill('one');
  const cluster = clusterOf('one');
  const long = new Date(Date.now() - 8 * DAY_MS);
  utimesSync(`${cluster}.owner.json`, long, long);
  rmSync(at('one'), { recursive: true });
  await start('one');
  expect(existsSync(cluster)).toBe(false);
});

test('data that are gone are missed, with the way to begin anew', async () => {
  await fill('one');
  rmSync(clusterOf('one'), { recursive: true });
  await expect(start('one')).rejects.toThrow(
    'which is gone: bring it back, or begin anew with `npm run dev -- --reset`',
  );
  await removeServiceData(at('one'));
  expect(await read(await start('one'))).toEqual([]);
});
