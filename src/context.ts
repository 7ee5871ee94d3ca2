/** What every part of a process works with: built once at start and passed down, never imported. */
import type { Clock } from './clock';
import type { Config } from './config';
import type { SecretBox } from './domain/secret-box';
import type { TokenSealer } from './domain/sealed-token';
import type { Engine } from './engine/connect';
import type { Log } from './log';
import type { Store } from './store/collection';
import type { Outbox } from './events/outbox';
import type { RunTallies } from './events/run-tallies';
import type { Dispatcher } from './events/webhooks/dispatch';
import type { WebhookSender } from './providers/webhooks';
import type { Mail } from './providers/mail';

export interface Context {
  config: Config;
  store: Store;
  engine: Engine;
  clock: Clock;
  log: Log;
  sealer: TokenSealer;
  /** Encrypts what must be read again, such as the secrets of webhooks. */
  secrets: SecretBox;
  /** Sends sign-in mails; the worker's notifications go out through it as well. */
  mail: Mail;
  /** Hands stored events to agents; absent work is picked up by the relay. */
  outbox: Outbox;
  /** Sends events to webhook endpoints; what is left over is picked up by the relay. */
  dispatch: Dispatcher;
  sender: WebhookSender;
  /** Counts runs that have ended. */
  tallies: RunTallies;
}
