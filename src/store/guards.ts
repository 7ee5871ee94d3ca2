/** One guard document per tenant: the spent window, the keys' buckets and the epoch that fences every credential cache. */
import type { Tier } from '../contracts/principal';
import { Json, Type, type Static } from '../contracts/schema';
import { CONDITIONAL_FACTOR, emissionInterval, phaseOf, TIER_RATES, WINDOW_MS } from '../domain/rate-limit';
import { collection, isDuplicate, type Store } from './collection';

const KEYS_REFUNDED_MAX = 20;
const TAKE_ATTEMPTS = 3;
const STORE_TIMEOUT_MS = 2_000;

/** `n`, `m`, `c` count the tenant's, the mail keys' and the conditional requests of window `win`; `k` holds each key's TAT. */
const GuardRecord = Type.Object({
  _id: Type.String(),
  at: Type.Number(),
  win: Type.Integer(),
  n: Type.Integer(),
  m: Type.Integer(),
  c: Type.Integer(),
  k: Json(),
  epoch: Type.Integer(),
  via: Type.String(),
});
type GuardRecord = Static<typeof GuardRecord>;

const guards = collection('guards', GuardRecord, []);

/** Which window a request is charged to. */
export type ChargedWindow = 'tenant' | 'mail';
const COUNTER = { tenant: 'n', mail: 'm' } as const satisfies Record<ChargedWindow, string>;

/** What a request is to be charged. */
export interface Charge {
  orgId: string;
  window: ChargedWindow;
  /** Requests the window admits. */
  limit: number;
  key: { id: string; tier: Tier } | null;
  /** A poll with `If-None-Match`, which has a window of its own once this one is spent. */
  conditional: boolean;
}

/** Charges to give back. Window counts are dropped when their window has ended meanwhile. */
export interface Refund {
  win: number;
  tenant: number;
  mail: number;
  /** Milliseconds of each key's bucket. */
  keys: Record<string, number>;
}

/** The guard as an operation left it, by the store's own clock. */
export interface Reading {
  atMs: number;
  win: number;
  windowEndsAtMs: number;
  tenant: number;
  mail: number;
  conditional: number;
  /** The asked key's theoretical arrival time; 0 when its bucket is full. */
  tatMs: number;
  epoch: number;
  outcome: 'charged' | 'conditional' | 'refused';
}

type Expression = unknown;
type Stage = Record<string, unknown>;

/** The store's clock, so that all processes count the same minute; tests give a fixed moment instead. */
const nowOf = (nowMs: number | null): Expression => nowMs ?? { $toLong: '$$NOW' };

/**
 * Moves the document into the current window. A statement that waited for the row may carry an older time than its
 * predecessor, so the window never goes back by one; a larger step back is a corrected clock.
 */
function rolled(orgId: string, nowMs: number | null): Stage[] {
  const current = { $floor: { $divide: [{ $subtract: ['$at', phaseOf(orgId)] }, WINDOW_MS] } };
  const ahead = { $subtract: ['$win', '$cur'] };
  const isSame = { $in: [ahead, [0, 1]] };
  const live = { $filter: { input: { $objectToArray: '$k' }, as: 'key', cond: { $gt: ['$$key.v', '$at'] } } };
  const kept = (field: string) => ({ $cond: [isSame, `$${field}`, 0] });
  return [
    { $set: { at: nowOf(nowMs) } },
    { $set: { cur: current } },
    {
      $set: {
        n: kept('n'),
        m: kept('m'),
        c: kept('c'),
        // Buckets that are full again say nothing; dropping them once a minute keeps the document small.
        k: { $cond: [isSame, '$k', { $arrayToObject: live }] },
        win: { $cond: [isSame, '$win', '$cur'] },
      },
    },
    { $unset: ['cur'] },
  ];
}

/** Gives back what 304 and 503 replies were charged. */
function refunded(back: Refund | null): Stage[] {
  if (!back) return [];
  const less = (field: string, count: number) => ({
    $cond: [{ $eq: ['$win', back.win] }, { $max: [0, { $subtract: [`$${field}`, count] }] }, `$${field}`],
  });
  const keys = Object.entries(back.keys).map(([id, milliseconds]) => [
    `k.${id}`,
    { $max: [0, { $subtract: [{ $ifNull: [`$k.${id}`, 0] }, milliseconds] }] },
  ]);
  return [{ $set: { n: less('n', back.tenant), m: less('m', back.mail), ...Object.fromEntries(keys) } }];
}

/** Charges the window and the key's bucket together or not at all. */
function charged(charge: Charge): Stage[] {
  const counter = COUNTER[charge.window];
  const hasRoom: Expression[] = [{ $lt: [`$${counter}`, charge.limit] }];
  const spent: Record<string, Expression> = {};
  const isCharged = { $eq: ['$via', 'charged'] };
  if (charge.key) {
    const path = `k.${charge.key.id}`;
    const interval = emissionInterval(charge.key.tier);
    const arrival = { $add: [{ $max: [{ $ifNull: [`$${path}`, 0] }, '$at'] }, interval] };
    hasRoom.push({ $lte: [{ $subtract: [arrival, '$at'] }, TIER_RATES[charge.key.tier].burst * interval] });
    spent[path] = { $cond: [isCharged, arrival, { $ifNull: [`$${path}`, 0] }] };
  }
  const mayPoll = charge.conditional ? { $lt: ['$c', charge.limit * CONDITIONAL_FACTOR] } : false;
  return [
    { $set: { via: { $cond: [{ $and: hasRoom }, 'charged', { $cond: [mayPoll, 'conditional', 'refused'] }] } } },
    {
      $set: {
        [counter]: { $cond: [isCharged, { $add: [`$${counter}`, 1] }, `$${counter}`] },
        c: { $cond: [{ $eq: ['$via', 'conditional'] }, { $add: ['$c', 1] }, '$c'] },
        ...spent,
      },
    },
  ];
}

