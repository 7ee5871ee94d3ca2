/** What every part of a process works with: built once at start and passed down, never imported. */
import type { Clock } from './clock';
import type { Config } from './config';
import type { TokenSealer } from './domain/sealed-token';
import type { Engine } from './engine/connect';
import type { Log } from './log';
import type { Store } from './store/collection';
import type { Outbox } from './events/outbox';

export interface Context {
  config: Config;
  store: Store;
  engine: Engine;
  clock: Clock;
  log: Log;
  sealer: TokenSealer;
  /** Hands stored events to agents; absent work is picked up by the relay. */
  outbox: Outbox;
}
