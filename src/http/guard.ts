/** What stands between a request and its handler: who is calling, and whether they may call now. */
import type { IncomingMessage } from 'node:http';
import type { Answered } from './auth-usage';
import type { Operation } from '../contracts/operation';
import type { Problem } from '../contracts/problem';
import type { Principal } from '../contracts/principal';

export interface Admission {
  principal: Principal;
  /** The tenant's epoch as the request found it; null where no guard was asked. */
  epoch: number | null;
  /** The three `X-RateLimit-*` headers and the structured ones beside them. */
  headers: Record<string, string>;
  /** Set when the limit is spent and only a 304 may still be answered; anything else is this refusal. */
  exhausted?: Problem;
  /** True when what was announced while the charge was made holds: nothing about the caller had changed. */
  isForeseen: boolean;
  /** Gives the charge back, because the reply is a 304 or our own 503; answers the headers that are true then. */
  refund(): Record<string, string>;
}

/**
 * Told who is asking, and under which epoch, while the charge is still made: a read can begin by then. It may only be
 * answered when the admission says that it was foreseen.
 */
export type Foresight = (caller: Pick<Admission, 'principal' | 'epoch'>) => void;

export interface Guard {
  /** The rate headers of a reply that is given before, or without, admission. */
  headersFor(request: IncomingMessage): Record<string, string>;
  /**
   * Authenticates, charges the limits and checks the scope or permission, in that order.
   * Throws `unauthorized`, `rate_limited`, `forbidden` and their kin, with the rate headers set on the problem.
   * `foresee` is called at most once, and not for callers who are sure to be refused.
   */
  enter(request: IncomingMessage, operation: Operation, foresee?: Foresight): Promise<Admission>;
  /** Counts a finished request for the key's usage figures. */
  record(principal: Principal, answered: Answered): void;
  /** Writes the usage figures that are pending. */
  close(): Promise<void>;
}
