/** Which keys exist, asked so that floods of made-up ones cost the store one short read at a time. */
import type { Context } from '../context';
import { findIssuedHashes } from '../store/keys';

/** Keys that are looked up by one read. What comes beyond them while they wait is taken for made up. */
const TOGETHER_MAX = 1_000;
/** A client that goes on with one wrong key costs a read a second. */
const UNKNOWN_REMEMBERED_MS = 1_000;
const UNKNOWN_MAX = 10_000;

export interface GuessLimiter {
  /** Whether somebody was given the key with this hash, whatever has become of it since. */
  isIssued(hash: string): Promise<boolean>;
}

/** Hashes that are looked up by the same read. */
interface Batch {
  hashes: Set<string>;
  issued: Promise<Set<string>>;
}

/** Builds the limiter of this process: one read is under way, and the next one collects what comes meanwhile. */
export function createGuessLimiter({ store, clock }: Pick<Context, 'store' | 'clock'>): GuessLimiter {
  const unknownSince = new Map<string, number>();
  let underWay: Promise<unknown> = Promise.resolve();
  let next: Batch | null = null;

  function nextBatch(): Batch {
    if (next) return next;
    const hashes = new Set<string>();
    const issued = underWay.then(() => {
      next = null;
      return findIssuedHashes(store, [...hashes]);
    });
    underWay = issued.catch(() => undefined);
    next = { hashes, issued };
    return next;
  }

  function rememberUnknown(hash: string): void {
    unknownSince.delete(hash);
    const oldest = unknownSince.size >= UNKNOWN_MAX ? unknownSince.keys().next().value : undefined;
    if (oldest !== undefined) unknownSince.delete(oldest);
    unknownSince.set(hash, clock.now().getTime());
  }

  return {
    async isIssued(hash) {
      const sinceMs = unknownSince.get(hash);
      if (sinceMs !== undefined && clock.now().getTime() - sinceMs < UNKNOWN_REMEMBERED_MS) return false;
      const { hashes, issued } = nextBatch();
      if (hashes.size >= TOGETHER_MAX && !hashes.has(hash)) return false;
      hashes.add(hash);
      if ((await issued).has(hash)) return true;
      rememberUnknown(hash);
      return false;
    },
  };
}
