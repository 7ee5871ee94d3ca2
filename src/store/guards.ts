/** One guard document per tenant: the spent window, the keys' buckets and the epoch that fences every credential cache. */
import { Json, Type, type Static } from '../contracts/schema';
import { emissionInterval, phaseOf, WINDOW_MS } from '../domain/rate-limit';
import { collection, isDuplicate, type Store } from './collection';
import { chargingStages, refunded, sorted, type Alike, type Charge, type Refund } from './guard-pipeline';
import { insist } from './insist';

export type { Charge, Refund } from './guard-pipeline';

const KEYS_REFUNDED_MAX = 20;
const TAKE_ATTEMPTS = 3;
const STORE_TIMEOUT_MS = 2_000;

/**
 * How long a process goes by what it read under an epoch. A backstop, not the fence: a process that died between writing
 * a change and raising the epoch answered nobody, yet its change should not stay unseen for ever.
 */
export const FENCED_MS_MAX = 30_000;

/**
 * `n`, `m`, `c` count the tenant's, the mail keys' and the conditional requests of window `win`; `k` holds each key's
 * TAT. `via` has two numbers for each kind of request that the last update charged: how many the limits admitted, and
 * how many beyond those the window of conditional requests.
 */
const GuardRecord = Type.Object({
  _id: Type.String(),
  at: Type.Number(),
  win: Type.Integer(),
  n: Type.Integer(),
  m: Type.Integer(),
  c: Type.Integer(),
  k: Json(),
  epoch: Type.Integer(),
  via: Type.Array(Type.Number()),
});
type GuardRecord = Static<typeof GuardRecord>;

const guards = collection('guards', GuardRecord, []);

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

const READ_FIELDS = { at: 1, win: 1, n: 1, m: 1, c: 1, epoch: 1, via: 1 } as const;

const projectionFor = (keyIds: readonly string[]) => ({
  ...READ_FIELDS,
  ...Object.fromEntries(keyIds.map((id) => [`k.${id}`, 1])),
});

const windowEnd = (orgId: string, win: number): number => (win + 1) * WINDOW_MS + phaseOf(orgId);

const tatOf = ({ k }: GuardRecord, keyId: string | undefined): number => {
  const tat = keyId ? k?.[keyId] : 0;
  return typeof tat === 'number' ? tat : 0;
};

const readingOf = (record: GuardRecord, keyId: string | undefined): Omit<Reading, 'outcome'> => ({
  atMs: record.at,
  win: record.win,
  windowEndsAtMs: windowEnd(record._id, record.win),
  tenant: record.n,
  mail: record.m,
  conditional: record.c,
  tatMs: tatOf(record, keyId),
  epoch: record.epoch,
});

/** What the charges of a kind found, in their order. `left` is how things stood behind all of them. */
function readingsOf({ charge, count }: Alike, left: Omit<Reading, 'outcome'>, [taken, polls]: [number, number]) {
  const interval = charge.key ? emissionInterval(charge.key.tier) : 0;
  return Array.from({ length: count }, (_unused, index): Reading => {
    const nth = index + 1;
    const later = Math.max(0, taken - nth);
    const polled = Math.min(polls, Math.max(0, nth - taken));
    return {
      ...left,
      [charge.window]: left[charge.window] - later,
      tatMs: left.tatMs - later * interval,
      conditional: left.conditional - polls + polled,
      outcome: nth <= taken ? 'charged' : nth <= taken + polls ? 'conditional' : 'refused',
    };
  });
}

/** What every charge found, by kind: the store tells how things stand at the end, from which it is counted back. */
function allReadings(record: GuardRecord, kinds: readonly Alike[]): Reading[][] {
  const behind = { ...record, k: { ...(record.k as Record<string, number>) } };
  const found = kinds.toReversed().map((alike, index) => {
    const at = 2 * (kinds.length - 1 - index);
    const [taken = 0, polls = 0] = record.via.slice(at, at + 2);
    const { window, key } = alike.charge;
    const readings = readingsOf(alike, readingOf(behind, key?.id), [taken, polls]);
    if (window === 'mail') behind.m -= taken;
    else behind.n -= taken;
    behind.c -= polls;
    if (key) behind.k[key.id] = tatOf(behind, key.id) - taken * emissionInterval(key.tier);
    return readings;
  });
  return found.toReversed();
}

