/** The SMTP side of the development inbox: takes everything, except from addresses that stand for an outcome. */
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { callbackify } from 'node:util';
import PostalMime, { decodeWords, type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerEnvelope } from 'smtp-server';
import type { Arrival, InboxMessages } from './inbox-messages';

const MAIL_BYTES_MAX = 30 * 1024 * 1024;
const CLOSE_MS_MAX = 2_000;

interface SmtpError extends Error {
  responseCode: number;
}

const smtpError = (responseCode: number, text: string): SmtpError => Object.assign(new Error(text), { responseCode });

/** Recipients that stand for an outcome, so that bounces and delays can be tried without a real mail server. */
const OUTCOMES: Record<string, SmtpError> = {
  'bounced@sink.test': smtpError(550, '5.1.1 simulated: no such user here'),
  'deferred@sink.test': smtpError(451, '4.3.0 simulated: try again later'),
};

async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Read to the end all the same: the protocol leaves no other way to get to the answer.
    if (bytes <= MAIL_BYTES_MAX) chunks.push(chunk);
  }
  if (bytes > MAIL_BYTES_MAX) throw smtpError(552, `5.3.4 message larger than ${MAIL_BYTES_MAX} bytes`);
  return Buffer.concat(chunks);
}

function headersOf(email: Email): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { key, value } of email.headers) {
    const text = decodeWords(value);
    headers[key] = headers[key] === undefined ? text : `${headers[key]}\n${text}`;
  }
  return headers;
}

interface Envelope {
  from: string;
  to: string[];
}

/** Reads a mail as it came over the wire. */
export async function parseMail(source: Uint8Array, envelope: Envelope): Promise<Arrival> {
  const email = await PostalMime.parse(source);
  const { name, address } = email.from ?? { name: '', address: envelope.from };
  return {
    channel: 'email',
    from: name ? `${name} <${address ?? ''}>` : (address ?? ''),
    to: envelope.to,
    subject: email.subject ?? '',
    text: email.text ?? '',
    html: email.html ?? '',
    headers: headersOf(email),
  };
}

export interface MailSink {
  port: number;
  close(): Promise<void>;
}

/** Listens on loopback only: the sink would relay nothing, but it would take anything. */
export async function startMailSink(messages: InboxMessages, port: number): Promise<MailSink> {
  const keep = callbackify(async (stream: Readable, envelope: SMTPServerEnvelope): Promise<string> => {
    const from = envelope.mailFrom ? envelope.mailFrom.address : '';
    const to = envelope.rcptTo.map(({ address }) => address);
    const source = await readAll(stream);
    const message = await messages.add(await parseMail(source, { from, to }), source);
    return `2.0.0 kept as ${message.id}`;
  });
  const server = new SMTPServer({
    name: 'sink.test',
    size: MAIL_BYTES_MAX,
    authOptional: true,
    allowInsecureAuth: true,
    closeTimeout: CLOSE_MS_MAX,
    // Offered, it would make clients check a certificate nobody could have issued.
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onAuth: (auth, _session, callback) => callback(null, { user: auth.username ?? 'anyone' }),
    onRcptTo: ({ address }, _session, callback) => callback(OUTCOMES[address.toLowerCase()]),
    onData: (stream, { envelope }, callback) => keep(stream, envelope, callback),
  });
  // A client that goes away in the middle of a mail is the client's matter.
  server.on('error', () => {});
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
  return {
    port: (server.server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
