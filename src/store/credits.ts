/**
 * Credits: one document per org and month. A call is reserved before the model is asked and settled by what it used,
 * each a guarded update that a repeat finds done. Never above the allocation by more than one call's overrun.
 */
import type { ModelTier } from '../contracts/step';
import { Json, Type, type Static } from '../contracts/schema';
import { madePer } from '../domain/memoised';
import { collection, Instant, isDuplicate, type Store } from './collection';
import { groupCommit } from './group-commit';
import { updateEach } from './update-each';

interface Open {
  n: number;
  agent: string;
  tier: ModelTier;
  at: Date;
}
/** What is left of a settled reservation for a while, so that a late duplicate cannot open it again. */
interface Tombstone {
  done: Date;
}

export const CreditMonth = Type.Object({
  _id: Type.String(),
  org_id: Type.String(),
  month: Type.String(),
  allocation: Type.Integer(),
  available: Type.Integer(),
  total_used: Type.Integer(),
  by_agent: Type.Unsafe<Record<string, number>>(Json()),
  by_model: Type.Unsafe<Record<string, number>>(Json()),
  open: Type.Unsafe<Record<string, Open | Tombstone>>(Json()),
  /** Tombstones up to here are forgotten: a call that began before it and holds nothing may have been settled. */
  forgotten_to: Type.Optional(Instant()),
  /** The highest percentage of the allocation that the org was told of. */
  told: Type.Optional(Type.Integer()),
  updated_at: Instant(),
});
export type CreditMonth = Static<typeof CreditMonth>;

export const credits = collection('credits', CreditMonth, [{ name: 'month', keys: { month: 1 } }]);

const monthId = (orgId: string, month: string): string => `${orgId}:${month}`;

/** Opens the month's account if it is not open yet. */
export async function ensureMonth(
  store: Store,
  org: { orgId: string; month: string; allocation: number },
  now: Date,
): Promise<void> {
  try {
    await credits.in(store).collection.insertOne({
      _id: monthId(org.orgId, org.month),
      org_id: org.orgId,
      month: org.month,
      allocation: org.allocation,
      available: org.allocation,
      total_used: 0,
      by_agent: {},
      by_model: {},
      open: {},
      updated_at: now,
    } as never);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
  }
}

export const readMonth = (store: Store, orgId: string, month: string): Promise<CreditMonth | null> =>
  credits.in(store).findById(monthId(orgId, month)).lean<CreditMonth>().exec();

export const readMonths = (store: Store, orgId: string, months: string[]): Promise<CreditMonth[]> =>
  credits
    .in(store)
    .find({ _id: { $in: months.map((month) => monthId(orgId, month)) } }, { open: 0 })
    .lean<CreditMonth[]>()
    .exec();

/** What an org has used of a month. */
export type UsedAccount = Pick<
  CreditMonth,
  '_id' | 'org_id' | 'month' | 'allocation' | 'total_used' | 'told' | 'updated_at'
>;

/** The accounts of a month that were used. */
export const usedAccounts = (store: Store, month: string): Promise<UsedAccount[]> =>
  credits
    .in(store)
    .find({ month, total_used: { $gt: 0 } }, { open: 0, by_agent: 0, by_model: 0 })
    .lean<UsedAccount[]>()
    .exec();

/** Notes that an org was told of a percentage. */
export const markTold = async (store: Store, { _id }: Pick<UsedAccount, '_id'>, percent: number): Promise<void> => {
  await credits.in(store).collection.updateOne({ _id } as never, { $max: { told: percent } });
};

export interface Reservation {
  orgId: string;
  /** The month it was made in; a call that runs past midnight settles there. */
  month: string;
  /** Names the call: `<execution>:<path>`. May not hold a dot. */
  id: string;
  agentId: string;
  tier: ModelTier;
  credits: number;
}

interface Change {
  filter: { _id: string } & Record<string, unknown>;
  update: Record<string, unknown>;
}

/** Answers whether there was an account that the change fitted. */
async function change(store: Store, { filter, update }: Change): Promise<boolean> {
  const { matchedCount } = await credits.in(store).collection.updateOne(filter as never, update);
  return matchedCount > 0;
}

async function changeAll(store: Store, changes: readonly Change[]): Promise<(boolean | Promise<boolean>)[]> {
  const updates = changes.map((updateOne) => ({ updateOne }));
  // A repeat finds each of them made, so what did not fit or went wrong is found out one by one.
  const fitted = await updateEach(credits.in(store), updates).catch(() => 0);
  return changes.map((each) => fitted === changes.length || change(store, each));
}

