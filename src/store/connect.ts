/** Opens the MongoDB connection, creates indexes and answers whether the store can be reached. */
import { ConnectionStates, createConnection, type Connection } from 'mongoose';
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
};

/** An open store; `close` ends its connections. */
export interface OpenStore extends Store {
  /** Creates every missing index of the collections this process declares. */
  ensureIndexes(): Promise<void>;
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

/** The driver heals a connection it once had, but never retries the first one; so that is done here. */
async function connectPatiently(connection: Connection, uri: string, closing: AbortSignal): Promise<void> {
  while (!closing.aborted) {
    try {
      await connection.openUri(uri, OPTIONS);
      return;
    } catch {
      await setTimeout(CONNECT_RETRY_MS, undefined, { signal: closing }).catch(() => undefined);
    }
  }
}

/** Connects lazily: a store that is away fails each operation within two seconds and heals without a restart. */
export function openStore(uri: string): OpenStore {
  const connection = createConnection();
  const closing = new AbortController();
  const connecting = connectPatiently(connection, uri, closing.signal);
  const store: OpenStore = {
    connection,
    async ensureIndexes() {
      const waiting = [...declaredCollections()];
      const lane = async (): Promise<void> => {
        for (let next = waiting.pop(); next; next = waiting.pop()) await next.ensureIndexes(store);
      };
      await Promise.all(Array.from({ length: INDEX_LANES }, lane));
    },
    async isReady() {
      try {
        if (connection.readyState !== ConnectionStates.connected) return false;
        await connection.db?.command({ ping: 1 }, { timeoutMS: STORE_WAIT_MS });
        return true;
      } catch {
        return false;
      }
    },
    async close() {
      closing.abort();
      await connecting;
      await connection.close();
    },
  };
  return store;
}
