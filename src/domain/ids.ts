/** Record identifiers: `<prefix>_` and a ULID, or a hash where the same cause must always give the same id. */
import { hash, randomBytes, randomFillSync } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

function encodeTime(milliseconds: number): string {
  let rest = milliseconds;
  let text = '';
  for (let digit = 0; digit < 10; digit += 1) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function encodeBytes(bytes: Buffer, length: number, start = 0): string {
  let text = '';
  for (let place = start; place < start + length; place += 1) text += ALPHABET[(bytes[place] ?? 0) % 32];
  return text;
}

const RANDOM_BYTES = 16;
/** Random bytes are drawn for many ids at a time, and each is used once. */
const pool = Buffer.alloc(256 * RANDOM_BYTES);
let drawn = pool.length;

function randomText(): string {
  if (drawn === pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  const text = encodeBytes(pool, RANDOM_BYTES, drawn);
  drawn += RANDOM_BYTES;
  return text;
}

/** A new sortable id, for example `agt_01K…`. */
export const newId = (prefix: string, at: Date = new Date()): string =>
  `${prefix}_${encodeTime(at.getTime())}${randomText()}`;

const digestOf = (...parts: (string | number)[]): Buffer => hash('sha256', JSON.stringify(parts), 'buffer');

/** The id that `parts` always lead to; a second attempt at the same work meets the first one's record. */
export const derivedId = (prefix: string, ...parts: (string | number)[]): string =>
  `${prefix}_${encodeBytes(digestOf(...parts), 26)}`;

/** A sortable id that the same seed and position always give. */
export const idFrom = (prefix: string, at: Date, seed: string, position: number): string =>
  `${prefix}_${encodeTime(at.getTime())}${encodeBytes(digestOf(seed, prefix, position), 16)}`;

/** A number from 0 up to 1. */
export const randomFraction = (): number => randomBytes(4).readUInt32BE() / 2 ** 32;

/** One execution per agent, event and attempt, for ever. */
export const executionIdFor = (agentId: string, eventId: string, attempt: number): string =>
  derivedId('exe', agentId, eventId, attempt);

/** One approval per execution and step. */
export const approvalIdFor = (executionId: string, path: string): string => derivedId('apr', executionId, path);
