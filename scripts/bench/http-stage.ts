/** What the budgets of a request need: the store, databases with rows, processes of the API, and Express without product code. */
import { join } from 'node:path';
import { readConfig, type Config } from '../../src/config';
import { newId } from '../../src/domain/ids';
import { openStore, type OpenStore } from '../../src/store/connect';
import type { Services } from '../services';
import { choosePort } from '../services/ports';
import { startChild, type Child } from './child';
import { profiling, staged, startGround, type Ground, type Undo } from './ground';
import { createClient, type Client } from './http-load';
import { BARE_HTTP_READY } from './messages';
import { seedRows, type Log } from './seed-rows';
import { createCallers, createKey, createOrg, type Caller } from './tenants';

/** Rows of the list that the large one is compared with. */
const SMALL_ROWS = 10_000;
/** Twice as many as `total` counts. */
const EXECUTIONS_MIN = 20_000;

/** A process that answers requests. */
export interface Server {
  port: number;
  child: Child;
}

export interface Database {
  uri: string;
  rows: number;
  store: OpenStore;
  /** The tenant that is measured. */
  orgId: string;
}

export interface HttpStage {
  runs: number;
  folder: string;
  config: Config;
  services: Services;
  client: Client;
  database: Database;
  api: Server;
  bare: Server;
  /** Keys of the measured tenant. */
  keys: Caller[];
  /** A further process of the API, on this database or another one. */
  startApi(name: string, uri?: string): Promise<Server>;
  startUncounted(): Promise<Server>;
  startBare(name: string, uri: string): Promise<Server>;
  /** Another database of the same store, with rows and keys. */
  openLarge(rows: number): Promise<{ database: Database; keys: Caller[] }>;
  /** Keys of tenants that nothing else is measured with, tenants taking turns. */
  /** Keys of one new org, for so many requests. */
  callersFor(requests: number): Promise<Caller[]>;
  stop(): Promise<void>;
}

export interface HttpStageOptions {
  log: Log;
  /** How often things are measured. */
  runs: number;
  profileFolder: string | null;
}

const KEYS = 16;

const databaseUri = (uri: string, name: string): string => {
  const url = new URL(uri);
  url.pathname = `/${name}`;
  return url.toString();
};

interface Parts extends HttpStageOptions, Ground {
  config: Config;
  undo: Undo;
}

interface Size {
  rows: number;
  executionRows: number;
}

async function openDatabase({ services, config, undo, log }: Parts, name: string, { rows, executionRows }: Size) {
  const uri = databaseUri(services.mongodbUri, name);
  const store = openStore(uri);
  undo.add(() => store.close());
  const orgId = newId('org');
  log(`bench: seeding ${rows} tickets`);
  await seedRows(uri, store, { orgId, rows, executionRows, log });
  await createOrg(store, orgId);
  const keys: Caller[] = [];
  for (let made = 0; made < KEYS; made += 1) keys.push(await createKey(store, config, orgId));
  return { database: { uri, rows, store, orgId }, keys };
}

async function startServer(
  { folder, env, undo, profileFolder }: Parts,
  spec: { name: string; script: string; readyText: string; uri: string },
): Promise<Server> {
  const { name, script, readyText, uri } = spec;
  const port = await choosePort();
  const child = await startChild({
    script,
    env: { ...env, PORT: String(port), MONGODB_URI: uri },
    readyText,
    logFile: join(folder, `logs/${name}.log`),
    nodeArguments: profiling(profileFolder),
  });
  undo.add(() => child.stop());
  const said = child.readyLine.startsWith(BARE_HTTP_READY) ? child.readyLine.slice(BARE_HTTP_READY.length) : port;
  return { port: Number(said), child };
}

function starters(parts: Parts, uri: string) {
  const start = (name: string, script: string, readyText: string, at: string): Promise<Server> =>
    startServer(parts, { name, script, readyText, uri: at });
  return {
    startApi: (name: string, at: string = uri) => start(name, 'src/main.ts', '"msg":"api ready"', at),
    startUncounted: () => start('uncounted', 'scripts/bench/uncounted-api.ts', '"msg":"uncounted ready"', uri),
    startBare: (name: string, at: string) => start(name, 'scripts/bench/bare-http.ts', BARE_HTTP_READY, at),
  };
}

async function build(options: HttpStageOptions, undo: Undo): Promise<Omit<HttpStage, 'stop'>> {
  const ground = await startGround('signalbox-bench-http-', options.log, undo);
  const parts: Parts = { ...options, ...ground, config: readConfig(ground.env), undo };
  const { database, keys } = await openDatabase(parts, 'small', { rows: SMALL_ROWS, executionRows: SMALL_ROWS / 10 });
  const client = createClient();
  undo.add(() => client.close());
  const start = starters(parts, database.uri);
  const [api, bare] = await Promise.all([start.startApi('api'), start.startBare('bare', database.uri)]);
  return {
    runs: options.runs,
    folder: ground.folder,
    config: parts.config,
    services: ground.services,
    client,
    database,
    api,
    bare,
    keys,
    ...start,
    openLarge: (rows) =>
      openDatabase(parts, 'large', { rows, executionRows: Math.max(EXECUTIONS_MIN, Math.ceil(rows / 10)) }),
    callersFor: (requests) => createCallers(database.store, parts.config, { requests, orgs: 1 }),
  };
}

/** Brings it up; on failure takes down what there is. */
export const startHttpStage = (options: HttpStageOptions): Promise<HttpStage> => staged((undo) => build(options, undo));

/** Answers the headers of each caller in turn. */
export function takingTurns(callers: readonly Caller[]): () => Record<string, string> {
  let turn = 0;
  return () => {
    turn += 1;
    const caller = callers[turn % callers.length];
    if (!caller) throw new Error('no key to call with');
    return caller.headers;
  };
}
