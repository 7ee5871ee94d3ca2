/** The development inbox: everything the product sends, by mail or gateway, ends here and can be looked at. */
import type { AddressInfo } from 'node:net';
import { startInboxServer } from './inbox-http';
import { startMailSink } from './inbox-mail';
import { type Channel, type InboxMessage, InboxMessages } from './inbox-messages';

export type { Channel, InboxMessage } from './inbox-messages';

export interface InboxOptions {
  /** 0 picks a free port. */
  smtpPort: number;
  httpPort: number;
  /** Folder the messages are kept in. */
  dir: string;
  log: (line: string) => void;
}

export interface Inbox {
  smtpUrl: string;
  inboxUrl: string;
  gatewayUrl: (channel: Exclude<Channel, 'email'>) => string;
  /** Newest first. */
  messages: () => InboxMessage[];
  clear: () => Promise<void>;
  stop: () => Promise<void>;
}

/** Starts the SMTP sink and the inbox pages on loopback. */
export async function startInbox({ smtpPort, httpPort, dir, log }: InboxOptions): Promise<Inbox> {
  const messages = await InboxMessages.open(dir);
  const sink = await startMailSink(messages, smtpPort);
  const server = await startInboxServer(messages, httpPort).catch(async (cause: unknown) => {
    await sink.close();
    throw cause;
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  log(`inbox: mail to port ${sink.port} appears at ${base}/dev/inbox`);
  return {
    smtpUrl: `smtp://127.0.0.1:${sink.port}`,
    inboxUrl: `${base}/dev/inbox`,
    gatewayUrl: (channel) => `${base}/gateway/${channel}`,
    messages: () => messages.list(),
    clear: () => messages.clear(),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await Promise.all([closed, sink.close()]);
    },
  };
}
