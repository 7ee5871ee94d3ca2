/** API keys as text: how one is made, recognised without the store, hashed and shown. */
import { createHmac, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

export const KEY_KINDS = ['platform', 'mail'] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

export const KEY_PREFIXES = { platform: 'plat_', mail: 'mail_key_' } as const satisfies Record<KeyKind, string>;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const SHOWN_LENGTH = 4;
const BODY = new RegExp(`^[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/** Bytes from here up would make the first letters of the alphabet likelier than the rest. */
const UNBIASED_BELOW = 256 - (256 % ALPHABET.length);

function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < UNBIASED_BELOW && text.length < length) text += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return text;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place += 1) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

/** A new key: prefix, 30 random characters (178 bits) and a checksum. */
export function mintKey(kind: KeyKind): string {
  const body = KEY_PREFIXES[kind] + randomText(RANDOM_LENGTH);
  return body + checksum(body);
}

/** The kind of a well-formed key, or null. The checksum keeps typos and scanners' junk away from the store. */
export function parseKey(key: string): KeyKind | null {
  const kind = KEY_KINDS.find((candidate) => key.startsWith(KEY_PREFIXES[candidate]));
  if (!kind || !BODY.test(key.slice(KEY_PREFIXES[kind].length))) return null;
  return checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH) ? kind : null;
}

/** What the store keeps instead of the key; useless without the pepper. */
export const hashKey = (pepper: string, key: string): string =>
  createHmac('sha256', pepper).update(key).digest('base64url');

/** The only part of a key that is ever shown again. */
export const lastFour = (key: string): string => key.slice(-SHOWN_LENGTH);

/** The preview in lists: `plat_••••x7Qa`. */
export const maskedKey = (kind: KeyKind, last4: string): string => `${KEY_PREFIXES[kind]}••••${last4}`;
