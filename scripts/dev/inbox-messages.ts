/** The messages of the development inbox: the latest ones in memory, each with its source on disk. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const MESSAGES_MAX = 500;
const TIME_DIGITS = 9;

export type Channel = 'email' | 'sms' | 'slack' | 'teams' | 'webhook';

export interface InboxMessage {
  id: string;
  channel: Channel;
  from: string;
  /** Who it was really sent to: for mail the envelope, blind copies included. */
  to: string[];
  subject: string;
  text: string;
  html: string;
  /** Lower-case names; a header that occurs several times has its values joined by a line break. */
  headers: Record<string, string>;
  received_at: string;
}

/** A message before the inbox has given it an id and a time. */
export type Arrival = Omit<InboxMessage, 'id' | 'received_at'>;

interface Stored {
  message: InboxMessage;
  /** The bytes as they arrived, in base64: mail need not be valid UTF-8. */
  raw: string;
}

// Sorts by arrival as text, so that a directory listing is in order.
function createId(now: number): string {
  return `msg_${now.toString(36).padStart(TIME_DIGITS, '0')}${randomBytes(5).toString('hex')}`;
}

export class InboxMessages {
  readonly #dir: string;
  /** Oldest first. */
  #messages: InboxMessage[] = [];
  #latest = 0;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  /** Opens the folder and reads what an earlier start left in it. */
  static async open(dir: string): Promise<InboxMessages> {
    const box = new InboxMessages(dir);
    await mkdir(dir, { recursive: true });
    const names = (await readdir(dir)).filter((name) => /^msg_\w+\.json$/.test(name)).toSorted();
    for (const name of names.slice(-MESSAGES_MAX)) {
      const stored = await box.#read(name.replace('.json', ''));
      if (stored) box.#messages.push(stored.message);
    }
    for (const name of names.slice(0, -MESSAGES_MAX)) await rm(join(dir, name), { force: true });
    return box;
  }

  /** Keeps a message; it is on disk when this resolves. */
  async add(arrival: Arrival, raw: Uint8Array): Promise<InboxMessage> {
    // Two messages of one millisecond still get ids in their order.
    this.#latest = Math.max(Date.now(), this.#latest + 1);
    const message: InboxMessage = {
      ...arrival,
      id: createId(this.#latest),
      received_at: new Date(this.#latest).toISOString(),
    };
    this.#messages.push(message);
    const surplus = this.#messages.length > MESSAGES_MAX ? this.#messages.shift() : undefined;
    await writeFile(
      this.#path(message.id),
      JSON.stringify({ message, raw: Buffer.from(raw).toString('base64') } satisfies Stored),
    );
    if (surplus) await rm(this.#path(surplus.id), { force: true });
    return message;
  }

  /** Newest first. */
  list(): InboxMessage[] {
    return this.#messages.toReversed();
  }

  find(id: string): InboxMessage | undefined {
    return this.#messages.find((message) => message.id === id);
  }

  /** The message as it arrived. */
  async raw(id: string): Promise<Buffer | undefined> {
    const stored = this.find(id) && (await this.#read(id));
    return stored && Buffer.from(stored.raw, 'base64');
  }

  async clear(): Promise<void> {
    const removed = this.#messages;
    this.#messages = [];
    await Promise.all(removed.map(({ id }) => rm(this.#path(id), { force: true })));
  }

  #path(id: string): string {
    return join(this.#dir, `${id}.json`);
  }

  async #read(id: string): Promise<Stored | undefined> {
    try {
      return JSON.parse(await readFile(this.#path(id), 'utf8')) as Stored;
    } catch {
      return undefined; // Cut off by a crash: one message of a development inbox less.
    }
  }
}
