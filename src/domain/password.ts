/** Password hashes for the development login: scrypt, with the parameters inside the hash so that they can grow. */
import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';

const COST = 16_384;
const BLOCK = 8;
/** Seeded passwords are random, so the cost of one block is enough. */
const PARALLEL = 1;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const MEMORY_MAX = 64 * 1024 * 1024;

const derive = (password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, { ...options, maxmem: MEMORY_MAX }, (error, hash) =>
      error ? reject(error) : resolve(hash),
    );
  });

/** `scrypt$N$r$p$salt$hash`, ready to store. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, { N: COST, r: BLOCK, p: PARALLEL });
  return ['scrypt', COST, BLOCK, PARALLEL, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/** A hash that no password has: comparing with it costs what comparing with a real one costs. */
const NOBODY = ['scrypt', COST, BLOCK, PARALLEL, 'AAAAAAAAAAAAAAAAAAAAAA', 'A'.repeat(43)].join('$');

/** Compares in constant time. Without a stored hash the same work is done, so that unknown users take as long as known ones. */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const [scheme, cost, block, parallel, salt, hash] = (stored ?? NOBODY).split('$');
  if (scheme !== 'scrypt' || !salt || !hash) return false;
  const expected = Buffer.from(hash, 'base64url');
  const actual = await derive(password, Buffer.from(salt, 'base64url'), {
    N: Number(cost),
    r: Number(block),
    p: Number(parallel),
  });
  return stored !== null && expected.length === actual.length && timingSafeEqual(expected, actual);
}
