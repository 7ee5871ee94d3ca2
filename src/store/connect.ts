/** Opens the MongoDB connection, creates indexes and answers whether the store can be reached. */
import { ConnectionStates, createConnection, mongo, type Connection } from 'mongoose';
import { setTimeout } from 'node:timers/promises';
import { declaredCollections, STORE_WAIT_MS, type Store } from './collection';

const SOCKET_TIMEOUT_MS = 10_000;
const POOL_MAX = 50;
const CONNECT_RETRY_MS = 250;
/** Collections that get their indexes at a time. */
const INDEX_LANES = 4;

const OPTIONS = {
  serverSelectionTimeoutMS: STORE_WAIT_MS,
  socketTimeoutMS: SOCKET_TIMEOUT_MS,
  connectTimeoutMS: STORE_WAIT_MS,
  maxPoolSize: POOL_MAX,
  autoIndex: false,
  autoCreate: false,
  // All that is stored went through this driver, which writes valid UTF-8; to check it takes two fifths of the decoding.
  enableUtf8Validation: false,
};

/** An open store; `close` ends its connections. */
export interface OpenStore extends Store {
  /** Creates every missing index of the collections this process declares. */
  ensureIndexes(): Promise<void>;
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What a database can be called. */
const DATABASE = /^[^\s/\\."$*<>:|?\0]{1,63}$/;

/** The driver would take a database called "test" where none is named, and goes on trying one that none can be called. */
function assertNamesDatabase(uri: string): void {
  const [, name = ''] = /^[^:]+:\/\/[^/]*\/([^?]*)/.exec(uri) ?? [];
  if (!DATABASE.test(decodeURIComponent(name))) throw new Error(`it must name a database, got "${name}"`);
}

/** What was answered was written, and a revoked key is known at once: neither holds without the primary's word. */
function assertKeepsPromises({ writeConcern, readPreference }: mongo.MongoOptions): void {
  const w = writeConcern?.w;
  if (w === 0 || w === 1) throw new Error(`w must be majority, or left away, got ${w}`);
  const { mode } = readPreference;
  if (mode !== mongo.ReadPreference.PRIMARY)
    throw new Error(`readPreference must be primary, or left away, got "${mode}"`);
}

/** Fails on an address that no attempt could ever use, where the driver alone would go on trying. */
function assertUsable(uri: string): void {
  try {
    // Parses; nothing is opened before it is told to connect.
    const { options } = new mongo.MongoClient(uri);
    assertNamesDatabase(uri);
    assertKeepsPromises(options);
  } catch (error) {
    throw new Error(
      `MONGODB_URI must be an address such as mongodb://user:password@host:27017/signalbox: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

/** Hears what the driver says when the store cannot be reached, each time it says something else. */
type OnRefusal = (message: string) => void;

/** The driver heals a connection it once had, but never retries the first one; so that is done here. */
function connectPatiently(
  connection: Connection,
  uri: string,
  { closing, onRefusal }: { closing: AbortSignal; onRefusal: OnRefusal },
) {
  let refusal: string | null = null;
  const attempt = async (): Promise<boolean> => {
    try {
      await connection.openUri(uri, OPTIONS);
      refusal = null;
      return true;
    } catch (error) {
      const last = refusal;
      refusal = messageOf(error);
      if (!closing.aborted && refusal !== last) onRefusal(refusal);
      return false;
    }
  };
  const goOn = async (isFirstOpen: boolean): Promise<void> => {
    for (let isOpen = isFirstOpen; !isOpen && !closing.aborted;) {
      await setTimeout(CONNECT_RETRY_MS, undefined, { signal: closing }).catch(() => undefined);
      if (!closing.aborted) isOpen = await attempt();
    }
  };
  const first = attempt();
  // `refusal` is what the driver said of the last attempt, as long as none has succeeded.
  return { first, all: first.then(goOn), refusal: () => refusal };
}

/**
 * Connects lazily: a store that is away fails each operation within two seconds and heals without a restart. Throws on
 * an address that cannot be used.
 */
export function openStore(uri: string, onRefusal: OnRefusal = () => undefined): OpenStore {
  assertUsable(uri);
  const connection = createConnection();
  const closing = new AbortController();
  const connecting = connectPatiently(connection, uri, { closing: closing.signal, onRefusal });
  const store: OpenStore = {
    connection,
    async ensureIndexes() {
      const waiting = [...declaredCollections()];
      const lane = async (): Promise<void> => {
        for (let next = waiting.pop(); next; next = waiting.pop()) await next.ensureIndexes(store);
      };
      try {
        await Promise.all(Array.from({ length: INDEX_LANES }, lane));
      } catch (error) {
        // Before the first connection, all that operations know is that they have waited.
        await connecting.first;
        const refusal = connecting.refusal();
        if (refusal === null) throw error;
        throw new Error(`the store that MONGODB_URI names cannot be reached: ${refusal}`, { cause: error });
      }
    },
    async isReady() {
      if (connection.readyState !== ConnectionStates.connected || !connection.db) return false;
      const ping = connection.db.command({ ping: 1 }).then(
        () => true,
        () => false,
      );
      // The driver gives up on a store that hangs after much longer, and its own limit for a command is none then.
      const waiting = new AbortController();
      const late = setTimeout(STORE_WAIT_MS, false, { signal: waiting.signal }).catch(() => false);
      return Promise.race([ping, late]).finally(() => waiting.abort());
    },
    async close() {
      closing.abort();
      await connecting.all;
      await connection.close();
    },
  };
  return store;
}
