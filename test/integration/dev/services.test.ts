import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import mongoose from 'mongoose';
import { removeServiceData, type Services, startServices } from '../../../scripts/services';
import { isServing } from '../../../scripts/services/grpc-health';
import { isAlive, waitUntilDead } from '../../../scripts/services/processes';

jest.setTimeout(300_000);

const FRONTEND = 'temporal.api.workflowservice.v1.WorkflowService';

let folder = '';
let services: Services;

// What a folder may be called, and what an address takes for something else.
const NAME = 'Müller #1? 100% (2)';

const dataDir = (): string => join(folder, NAME, 'data');

const start = (): Promise<Services> => startServices({ dataDir: dataDir(), log: () => {}, durable: false });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-services-'));
  mkdirSync(join(folder, NAME));
  services = await start();
});

afterAll(async () => {
  await services.stop();
  await removeServiceData(dataDir());
  rmSync(folder, { recursive: true, force: true });
});

interface Note {
  _id: string;
  text: string;
}

async function withNotes<T>(work: (notes: mongoose.mongo.Collection<Note>) => Promise<T>): Promise<T> {
  const connection = await mongoose.createConnection(services.mongodbUri).asPromise();
  try {
    return await work(connection.collection<Note>('notes'));
  } finally {
    await connection.close();
  }
}

test('the store is killed with its processes, and an acknowledged write is there after its return', async () => {
  await withNotes((notes) => notes.insertOne({ _id: 'kept', text: 'before the kill' }));
  const pids = services.store.pids();
  await services.store.kill();
  expect(pids.filter(isAlive)).toEqual([]);
  expect(services.store.pids()).toEqual([]);
  await services.store.start();
  expect(await withNotes((notes) => notes.findOne({ _id: 'kept' }))).toEqual({ _id: 'kept', text: 'before the kill' });
});

test('the store comes back while a client goes on with the same connection', async () => {
  await withNotes(async (notes) => {
    await notes.insertOne({ _id: 'first', text: '1' });
    await services.store.kill();
    await services.store.start();
    await notes.insertOne({ _id: 'second', text: '2' });
    expect(await notes.countDocuments({ _id: { $in: ['first', 'second'] } })).toBe(2);
  });
});

test('the engine is killed, and serves again on the same address after its return', async () => {
  const pids = services.engine.pids();
  expect(await isServing(services.temporalAddress, FRONTEND)).toBe(true);
  await services.engine.kill();
  expect(pids.filter(isAlive)).toEqual([]);
  expect(await isServing(services.temporalAddress, FRONTEND)).toBe(false);
  await services.engine.start();
  expect(await isServing(services.temporalAddress, FRONTEND)).toBe(true);
  expect((await fetch(services.temporalUiUrl)).status).toBe(200);
});

test('the engine keeps its data in the folder, whatever it is called', () => {
  expect(existsSync(join(dataDir(), 'engine/temporal.db'))).toBe(true);
  expect(readdirSync(folder)).toEqual([NAME]);
});

test('starting what runs already changes nothing', async () => {
  const before = [services.engine.pids()[0], services.store.pids()[0]];
  await Promise.all([services.engine.start(), services.store.start()]);
  expect([services.engine.pids()[0], services.store.pids()[0]]).toEqual(before);
});

test('a data folder in use is refused', async () => {
  await expect(start()).rejects.toThrow(`is in use by process ${process.pid}`);
});

test('a stop and a start on the same folder keep the data', async () => {
  await withNotes((notes) => notes.insertOne({ _id: 'over night', text: 'still here' }));
  await services.stop();
  services = await start();
  expect(await withNotes((notes) => notes.findOne({ _id: 'over night' }))).toMatchObject({ text: 'still here' });
});

test('when the process that started them is killed outright, nothing is left over and its data can be started again', async () => {
  const script = join(folder, 'holder.ts');
  const held = join(folder, 'held');
  const index = resolve(__dirname, '../../../scripts/services/index.ts');
  writeFileSync(
    script,
    `import { startServices } from ${JSON.stringify(index)};
     setInterval(() => {}, 60_000);
     startServices({ dataDir: ${JSON.stringify(held)}, log: () => {}, durable: false }).then((services) => {
       console.log(JSON.stringify({ uri: services.mongodbUri, pids: [...services.engine.pids(), ...services.store.pids()] }));
     });`,
  );
  const holder = spawn(process.execPath, ['--import', 'tsx', script], {
    cwd: resolve(__dirname, '../../..'),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: holder.stdout }), 'line')) as [string];
  const { uri, pids } = JSON.parse(line) as { uri: string; pids: number[] };
  const connection = await mongoose.createConnection(uri).asPromise();
  await connection.collection<Note>('notes').insertOne({ _id: 'kept', text: 'before the end' });
  await connection.close();
  holder.kill('SIGKILL');
  await once(holder, 'exit');

  const again = await startServices({ dataDir: held, log: () => {}, durable: false });
  const second = await mongoose.createConnection(again.mongodbUri).asPromise();
  expect(await second.collection<Note>('notes').findOne({ _id: 'kept' })).toMatchObject({ text: 'before the end' });
  await second.close();
  expect(await waitUntilDead(pids, 10_000)).toBe(true);
  await again.stop();
  const { cluster } = JSON.parse(readFileSync(join(held, 'store.json'), 'utf8')) as { cluster: string };
  await removeServiceData(held);
  expect(() => readFileSync(join(cluster, 'PG_VERSION'))).toThrow('ENOENT');
});
