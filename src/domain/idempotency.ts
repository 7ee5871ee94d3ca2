/** Idempotency keys: how one is read, what it stands for, and the ids that a repeat of its request gets again. */
import { hash } from 'node:crypto';
import { idFrom } from './ids';
import { sortedJson } from './sorted-json';

/** How long a key is remembered, in milliseconds. */
export const KEPT_MS = 24 * 60 * 60 * 1_000;
/** How long a request may take before its repeat may run in its place. */
export const LEASE_MS = 30_000;

const KEY = /^[\x21-\x7e]{1,255}$/;

/** The key in a header, quoted or bare; null when it is not 1 to 255 printable characters. */
export function readKey(header: string): string | null {
  const bare = /^"(.*)"$/.exec(header.trim())?.[1] ?? header.trim();
  return KEY.test(bare) ? bare : null;
}

const sha256 = (...parts: string[]): string => hash('sha256', JSON.stringify(parts), 'base64url');

/**
 * Whose key it is and for what: another tenant, credential, operation or record has a key of its own by the same text.
 * An address that is written in another way, with a slash at its end or with escapes, stands for the same.
 */
export const scopeOf = (parts: {
  orgId: string;
  credential: string;
  operation: string;
  params: unknown;
  key: string;
}): string => `${parts.orgId}:${sha256(parts.credential, parts.operation, sortedJson(parts.params), parts.key)}`;

/** What was asked for: the same key with another body or query is a mistake of the caller. */
export const fingerprintOf = (asked: { body: unknown; query: unknown }): string =>
  sha256(sortedJson([asked.body, asked.query]));

/** Ids in the order a handler asks for them, the same ones for every run of one request. */
export function idsFrom(seed: string, at: Date): (prefix: string) => string {
  let asked = 0;
  return (prefix) => {
    asked += 1;
    return idFrom(prefix, at, seed, asked);
  };
}

const STATUSES_KEPT: ReadonlySet<number> = new Set([400, 402, 404, 410, 413, 415, 422]);

/**
 * True for answers that the same request would get again; refusals that may pass, such as 409 and 429, are not kept, nor
 * is 412, which says to read again and repeat the change with another `If-Match`.
 */
export const isKept = (status: number): boolean => (status >= 200 && status < 300) || STATUSES_KEPT.has(status);

const FAILED_FROM = 500;

/**
 * True for a refusal that says nothing about the effect: a run that failed may have had it before, and so may the run
 * that a repeat follows. The key goes on standing for the records of that effect.
 */
export const mayHaveActed = (status: number, isRepeat: boolean): boolean => isRepeat || status >= FAILED_FROM;
