/** Fetches one large file, goes on where an earlier try stopped, and gives up quickly on a closed network. */
import { createHash } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Agent, type Dispatcher, EnvHttpProxyAgent, fetch, type Response } from 'undici';
import type { Report } from './progress';
import type { Environment } from './types';

const CONNECT_MS_MAX = 3_000;
const HEADERS_MS_MAX = 8_000;
const SILENCE_MS_MAX = 30_000;
const MEGABYTE = 1024 * 1024;
const PROXY_NAMES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'];

/** The host could not be reached or would not serve the file. */
export class Refused extends Error {}

export interface FileRequest {
  url: string;
  path: string;
  env: Environment;
  report: Report;
}

function createDispatcher(env: Environment): Dispatcher {
  const options = { connect: { timeout: CONNECT_MS_MAX }, headersTimeout: HEADERS_MS_MAX, bodyTimeout: SILENCE_MS_MAX };
  return PROXY_NAMES.some((name) => env[name]) ? new EnvHttpProxyAgent(options) : new Agent(options);
}

function innermost(error: unknown): string {
  if (error instanceof Error) return error.cause ? innermost(error.cause) : error.message;
  return String(error);
}

async function ask(url: string, dispatcher: Dispatcher, headers: Record<string, string> = {}): Promise<Response> {
  const silence = new AbortController();
  // The dispatcher's limits leave out name resolution, which can hang for long without a reachable resolver.
  const timer = setTimeout(
    () => silence.abort(new Error(`no answer within ${HEADERS_MS_MAX / 1_000} s`)),
    HEADERS_MS_MAX,
  );
  try {
    return await fetch(url, { dispatcher, headers, signal: silence.signal });
  } catch (cause) {
    throw new Refused(innermost(cause), { cause });
  } finally {
    clearTimeout(timer);
  }
}

// Only a part of exactly this file may be continued: its tag is kept beside it.
function continuation(partial: string): Record<string, string> {
  const size = statSync(partial, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return {};
  try {
    return { range: `bytes=${size}-`, 'if-range': readFileSync(`${partial}.tag`, 'utf8') };
  } catch {
    return {};
  }
}

async function saveBody(response: Response, partial: string, report: Report): Promise<void> {
  if (!response.body) throw new Error('the answer has no body');
  const isContinued = response.status === 206;
  let received = isContinued ? statSync(partial).size : 0;
  const total = received + Number(response.headers.get('content-length') ?? 0);
  const etag = response.headers.get('etag');
  if (etag && !etag.startsWith('W/')) writeFileSync(`${partial}.tag`, etag);
  else rmSync(`${partial}.tag`, { force: true });
  const body = Readable.fromWeb(response.body);
  body.on('data', (chunk: Buffer) => {
    received += chunk.length;
    report(`${Math.round(received / MEGABYTE)} of ${Math.round(total / MEGABYTE)} MB`);
  });
  await pipeline(body, createWriteStream(partial, { flags: isContinued ? 'a' : 'w' }));
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** Compares with the checksum published beside the file, where there is one. */
async function verify(request: FileRequest, path: string, dispatcher: Dispatcher): Promise<void> {
  const address = new URL(request.url);
  address.pathname += '.sha256';
  const response = await ask(address.href, dispatcher);
  const published = /^[0-9a-f]{64}\b/.exec(response.ok ? await response.text() : '')?.[0];
  if (!response.bodyUsed) await response.body?.cancel();
  if (published && published !== (await sha256(path))) {
    rmSync(path, { force: true });
    throw new Error(`${request.url} does not have its published checksum`);
  }
}

/** Leaves the whole file at `request.path`, or throws; what arrived until then is used by the next try. */
export async function fetchFile(request: FileRequest): Promise<void> {
  const dispatcher = createDispatcher(request.env);
  const partial = `${request.path}.partial`;
  try {
    const response = await ask(request.url, dispatcher, continuation(partial));
    if (!response.ok) {
      await response.body?.cancel();
      throw new Refused(`${new URL(request.url).host} answered ${response.status}`);
    }
    await saveBody(response, partial, request.report);
    await verify(request, partial, dispatcher);
    renameSync(partial, request.path);
  } finally {
    await dispatcher.destroy();
  }
}
