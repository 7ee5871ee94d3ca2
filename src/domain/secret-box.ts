/** Secrets that must be read again, such as those that sign webhooks: AES-256-GCM, bound to the record they belong to. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const BOX_ID = 's1';

export interface SecretBox {
  /** Encrypts a text; only `open` with the same `boundTo` gives it back. */
  seal(secret: string, boundTo: string): string;
  /** The text, or null when it was sealed elsewhere, for another record, or was changed. */
  open(sealed: string, boundTo: string): string | null;
}

/** Builds the box of a deployment from its secret. Boxes for other purposes open nothing of each other. */
export function createSecretBox(secret: string, purpose = 'stored secret'): SecretBox {
  const key = Buffer.from(hkdfSync('sha256', secret, '', `signalbox ${purpose}`, 32));
  return {
    seal(text, boundTo) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(boundTo));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `${BOX_ID}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
    },
    open(sealed, boundTo) {
      const [boxId, text] = sealed.split('.');
      const bytes = Buffer.from(text ?? '', 'base64url');
      if (boxId !== BOX_ID || bytes.length <= NONCE_BYTES + TAG_BYTES) return null;
      try {
        const nonce = bytes.subarray(0, NONCE_BYTES);
        const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(boundTo));
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString();
      } catch {
        return null;
      }
    },
  };
}
