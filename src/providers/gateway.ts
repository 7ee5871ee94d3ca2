/** Notification channels other than mail: JSON posted to an HTTP gateway the operator runs or rents. */
import type { Config } from '../config';
import { ProviderError, statusError } from './error';
import type { HttpClient, HttpReply } from './http';

/** The channels a gateway carries. */
export type GatewayChannel = 'sms' | 'slack' | 'teams' | 'webhook';

/** One message to one recipient. `key` is the same for every attempt at it. */
export interface Delivery {
  channel: GatewayChannel;
  to: string;
  body: string;
  subject?: string;
  key: string;
  /** How long the gateway may take; 15 s unless named. */
  timeoutMs?: number;
  signal: AbortSignal;
}

/** Hands messages to the gateways. */
export interface Gateways {
  /** Answers the status and, where the gateway names one, its own id of the message. */
  deliver(delivery: Delivery): Promise<{ status: number; id: string | null }>;
}

const TIMEOUT_MS = 15_000;
const REPLY_BYTES_MAX = 64 * 1024;

const VARIABLES: Record<GatewayChannel, string> = {
  sms: 'SMS_GATEWAY_URL',
  slack: 'SLACK_GATEWAY_URL',
  teams: 'TEAMS_GATEWAY_URL',
  webhook: 'WEBHOOK_GATEWAY_URL',
};

function isSmsRecipient(to: string): boolean {
  if (/^oncall:[\w.-]{1,100}$/.test(to)) return true;
  const digits = to.replace(/\D/g, '').length;
  return /^\+?[0-9][0-9 ().-]*$/.test(to) && digits >= 7 && digits <= 15;
}

function idOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const { id, message_id: messageId } = body as { id?: unknown; message_id?: unknown };
  const found = id ?? messageId;
  return typeof found === 'string' || typeof found === 'number' ? String(found).slice(0, 200) : null;
}

function outcome(reply: HttpReply, from: string) {
  if (reply.status < 200 || reply.status > 299)
    throw statusError({ status: reply.status, headers: reply.headers, from });
  return { status: reply.status, id: idOf(reply.body) };
}

/** Builds the gateways. A webhook without a gateway goes straight to its recipient, past the address guard. */
export function createGateways(config: Config['gateways'], http: HttpClient): Gateways {
  const limits = ({ timeoutMs = TIMEOUT_MS, signal, key }: Delivery) =>
    ({ method: 'POST', timeoutMs, maxBytes: REPLY_BYTES_MAX, signal, idempotencyKey: key }) as const;

  async function postToRecipient(delivery: Delivery) {
    const { to, body, subject, key } = delivery;
    // Chat tools take `text`; our token is the gateway's and never goes to an address a tenant chose.
    const message = { text: body, ...(subject === undefined ? {} : { title: subject }), key };
    const reply = await http.request({ ...limits(delivery), url: to, body: message, guarded: true });
    return outcome(reply, 'The webhook');
  }

  async function postToGateway(url: string, delivery: Delivery) {
    const { channel, to, body, subject, key } = delivery;
    const message = { channel, to, body, ...(subject === undefined ? {} : { subject }), key };
    const headers = config.token ? { authorization: `Bearer ${config.token}` } : {};
    const reply = await http.request({ ...limits(delivery), url, headers, body: message, guarded: false });
    return outcome(reply, `The ${channel} gateway`);
  }

  return {
    async deliver(delivery) {
      const { channel, to } = delivery;
      if (channel === 'sms' && !isSmsRecipient(to))
        throw new ProviderError(
          'invalid_input',
          `"${to}" is neither a phone number like +15551234567 nor oncall:<name>`,
        );
      const url = config[channel];
      if (url) return postToGateway(url, delivery);
      if (channel === 'webhook') return postToRecipient(delivery);
      throw new ProviderError('not_configured', `No gateway for ${channel}: set ${VARIABLES[channel]}`);
    },
  };
}
