/** What the rest of the project sees of the engine (Temporal) and the store (MongoDB protocol). */

/** Takes one finished line of progress or announcement. */
export type Log = (line: string) => void;

export type Environment = Record<string, string | undefined>;

/** The five ways a service can be had, in the order they are tried. */
export type Source = 'environment' | 'path' | 'cache' | 'download' | 'registries';

/** One service, whatever it is made of. After `kill()` or `stop()`, `start()` brings back the same ports and data. */
export interface Service {
  readonly name: string;
  readonly source: Source;
  readonly pids: () => number[];
  start(): Promise<void>;
  /** Lets the service finish cleanly, within a bound. */
  stop(): Promise<void>;
  /** Ends every process of it with SIGKILL and waits until all are dead. */
  kill(): Promise<void>;
}

export interface Services {
  readonly engine: Service;
  readonly store: Service;
  readonly temporalAddress: string;
  readonly temporalUiUrl: string;
  /** Includes the database name. */
  readonly mongodbUri: string;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  /** Folder that belongs to these two services alone; created when missing. */
  dataDir: string;
  /** Preferred ports; the next free one is used, and announced, when one is taken. */
  ports?: { temporal?: number; temporalUi?: number; store?: number };
  log: Log;
  env?: Environment;
  cacheDir?: string;
  /** `false` leaves out fsync: data still survives `kill()`, not a power cut. For throw-away test data. */
  durable?: boolean;
}

/** What one way found: the service, not started yet, and the addresses others need. */
export interface Found<Addresses> {
  service: Service;
  addresses: Addresses;
}

export interface EngineAddresses {
  temporalAddress: string;
  temporalUiUrl: string;
}

export interface StoreAddresses {
  mongodbUri: string;
}
