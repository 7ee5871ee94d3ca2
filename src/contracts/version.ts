/**
 * The dated versions of the APIs. Additions need none: new fields, new operations, new members of open lists. A change
 * that would break a client is a new row here, with one pure step that translates between it and the row before.
 */
import type { TSchema } from './schema';

/** The parts of a request that a step may translate; path parameters are ids and never change. */
export interface Sent {
  query: Record<string, unknown>;
  body: unknown;
}

/** What one version changed about one operation. */
export interface OperationChange {
  /** What clients of the version before send. Their requests are checked against it, in the words they know. */
  before?: { query?: TSchema; body?: TSchema };
  /** A request of a client of the version before, as this version has it. */
  request?: (sent: Sent) => Sent;
  /** The body of a success of this version, as clients of the version before know it. */
  response?: (body: unknown, status: number) => unknown;
}

/** What an event tells of a resource: its fields as the API spells them, and for a change what they were. */
export interface EventContent {
  data: Record<string, unknown>;
  changes?: Record<string, unknown>;
}

export interface ApiVersion {
  /** `YYYY-MM-DD`: what clients send as `Platform-Version`. */
  date: string;
  summary: string;
  /** By operation id; an operation that is not named is the same as in the version before. */
  changes: Readonly<Record<string, OperationChange>>;
  /** By `<product>:<noun>`, such as `psa:ticket`: the content of its events as webhooks of the version before know it. */
  events?: Readonly<Record<string, (content: EventContent) => EventContent>>;
}

/** Every version that is answered, the oldest first. */
export type VersionTable = readonly [ApiVersion, ...ApiVersion[]];

const FIRST: ApiVersion = { date: '2026-11-20', summary: 'The first version.', changes: {} };

export const API_VERSIONS: VersionTable = [FIRST];

export const VERSION_DATES: readonly string[] = API_VERSIONS.map(({ date }) => date);

/** What keys have that were made before keys were pinned: nothing can have changed for them yet. */
export const FIRST_VERSION = FIRST.date;

/** What new keys are pinned to and what callers without a key get. */
export const LATEST_VERSION = (API_VERSIONS.at(-1) ?? FIRST).date;

/** A translation of one record, applied to every item of a page or of a batch read. */
export const eachItem =
  (translate: (item: unknown) => unknown) =>
  (body: unknown): unknown => {
    const page = body as { items: unknown[] };
    return { ...page, items: page.items.map(translate) };
  };
