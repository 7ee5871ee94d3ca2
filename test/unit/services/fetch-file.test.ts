import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../../../scripts/services/processes';
import { fetchFile, Refused } from '../../../scripts/services/fetch-file';

const CONTENT = Buffer.from('0123456789'.repeat(20_000));

let folder = '';
let server: Server;
let handle: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-fetch-'));
  server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

const path = (): string => join(folder, 'file');

const fetchIt = (): Promise<void> => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
  return fetchFile({ url, path: path(), env: {}, report: () => {} });
};

/** Serves ranges like a static file server; when cut, the connection breaks once a part has reached the disk. */
function serve(etag: string, how: 'whole' | 'cut'): string[] {
  const ranges: string[] = [];
  handle = (request, response) => {
    if (request.url !== '/file') {
      response.writeHead(404).end();
      return;
    }
    const range = request.headers['if-range'] === etag ? request.headers.range : undefined;
    ranges.push(range ?? 'all');
    const from = Number(/bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0);
    const body = CONTENT.subarray(from);
    response.writeHead(range ? 206 : 200, { etag, 'content-length': body.length });
    if (how === 'whole') {
      response.end(body);
      return;
    }
    response.write(body.subarray(0, 150_000));
    const isOnDisk = () => (statSync(`${path()}.partial`, { throwIfNoEntry: false })?.size ?? 0) > 0;
    void waitFor(isOnDisk, { timeoutMs: 5_000 }).then(() => response.destroy());
  };
  return ranges;
}

test('a download that broke off goes on where it stopped', async () => {
  serve('"one"', 'cut');
  await expect(fetchIt()).rejects.toThrow();
  expect(existsSync(path())).toBe(false);
  const ranges = serve('"one"', 'whole');
  await fetchIt();
  expect(ranges[0]).toMatch(/^bytes=[1-9]\d*-$/);
  expect(readFileSync(path()).equals(CONTENT)).toBe(true);
});

test('a file that changed meanwhile is fetched from its beginning', async () => {
  serve('"one"', 'cut');
  await expect(fetchIt()).rejects.toThrow();
  const ranges = serve('"two"', 'whole');
  await fetchIt();
  expect(ranges).toEqual(['all']);
  expect(readFileSync(path()).equals(CONTENT)).toBe(true);
});

test('the checksum published beside the file is compared', async () => {
  const sum = createHash('sha256').update(CONTENT).digest('hex');
  handle = (request, response) => void response.end(request.url === '/file' ? CONTENT : `${sum}  file\n`);
  await fetchIt();
  expect(existsSync(path())).toBe(true);
});

test('a host that does not answer counts as refused', async () => {
  server.closeAllConnections();
  const url = 'http://127.0.0.1:10/file';
  await expect(fetchFile({ url, path: path(), env: {}, report: () => {} })).rejects.toThrow(Refused);
});

test('a download that broke off half-way does not count as refused', async () => {
  serve('"one"', 'cut');
  await expect(fetchIt()).rejects.not.toThrow(Refused);
});
