/** Continuation tokens: AES-256-GCM over a keyset position, bound to the tenant, the path and the filters it was made for. */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto';

const KEY_ID = 'k1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const LIFETIME_MS = 7 * 24 * 60 * 60 * 1_000;

/** Where a page ended: the sort value and the id of its last row. */
export interface Position {
  value: string | number | boolean | null;
  id: string;
  /** The whole page and the row behind it had this sort value; it says where to look first, not what is there now. */
  isTied?: true;
}

export interface TokenSealer {
  /** Seals a position for exactly this list. */
  seal(position: Position, bound: unknown, now: Date): string;
  /** Opens a token, or answers null when it is forged, too old (a week unless named) or made for another list. */
  open(token: string, bound: unknown, now: Date, lifetimeMs?: number): Position | null;
}

const boundBytes = (bound: unknown): Buffer => hash('sha256', JSON.stringify(bound), 'buffer');

/** Builds the sealer of a deployment from its secret. Stateless: any process can open any token. */
export function createSealer(secret: string): TokenSealer {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'signalbox continuation token', 32));
  return {
    seal(position, bound, now) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(boundBytes(bound));
      const sealed = Buffer.concat([
        cipher.update(JSON.stringify([position.value, position.id, now.getTime(), ...(position.isTied ? [1] : [])])),
        cipher.final(),
      ]);
      return `${KEY_ID}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
    },
    open(token, bound, now, lifetimeMs = LIFETIME_MS) {
      const [keyId, text] = token.split('.');
      const bytes = Buffer.from(text ?? '', 'base64url');
      if (keyId !== KEY_ID || bytes.length <= NONCE_BYTES + TAG_BYTES) return null;
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES)).setAAD(boundBytes(bound));
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const opened = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
        const [value, id, madeAt, tied] = JSON.parse(opened.toString()) as [Position['value'], string, number, 1?];
        if (now.getTime() - madeAt > lifetimeMs) return null;
        return { value, id, ...(tied ? { isTied: true } : {}) };
      } catch {
        return null;
      }
    },
  };
}
