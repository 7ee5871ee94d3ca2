/** An SMTP receiver on loopback that keeps what it was sent and fails as it is told. */
import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';

/** One accepted mail. */
export interface ReceivedMail {
  from: string;
  to: string[];
  /** The message as it came over the wire. */
  source: string;
  /** The connection it came through; two mails of one connection share it. */
  connection: string;
}

/** A refusal, or `hang_up` to drop the connection without a word, or nothing to accept. */
export type SmtpOutcome = { code: number; text: string } | 'hang_up' | undefined;

/** What the receiver does at each stage. */
export interface SmtpBehaviour {
  connect?: () => SmtpOutcome;
  recipient?: (address: string) => SmtpOutcome;
  /** Decided after the whole message came in. */
  message?: (mail: ReceivedMail) => SmtpOutcome;
  /** How long the final answer takes. */
  delayMs?: number;
}

/** A running receiver. */
export interface SmtpStandIn {
  /** What `SMTP_URL` takes. */
  readonly url: string;
  readonly mails: ReceivedMail[];
  /** Connections ever accepted. */
  connections(): number;
  behave(behaviour: SmtpBehaviour): void;
  /** Drops every open connection, as a relay does with idle ones. */
  dropConnections(): void;
  stop(): Promise<void>;
}

type Done = (error?: Error | null) => void;

/** Starts a receiver; it accepts everything unless told otherwise. */
export async function startSmtp(
  initial: SmtpBehaviour & { auth?: { user: string; pass: string } } = {},
): Promise<SmtpStandIn> {
  let behaviour: SmtpBehaviour = initial;
  let connections = 0;
  const mails: ReceivedMail[] = [];
  const sockets = new Map<number, Socket>();
  const dropAll = () => sockets.forEach((socket) => socket.destroy());

  function settle(outcome: SmtpOutcome, session: SMTPServerSession, done: Done): void {
    if (outcome === undefined) done();
    else if (outcome === 'hang_up') sockets.get(session.remotePort)?.destroy();
    else done(Object.assign(new Error(outcome.text), { responseCode: outcome.code }));
  }

  const server = new SMTPServer({
    authOptional: !initial.auth,
    allowInsecureAuth: true,
    disabledCommands: initial.auth ? ['STARTTLS'] : ['STARTTLS', 'AUTH'],
    onAuth(given, _session, done) {
      const isRight = given.username === initial.auth?.user && given.password === initial.auth?.pass;
      if (isRight) done(null, { user: given.username ?? '' });
      else done(Object.assign(new Error('Authentication failed'), { responseCode: 535 }));
    },
    onConnect(session, done) {
      connections += 1;
      settle(behaviour.connect?.(), session, done);
    },
    onRcptTo({ address }, session, done) {
      settle(behaviour.recipient?.(address), session, done);
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false || mailFrom === undefined ? '' : mailFrom.address;
        const to = rcptTo.map(({ address }) => address);
        const mail = { from, to, source: Buffer.concat(chunks).toString('utf8'), connection: session.id };
        const outcome = behaviour.message?.(mail);
        if (outcome === undefined) mails.push(mail);
        setTimeout(() => settle(outcome, session, done), behaviour.delayMs ?? 0);
      });
    },
  });
  // A client that hangs up in the middle is part of what the tests do.
  server.on('error', () => undefined);
  server.server.on('connection', (socket: Socket) => {
    const port = socket.remotePort ?? 0;
    sockets.set(port, socket);
    socket.once('close', () => sockets.delete(port));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.server.address() as AddressInfo;
  const login = initial.auth ? `${initial.auth.user}:${initial.auth.pass}@` : '';
  return {
    url: `smtp://${login}127.0.0.1:${port}`,
    mails,
    connections: () => connections,
    behave(next) {
      behaviour = next;
    },
    dropConnections: dropAll,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        dropAll();
      }),
  };
}
