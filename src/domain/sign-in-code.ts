/** One-time codes: too long to guess, kept only as a keyed hash. */
import { createHmac, randomBytes } from 'node:crypto';

const CODE_BYTES = 32;

/** A new code, as it goes into the mail. */
export const mintCode = (): string => randomBytes(CODE_BYTES).toString('base64url');

/** What is stored of a code, of the address it was asked for, or of whom it was mailed for: none can be read back from the store. */
export const keyedHash = (pepper: string, what: 'code' | 'address' | 'recipient', text: string): string =>
  createHmac('sha256', pepper).update(`portal ${what} ${text}`).digest('base64url');