const READ_FIELDS = { at: 1, win: 1, n: 1, m: 1, c: 1, epoch: 1, via: 1 } as const;

const projectionFor = (keyId: string | undefined) => (keyId ? { ...READ_FIELDS, [`k.${keyId}`]: 1 } : READ_FIELDS);

const windowEnd = (orgId: string, win: number): number => (win + 1) * WINDOW_MS + phaseOf(orgId);

function readingOf(record: GuardRecord, keyId: string | undefined): Reading {
  const tat = keyId ? record.k?.[keyId] : 0;
  return {
    atMs: record.at,
    win: record.win,
    windowEndsAtMs: windowEnd(record._id, record.win),
    tenant: record.n,
    mail: record.m,
    conditional: record.c,
    tatMs: typeof tat === 'number' ? tat : 0,
    epoch: record.epoch,
    outcome: record.via as Reading['outcome'],
  };
}

/** Creates the tenant's guard document when it is missing; findOneAndUpdate with upsert would race on this store. */
export async function ensureGuard(store: Store, orgId: string): Promise<void> {
  const empty = { at: 0, win: 0, n: 0, m: 0, c: 0, k: {}, epoch: 1, via: 'charged' };
  try {
    await guards.in(store).updateOne({ _id: orgId }, { $setOnInsert: empty }, { upsert: true });
  } catch (error) {
    if (!isDuplicate(error)) throw error;
  }
}

/** FerretDB refuses `$$NOW` with this code while the collection does not exist. */
const FAILED_TO_PARSE = 9;

function noneYet(error: unknown): null {
  if ((error as { code?: number }).code === FAILED_TO_PARSE) return null;
  throw error;
}

/** Charges a request in one store operation: both limits or neither. The reply carries the epoch of the moment. */
export async function takeFromGuard(
  store: Store,
  charge: Charge,
  options: { back?: Refund | null; nowMs?: number | null } = {},
): Promise<Reading> {
  const stages = [
    ...rolled(charge.orgId, options.nowMs ?? null),
    ...refunded(options.back ?? null),
    ...charged(charge),
  ];
  // Every request comes by here, so the driver is asked directly: Mongoose would walk the whole pipeline each time.
  const take = () =>
    guards.in(store).collection.findOneAndUpdate({ _id: charge.orgId } as never, stages, {
      returnDocument: 'after',
      projection: projectionFor(charge.key?.id),
      maxTimeMS: STORE_TIMEOUT_MS,
    }) as unknown as Promise<GuardRecord | null>;
  for (let attempt = 1; attempt <= TAKE_ATTEMPTS; attempt += 1) {
    const record = await take().catch(noneYet);
    if (record) return readingOf(record, charge.key?.id);
    await ensureGuard(store, charge.orgId);
  }
  throw new Error(`The guard document of ${charge.orgId} cannot be created`);
}

/** Reads the guard without charging: live headers of unmetered operations, and the epoch of the moment. */
export async function readGuard(
  store: Store,
  orgId: string,
  options: { keyId?: string | undefined; nowMs: number },
): Promise<Reading> {
  for (let attempt = 1; attempt <= TAKE_ATTEMPTS; attempt += 1) {
    const record = await guards.in(store).findById(orgId, projectionFor(options.keyId)).lean<GuardRecord>();
    if (record) return asOfNow(readingOf(record, options.keyId), orgId, options.nowMs);
    await ensureGuard(store, orgId);
  }
  throw new Error(`The guard document of ${orgId} cannot be created`);
}

/** What was read, as it stands now: a window that ended since the last charge counts as empty. */
function asOfNow(reading: Reading, orgId: string, nowMs: number): Reading {
  const atMs = Math.max(nowMs, reading.atMs);
  const win = Math.floor((atMs - phaseOf(orgId)) / WINDOW_MS);
  if (win <= reading.win) return { ...reading, atMs };
  return { ...reading, atMs, win, windowEndsAtMs: windowEnd(orgId, win), tenant: 0, mail: 0, conditional: 0 };
}

/** Gives charges back on their own, when no further charge came along to carry them. */
export async function refundGuard(store: Store, orgId: string, back: Refund): Promise<void> {
  await guards
    .in(store)
    .updateOne({ _id: orgId }, refunded(back), { updatePipeline: true, maxTimeMS: STORE_TIMEOUT_MS });
}

/** True when one more key's charge fits beside those that already wait to be given back. */
export const fitsRefund = (back: Refund, keyId: string): boolean =>
  keyId in back.keys || Object.keys(back.keys).length < KEYS_REFUNDED_MAX;

/**
 * Ends the validity of every cached credential of the tenant, on every process. Called after each change of a key,
 * session, role or tenant and before the change is answered.
 */
export async function raiseEpoch(store: Store, orgId: string): Promise<void> {
  const raise = () => guards.in(store).updateOne({ _id: orgId }, { $inc: { epoch: 1 } });
  const { matchedCount } = await raise();
  if (matchedCount > 0) return;
  await ensureGuard(store, orgId);
  await raise();
}