const CHANGES_MAX = 100;

const changing = madePer((store: Store) =>
  groupCommit({
    max: CHANGES_MAX,
    alone: (each: Change) => change(store, each),
    all: (changes) => changeAll(store, changes),
  }),
);

/** `already`: this call holds or has settled them. `late`: it began so long ago that it may have settled them. */
export type Reserved = 'reserved' | 'already' | 'late' | 'insufficient' | 'no_month';

/** Holds credits for one call that began at `begun`, whichever attempt asks. */
export async function reserve(
  store: Store,
  reservation: Reservation,
  { begun, now }: { begun: Date; now: Date },
): Promise<Reserved> {
  const { orgId, month, id } = reservation;
  const field = `open.${id}`;
  const isHeld = await changing(store)({
    filter: {
      _id: monthId(orgId, month),
      available: { $gte: reservation.credits },
      [field]: { $exists: false },
      forgotten_to: { $not: { $gte: begun } },
    },
    update: {
      $inc: { available: -reservation.credits },
      $set: { [field]: { n: reservation.credits, agent: reservation.agentId, tier: reservation.tier, at: now } },
    },
  });
  if (isHeld) return 'reserved';
  const account = await readMonth(store, orgId, month);
  if (!account) return 'no_month';
  if (account.open[id]) return 'already';
  if (account.forgotten_to && account.forgotten_to >= begun) return 'late';
  // Since they were asked for, the account was opened or another call gave some back.
  return account.available >= reservation.credits ? reserve(store, reservation, { begun, now }) : 'insufficient';
}

/** Books what the call really used, 0 to release it. A repeat finds the tombstone and changes nothing. */
export async function settle(store: Store, reservation: Reservation, used: number, now: Date): Promise<void> {
  const { orgId, month, id, agentId, tier } = reservation;
  const field = `open.${id}`;
  await changing(store)({
    filter: { _id: monthId(orgId, month), [`${field}.n`]: { $exists: true } },
    update: {
      $inc: {
        available: reservation.credits - used,
        total_used: used,
        ...(used > 0 ? { [`by_agent.${agentId}`]: used, [`by_model.${tier}`]: used } : {}),
      },
      $set: { [field]: { done: now }, updated_at: now },
    },
  });
}

/** Gives a reservation back whole, whatever it holds; nothing to do when it was settled or never made. */
export async function release(store: Store, at: Pick<Reservation, 'orgId' | 'month' | 'id'>, now: Date): Promise<void> {
  const account = await readMonth(store, at.orgId, at.month);
  const held = account?.open[at.id];
  if (!held || 'done' in held) return;
  await settle(store, { ...at, agentId: held.agent, tier: held.tier, credits: held.n }, 0, now);
}

export interface OpenReservation {
  account: string;
  id: string;
  held: Open;
}

/** The settled calls of an account. */
export interface SettledCalls {
  account: string;
  ids: string[];
}

/** Reservations made before `held` in the given months, and tombstones of before `settled`. */
export async function staleReservations(
  store: Store,
  months: string[],
  before: { held: Date; settled: Date },
): Promise<{ live: OpenReservation[]; dead: SettledCalls[] }> {
  const live: OpenReservation[] = [];
  const dead: SettledCalls[] = [];
  const cursor = credits
    .in(store)
    .find({ month: { $in: months } }, { open: 1 })
    .lean<Pick<CreditMonth, '_id' | 'open'>[]>()
    .cursor();
  for await (const { _id: account, open } of cursor) {
    const ids: string[] = [];
    for (const [id, entry] of Object.entries(open)) {
      if ('done' in entry) {
        if (entry.done < before.settled) ids.push(id);
      } else if (entry.at < before.held) live.push({ account, id, held: entry });
    }
    if (ids.length > 0) dead.push({ account, ids });
  }
  return { live, dead };
}

/** Forgets calls that were settled before `before`; from then on, whoever began before that is told that it is late. */
export async function forgetSettled(store: Store, { account, ids }: SettledCalls, before: Date): Promise<void> {
  await credits.in(store).collection.updateOne({ _id: account } as never, {
    $unset: Object.fromEntries(ids.map((id) => [`open.${id}`, ''])),
    $max: { forgotten_to: before },
  });
}
