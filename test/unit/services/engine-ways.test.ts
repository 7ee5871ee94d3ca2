import { execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEngine } from '../../../scripts/services/engine';
import { readPart } from '../../../scripts/services/parts';
import { createSetup, type Setup } from '../../../scripts/services/setup';
import type { Environment } from '../../../scripts/services/types';

/** Behaves like `temporal server start-dev` as far as starting goes: listens, and answers the gRPC health check. */
const TEMPORAL = `#!${process.execPath}
if (process.argv.includes('--version')) { console.log('temporal version stand-in'); process.exit(0); }
const { createServer } = require('node:http2');
const port = Number(process.argv.find((argument) => argument.startsWith('--port=')).slice(7));
const server = createServer();
server.on('stream', (stream) => {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
});
server.listen(port, '127.0.0.1');
`;

let folder = '';
let lines: string[] = [];
let servers: Server[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-engine-'));
  lines = [];
  servers = [];
});

afterEach(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  rmSync(folder, { recursive: true, force: true });
});

/** Nothing is listening on port 10 of this machine, so the download is refused at once. */
const CLOSED = 'http://127.0.0.1:10';

function setupWith(env: Environment): Setup {
  const closed = { PATH: join(folder, 'programs'), SIGNALBOX_TEMPORAL_DOWNLOAD_URL: CLOSED };
  return createSetup({
    dataDir: join(folder, 'data'),
    cacheDir: join(folder, 'cache'),
    log: (line) => lines.push(line),
    env: { ...closed, ...env },
  });
}

function writeProgram(directory: string, name: string, content: string): string {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), content);
  chmodSync(join(directory, name), 0o755);
  return join(directory, name);
}

const onPath = (name: string, content: string): string => writeProgram(join(folder, 'programs'), name, content);

/** A \`go\` tool that "builds" the stand-in, or fails. */
const goTool = (build: string): string => onPath('go', `#!/bin/sh\nPATH=/usr/bin:/bin\n${build}\n`);

const fillCache = (): string => {
  const directory = join(folder, 'cache', 'temporal');
  writeProgram(directory, 'temporal', TEMPORAL);
  writeFileSync(join(directory, 'stamp.json'), JSON.stringify({ version: 'v1.5.1', origin: 'test', finished_at: '' }));
  return directory;
};

