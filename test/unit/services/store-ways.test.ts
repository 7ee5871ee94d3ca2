import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSetup, type Setup } from '../../../scripts/services/setup';
import { findStore, withDatabase } from '../../../scripts/services/store';
import { cachedStoreParts, installStoreParts } from '../../../scripts/services/store-parts';
import type { Environment } from '../../../scripts/services/types';

/**
 * Speaks just enough of the MongoDB protocol for a driver to connect, and keeps its replica set's configuration in
 * its data folder as a mongod does.
 */
const MONGOD = `#!${process.execPath}
if (process.argv.includes('--version')) { console.log('db version stand-in'); process.exit(0); }
const { BSON } = require(${JSON.stringify(require.resolve('mongodb'))});
const { readFileSync, writeFileSync } = require('node:fs');
const valueOf = (flag) => process.argv[process.argv.indexOf(flag) + 1];
const file = valueOf('--dbpath') + '/replica-set.json';
const read = () => { try { return JSON.parse(readFileSync(file, 'utf8')); } catch { return undefined; } };
const commands = {
  hello: () => ({ isWritablePrimary: read() !== undefined, maxBsonObjectSize: 16777216, maxMessageSizeBytes: 48000000,
    maxWriteBatchSize: 100000, minWireVersion: 0, maxWireVersion: 25, localTime: new Date() }),
  replSetGetConfig: () => read() ? { config: read() } : { ok: 0, code: 94, errmsg: 'no replset config has been received' },
  replSetInitiate: (body) => writeFileSync(file, JSON.stringify({ ...body.replSetInitiate, version: 1 })),
  replSetReconfig: (body) => writeFileSync(file, JSON.stringify(body.replSetReconfig)),
};
const answer = (message) => {
  const isOld = message.readInt32LE(12) === 2004;
  const body = BSON.deserialize(message.subarray(isOld ? message.indexOf(0, 20) + 9 : 21));
  const run = commands[Object.keys(body)[0]] ?? (isOld ? commands.hello : () => ({}));
  const document = BSON.serialize({ ok: 1, ...run(body) });
  const head = isOld ? Buffer.alloc(36) : Buffer.alloc(21);
  if (isOld) head.writeInt32LE(1, 32);
  head.writeInt32LE(head.length + document.length, 0);
  head.writeInt32LE(message.readInt32LE(4), 8);
  head.writeInt32LE(isOld ? 1 : 2013, 12);
  return Buffer.concat([head, document]);
};
require('node:net').createServer((socket) => {
  let rest = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0);
      socket.write(answer(rest.subarray(0, length)));
      rest = rest.subarray(length);
    }
  });
}).listen(Number(valueOf('--port')), '127.0.0.1');
`;

let folder = '';
let lines: string[] = [];
let server: Server | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-store-'));
  lines = [];
});

afterEach(async () => {
  const open = server;
  server = undefined;
  if (open) await new Promise((resolve) => open.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

function setupWith(env: Environment, ports: { store?: number } = {}): Setup {
  const closed = { PATH: join(folder, 'programs'), SIGNALBOX_MONGOD_DOWNLOAD_URL: 'http://127.0.0.1:10' };
  return createSetup({
    dataDir: join(folder, 'data'),
    cacheDir: join(folder, 'cache'),
    log: (line) => lines.push(line),
    env: { ...closed, ...env },
    ports,
  });
}

function writeProgram(directory: string, name: string, content: string): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), content);
  chmodSync(join(directory, name), 0o755);
}

const onPath = (name: string, content: string): void => writeProgram(join(folder, 'programs'), name, content);

const readReplicaSet = (): unknown => JSON.parse(readFileSync(join(folder, 'data/mongod/replica-set.json'), 'utf8'));

test('1: MONGODB_URI is used, with our database where it names none', async () => {
  const { service, addresses } = await findStore(setupWith({ MONGODB_URI: 'mongodb://db.example:27017?tls=true' }));
  expect(addresses.mongodbUri).toBe('mongodb://db.example:27017/signalbox?tls=true');
  expect(service.source).toBe('environment');
});

test.each([
  ['mongodb://a,b:1', 'mongodb://a,b:1/signalbox'],
  ['mongodb://user:p%40ss@a/', 'mongodb://user:p%40ss@a/signalbox'],
  ['mongodb+srv://a/mine?w=1', 'mongodb+srv://a/mine?w=1'],
  ['mongodb://a/?replicaSet=rs', 'mongodb://a/signalbox?replicaSet=rs'],
])('1: %s becomes %s', (given, expected) => {
  expect(withDatabase(given)).toBe(expected);
});

