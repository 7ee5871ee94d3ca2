/** Notification mail over a pooled SMTP connection. */
import { createTransport } from 'nodemailer';
import addressparser from 'nodemailer/lib/addressparser';
import { isMailAddress } from '../domain/mail-address';
import { withDeadline } from './deadline';
import { ProviderError, type ProviderErrorKind } from './error';

/** One mail to one recipient. */
export interface MailMessage {
  to: string;
  subject: string;
  text: string;
  html?: string;
  /** The same for every attempt at this mail, so that receivers can drop a second copy. */
  messageId: string;
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** Sends mail; the promise holds once the relay took responsibility for it. */
export interface Mail {
  send(message: MailMessage): Promise<{ message_id: string; response: string }>;
  close(): void;
}

interface MailOptions {
  smtpUrl: string;
  from: string;
}

const SEND_TIMEOUT_MS = 25_000;
const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000, dnsTimeout: 10_000 };
const CONNECTIONS_MAX = 5;
const SUBJECT_LENGTH_MAX = 998;

function invalid(message: string): ProviderError {
  return new ProviderError('invalid_input', message);
}

function oneLine(value: string, what: string): string {
  if (/[\r\n\0]/.test(value)) throw invalid(`The ${what} must be one line`);
  return value;
}

/**
 * True when the address is all there is, or stands in brackets behind the name. The parser finds one anywhere and takes
 * what follows for a comment: a value before a fixed `@example.com` would lead the mail elsewhere.
 */
const endsIn = (line: string, address: string): boolean => line === address || line.endsWith(`<${address}>`);

/** Exactly one mailbox: a list would make one delivery succeed and fail at once. */
function mailbox(text: string, what: string): { name: string; address: string } {
  const line = oneLine(text, what)
    .replace(/[\s,;]+$/, '')
    .trim();
  const [first, ...others] = addressparser(line, { flatten: true });
  if (!first?.address || others.length > 0 || !isMailAddress(first.address) || !endsIn(line, first.address))
    throw invalid(`The ${what} must be one mail address`);
  return { name: first.name, address: first.address };
}

function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[A-Za-z0-9-]{1,76}$/.test(name)) throw invalid(`"${name.slice(0, 80)}" is not the name of a mail header`);
    oneLine(value, `header ${name}`);
  }
  return { ...headers };
}

interface SmtpError {
  code?: string;
  responseCode?: number;
  response?: string;
  message?: string;
}

const REFUSALS: ReadonlySet<string> = new Set(['EENVELOPE', 'EMESSAGE']);

function kindOfReply(code: string | undefined, status: number): ProviderErrorKind {
  if (code === 'EAUTH') return status >= 500 ? 'auth' : 'server_error';
  // A 5xx is about this mail only after MAIL, RCPT or DATA; 503 says the session was confused, not the mail wrong.
  return status >= 500 && status !== 503 && REFUSALS.has(code ?? '') ? 'rejected' : 'server_error';
}

function kindWithoutReply(code: string | undefined): ProviderErrorKind {
  if (code === 'ETIMEDOUT') return 'timeout';
  if (code === 'EAUTH' || code === 'ENOAUTH') return 'auth';
  return code === 'EENVELOPE' ? 'invalid_input' : 'network';
}

function asProviderError(error: unknown): ProviderError {
  const { code, responseCode, response, message } = error as SmtpError;
  const kind = responseCode ? kindOfReply(code, responseCode) : kindWithoutReply(code);
  const said = response
    ? `The mail relay answered ${response.slice(0, 300)}`
    : `The mail relay failed: ${String(message)}`;
  return new ProviderError(kind, said, { cause: error });
}

/** Builds the sender. Connections are opened when first needed and kept for the mails that follow. */
export function createMail({ smtpUrl, from }: MailOptions): Mail {
  const sender = mailbox(from, 'sender (MAIL_FROM)');
  if (smtpUrl && !/^smtps?:\/\/./.test(smtpUrl))
    throw new ProviderError('not_configured', 'SMTP_URL must look like smtp://host:port or smtps://user:password@host');
  const transport = createTransport({
    url: smtpUrl,
    pool: true,
    maxConnections: CONNECTIONS_MAX,
    // A pooled connection that died while idle is replaced once; nodemailer does that only when not a byte of
    // the mail was read, so nothing is ever sent twice.
    maxRequeues: 1,
    ...TIMEOUTS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text, html, messageId, headers = {}, signal }) {
      if (!smtpUrl) throw new ProviderError('not_configured', 'No mail relay: set SMTP_URL');
      const mail = {
        from: sender,
        to: mailbox(to, 'recipient'),
        subject: oneLine(subject, 'subject').slice(0, SUBJECT_LENGTH_MAX),
        text,
        ...(html === undefined ? {} : { html }),
        messageId: `<${oneLine(messageId, 'message id').replace(/^<|>$/g, '')}>`,
        headers: checkedHeaders(headers),
      };
      const deadline = { signal, timeoutMs: SEND_TIMEOUT_MS, from: 'The mail relay' };
      return withDeadline(deadline, async (aborted) => {
        try {
          const sent = await transport.sendMail({ ...mail, signal: aborted });
          return { message_id: sent.messageId, response: sent.response };
        } catch (error) {
          aborted.throwIfAborted();
          throw asProviderError(error);
        }
      });
    },
    close: () => transport.close(),
  };
}