/** Serves the archive at any path; `answer` may change how. */
async function mirror(
  answer?: (path: string) => Buffer | number | undefined,
): Promise<{ url: string; paths: string[] }> {
  const source = join(folder, 'archive-source');
  writeProgram(source, 'temporal', TEMPORAL);
  execFileSync('tar', ['-czf', join(folder, 'temporal.tgz'), '-C', source, 'temporal']);
  const archive = readFileSync(join(folder, 'temporal.tgz'));
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? '');
    const special = answer?.(request.url ?? '') ?? (request.url?.includes('.sha256') ? 404 : archive);
    if (typeof special === 'number') response.writeHead(special).end();
    else response.end(special);
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/cli`, paths };
}

const tried = (): string[] => lines.filter((line) => /^engine \d\/5/.test(line)).map((line) => line.slice(7, 8));

test('1: TEMPORAL_ADDRESS is used, and nothing is started or killed', async () => {
  const server = createTcpServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  onPath('temporal', TEMPORAL);
  const { service, addresses } = await findEngine(
    setupWith({ TEMPORAL_ADDRESS: address, TEMPORAL_UI_URL: 'http://ui' }),
  );
  expect(addresses).toEqual({ temporalAddress: address, temporalUiUrl: 'http://ui' });
  expect(service.source).toBe('environment');
  expect(service.pids()).toEqual([]);
  await expect(service.kill()).rejects.toThrow('not ours to kill');
  await new Promise((resolve) => server.close(resolve));
});

test('1: an address nobody answers at is an error, not a reason to start another engine', async () => {
  onPath('temporal', TEMPORAL);
  const finding = findEngine(setupWith({ TEMPORAL_ADDRESS: '127.0.0.1:10' }));
  await expect(finding).rejects.toThrow(
    'TEMPORAL_ADDRESS is set to 127.0.0.1:10, but nothing accepts connections there',
  );
});

test('2: a program on PATH goes before the cache, and starts, dies and starts again on its port', async () => {
  onPath('temporal', TEMPORAL);
  fillCache();
  const { service, addresses } = await findEngine(setupWith({}));
  expect(service.source).toBe('path');
  await service.start();
  const [before = 0] = service.pids();
  expect(before).toBeGreaterThan(0);
  await service.kill();
  expect(service.pids()).toEqual([]);
  await service.start();
  expect(service.pids()).toHaveLength(1);
  expect(service.pids()).not.toContain(before);
  expect(addresses.temporalAddress).toMatch(/^127\.0\.0\.1:\d+$/);
  await service.stop();
  expect(service.pids()).toEqual([]);
  expect(tried()).toEqual(['1', '2']);
});

test('2: a program that ends at once is an error with its own last words', async () => {
  onPath('temporal', '#!/bin/sh\necho "database is from the future"\nexit 3\n');
  const { service } = await findEngine(setupWith({}));
  await expect(service.start()).rejects.toThrow('database is from the future');
  expect(service.pids()).toEqual([]);
});

test('3: what an earlier run left in the cache goes before a download', async () => {
  fillCache();
  const { paths, url } = await mirror();
  const { service } = await findEngine(setupWith({ SIGNALBOX_TEMPORAL_DOWNLOAD_URL: url }));
  expect(service.source).toBe('cache');
  expect(paths).toEqual([]);
  expect(tried()).toEqual(['1', '2', '3']);
});

test('4: the download is asked for this platform, unpacked, stamped and kept for the next run', async () => {
  const { paths, url } = await mirror();
  const setup = setupWith({ SIGNALBOX_TEMPORAL_DOWNLOAD_URL: url });
  const { service } = await findEngine(setup);
  expect(service.source).toBe('download');
  expect(paths[0]).toMatch(/^\/cli\/v1\.5\.1\?platform=(linux|darwin)&arch=(amd64|arm64)$/);
  expect(readPart(setup.cacheDir, { name: 'temporal', version: 'v1.5.1' })?.stamp.origin).toMatch(/^downloaded from/);
  await service.start();
  await service.stop();
  const again = await findEngine(setup);
  expect(again.service.source).toBe('cache');
  expect(existsSync(join(setup.cacheDir, 'temporal', 'download'))).toBe(false);
});

test('4 → 5: a refused download is remembered, and the build takes its place', async () => {
  goTool(`echo "$@" > ${join(folder, 'go-arguments')}; exit 1`);
  const setup = setupWith({});
  await expect(findEngine(setup)).rejects.toThrow('No engine could be had');
  expect(tried()).toEqual(['1', '2', '3', '4', '5']);
  expect(lines.find((line) => line.startsWith('engine 4/5'))).toContain('ECONNREFUSED');

  const source = writeProgram(join(folder, 'source'), 'temporal', TEMPORAL);
  goTool(`echo "$@" > ${join(folder, 'go-arguments')}; cp ${source} "$GOBIN/temporal"`);
  lines = [];
  const { service } = await findEngine(setup);
  expect(service.source).toBe('registries');
  expect(lines.find((line) => line.startsWith('engine 4/5'))).toContain(
    'skipped, 127.0.0.1:10 was out of reach 0 min ago',
  );
  expect(readFileSync(join(folder, 'go-arguments'), 'utf8').trim()).toBe(
    'install -v -ldflags -s -w github.com/temporalio/cli/cmd/temporal@v1.5.1',
  );
  await service.start();
  await service.stop();
  expect((await findEngine(setup)).service.source).toBe('cache');
});

test.each([
  ['a page instead of an archive', Buffer.from('<html>log in to the network</html>'), 'not a usable archive'],
  ['an error status', 503, 'answered 503'],
])('4 → 5: %s is no program', async (_case, answer, reason) => {
  const { url } = await mirror((path) => (path.includes('.sha256') ? 404 : answer));
  goTool('exit 1');
  await expect(findEngine(setupWith({ SIGNALBOX_TEMPORAL_DOWNLOAD_URL: url }))).rejects.toThrow(reason);
});

test('4 → 5: a file that does not have its published checksum is thrown away', async () => {
  const { url } = await mirror((path) => (path.includes('.sha256') ? Buffer.from('0'.repeat(64)) : undefined));
  goTool('exit 1');
  const setup = setupWith({ SIGNALBOX_TEMPORAL_DOWNLOAD_URL: url });
  await expect(findEngine(setup)).rejects.toThrow('does not have its published checksum');
  expect(readPart(setup.cacheDir, { name: 'temporal', version: 'v1.5.1' })).toBeUndefined();
});

test('without any way the error lists all reasons and what to set instead', async () => {
  goTool('echo "dial tcp: no route to host"; exit 1');
  const error = await findEngine(setupWith({})).catch((caught: unknown) => caught);
  const message = error instanceof Error ? error.message : '';
  expect(message).toContain('TEMPORAL_ADDRESS: not set');
  expect(message).toContain('no route to host');
  expect(message).toContain('Set TEMPORAL_ADDRESS=host:port');
});