test('2: a mongod on PATH becomes a replica set of one, and follows its port', async () => {
  onPath('mongod', MONGOD);
  const first = await findStore(setupWith({}));
  expect(first.service.source).toBe('path');
  await first.service.start();
  const [, port] = /127\.0\.0\.1:(\d+)\/signalbox/.exec(first.addresses.mongodbUri) ?? [];
  expect(readReplicaSet()).toEqual({ _id: 'signalbox', version: 1, members: [{ _id: 0, host: `127.0.0.1:${port}` }] });
  await first.service.kill();
  await first.service.start();
  expect(readReplicaSet()).toMatchObject({ version: 1 });
  await first.service.stop();

  const moved = await findStore(setupWith({}));
  await moved.service.start();
  const [, newPort] = /127\.0\.0\.1:(\d+)\/signalbox/.exec(moved.addresses.mongodbUri) ?? [];
  expect(newPort).not.toBe(port);
  expect(readReplicaSet()).toMatchObject({ version: 2, members: [{ _id: 0, host: `127.0.0.1:${newPort}` }] });
  await moved.service.stop();
});

test('3: a cached mongod goes before a download', async () => {
  const directory = join(folder, 'cache', 'mongod');
  writeProgram(directory, 'mongod', MONGOD);
  writeFileSync(join(directory, 'stamp.json'), JSON.stringify({ version: '8.2.6', origin: 'test', finished_at: '' }));
  const { service } = await findStore(setupWith({}));
  expect(service.source).toBe('cache');
});

test('4: mongod is taken from the mirror, under the name of the archive that suits this system', async () => {
  writeProgram(join(folder, 'mongodb-8/bin'), 'mongod', MONGOD);
  execFileSync('tar', ['-czf', join(folder, 'mongod.tgz'), '-C', folder, 'mongodb-8']);
  const paths: string[] = [];
  server = createServer((request, response) => {
    paths.push(request.url ?? '');
    if (request.url?.endsWith('.sha256')) response.writeHead(404).end();
    else response.end(readFileSync(join(folder, 'mongod.tgz')));
  });
  await new Promise<void>((resolve) => {
    server?.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mirror/`;
  const setup = setupWith({ SIGNALBOX_MONGOD_DOWNLOAD_URL: url });
  const { service } = await findStore(setup);
  expect(service.source).toBe('download');
  expect(paths[0]).toMatch(/^\/mirror\/(linux|osx)\/mongodb-.*8\.2\.6\.tgz$/);
  await service.start();
  await service.stop();
  expect((await findStore(setup)).service.source).toBe('cache');
});

// Installing a Debian root needs root; elsewhere this way is refused before it begins, which is tested above.
const asRoot = process.getuid?.() === 0 ? test : (name: string): void => void name;

const GO = '#!/bin/sh\nPATH=/usr/bin:/bin\nfor last; do :; done\necho "$last" > "$GOBIN/ferretdb"\n';

/** Keeps what it "downloads" where it was told to, and fails after that when \`folder/interrupt\` exists. */
const debootstrap = (): string => `#!/bin/sh
PATH=/usr/bin:/bin
echo "$@" > ${folder}/debootstrap-arguments
for argument; do case "$argument" in --cache-dir=*) packages="\${argument#--cache-dir=}";; esac; root="$argument"; done
ls "$packages" > ${folder}/found-packages
touch "$packages/one.deb"
[ -e ${folder}/interrupt ] && exit 1
mkdir -p "$root/etc" && echo "postgres:x:101:101::/:/bin/sh" > "$root/etc/passwd"
`;

asRoot('5: both parts come from the registries, once', async () => {
  onPath('go', GO);
  onPath('debootstrap', debootstrap());
  const setup = setupWith({});
  const parts = await installStoreParts(setup);
  expect(readFileSync(join(folder, 'debootstrap-arguments'), 'utf8')).toMatch(
    /^--variant=minbase --include=postgresql-18-documentdb --cache-dir=\S+ forky \S+\/root\n$/,
  );
  expect(readFileSync(parts.ferretdb, 'utf8')).toBe('github.com/FerretDB/FerretDB/v2/cmd/ferretdb@v2.7.0\n');
  expect(existsSync(join(parts.root, 'etc/passwd'))).toBe(true);
  expect(existsSync(join(parts.root, '../packages'))).toBe(false);
  expect(cachedStoreParts(setup)).toEqual(parts);
});

asRoot('5: an interrupted install leaves no stamp and keeps the packages it has fetched', async () => {
  onPath('go', GO);
  onPath('debootstrap', debootstrap());
  writeFileSync(join(folder, 'interrupt'), '');
  const setup = setupWith({});
  await expect(installStoreParts(setup)).rejects.toThrow('debootstrap ended with 1');
  expect(cachedStoreParts(setup)).toBeUndefined();
  rmSync(join(folder, 'interrupt'));
  await installStoreParts(setup);
  expect(readFileSync(join(folder, 'found-packages'), 'utf8')).toBe('one.deb\n');
});

asRoot('without any way the error says what to set instead', async () => {
  onPath('go', '#!/bin/sh\necho "no such host"\nexit 1\n');
  onPath('debootstrap', '#!/bin/sh\nexit 1\n');
  const error = await findStore(setupWith({})).catch((caught: unknown) => caught);
  const message = error instanceof Error ? error.message : '';
  expect(message).toContain('MONGODB_URI: not set');
  expect(message).toContain('Set MONGODB_URI=mongodb://host:port/signalbox');
  expect(lines.filter((line) => /^store \d\/5/.test(line))).toHaveLength(5);
});
