/** Standard Webhooks signatures: HMAC-SHA256 over id, time and body, one per secret that is in force. */
import { createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A new secret, in the form every Standard Webhooks library takes. */
export const mintWebhookSecret = (): string => `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;

interface Message {
  id: string;
  /** Unix seconds. */
  timestamp: number;
  body: string;
}

const signed = (secret: string, { id, timestamp, body }: Message): string => {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
};

/** The three headers of a delivery. While secrets overlap each of them signs, so a receiver may hold either. */
export const signatureHeaders = (secrets: readonly string[], message: Message): Record<string, string> => ({
  'webhook-id': message.id,
  'webhook-timestamp': String(message.timestamp),
  'webhook-signature': secrets.map((secret) => signed(secret, message)).join(' '),
});