/** Creates the tenant's guard document when it is missing; findOneAndUpdate with upsert would race on this store. */
export async function ensureGuard(store: Store, orgId: string): Promise<void> {
  const empty = { at: 0, win: 0, n: 0, m: 0, c: 0, k: {}, epoch: 1, via: [] };
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

/**
 * Charges requests of one tenant in one store operation, each to both limits or to neither, in their order as far as
 * they are alike. The reply carries the epoch of the moment.
 */
export async function takeAllFromGuard(
  store: Store,
  orgId: string,
  charges: readonly Charge[],
  options: { back?: Refund | null; nowMs?: number | null } = {},
): Promise<Reading[]> {
  const { kinds, places } = sorted(charges);
  const stages = chargingStages(orgId, kinds, options);
  const keyIds = kinds.flatMap(({ charge }) => charge.key?.id ?? []);
  // Every request comes by here, so the driver is asked directly: Mongoose would walk the whole pipeline each time.
  const take = () =>
    guards.in(store).collection.findOneAndUpdate({ _id: orgId } as never, stages, {
      returnDocument: 'after',
      projection: projectionFor(keyIds),
      maxTimeMS: STORE_TIMEOUT_MS,
    }) as unknown as Promise<GuardRecord | null>;
  for (let attempt = 1; attempt <= TAKE_ATTEMPTS; attempt += 1) {
    const record = await take().catch(noneYet);
    if (record) {
      const readings = allReadings(record, kinds);
      return places.map(({ kind, nth }) => readings[kind]?.[nth - 1] as Reading);
    }
    await ensureGuard(store, orgId);
  }
  throw new Error(`The guard document of ${orgId} cannot be created`);
}

/** Charges one request. */
export const takeFromGuard = async (
  store: Store,
  charge: Charge,
  options?: Parameters<typeof takeAllFromGuard>[3],
): Promise<Reading> => (await takeAllFromGuard(store, charge.orgId, [charge], options))[0] as Reading;

/** Reads the guard without charging: live headers of unmetered operations, and the epoch of the moment. */
export async function readGuard(
  store: Store,
  orgId: string,
  options: { keyId?: string | undefined; nowMs: number },
): Promise<Reading> {
  for (let attempt = 1; attempt <= TAKE_ATTEMPTS; attempt += 1) {
    const keyIds = options.keyId ? [options.keyId] : [];
    const record = await guards.in(store).findById(orgId, projectionFor(keyIds)).lean<GuardRecord>();
    if (record) return asOfNow({ ...readingOf(record, options.keyId), outcome: 'charged' }, orgId, options.nowMs);
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

async function raise(store: Store, orgId: string): Promise<void> {
  const raiseOnce = () => guards.in(store).updateOne({ _id: orgId }, { $inc: { epoch: 1 } });
  const { matchedCount } = await raiseOnce();
  if (matchedCount > 0) return;
  await ensureGuard(store, orgId);
  await raiseOnce();
}

/** Raises the epoch as soon as that can be: what failed may have been done all the same, by a store that could not say so. */
export const raiseLater = (store: Store, orgId: string): void => void insist(() => raise(store, orgId));

/**
 * Ends the validity of every cached credential of the tenant, on every process. Called after each change of a key,
 * session, role or tenant and before the change is answered; the change stands, so what fails now is done later.
 */
export async function raiseEpoch(store: Store, orgId: string): Promise<void> {
  await raise(store, orgId).catch((error: unknown) => {
    raiseLater(store, orgId);
    throw error;
  });
}

/** Makes a change and raises the epoch before its result is known to anybody, so that it holds everywhere. */
export async function fenced<Result>(store: Store, orgId: string, change: () => Promise<Result>): Promise<Result> {
  const result = await change().catch((error: unknown) => {
    raiseLater(store, orgId);
    throw error;
  });
  await raiseEpoch(store, orgId);
  return result;
}
