/** What one update of a tenant's guard does: begin the window of the moment, give charges back, take charges. */
import type { Tier } from '../contracts/principal';
import { CONDITIONAL_FACTOR, emissionInterval, phaseOf, TIER_RATES, WINDOW_MS } from '../domain/rate-limit';

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

/** Charges that are alike in everything: only how many of them fit is to be found out. */
export interface Alike {
  charge: Charge;
  count: number;
}

type Expression = unknown;
export type Stage = Record<string, unknown>;

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
        via: [],
      },
    },
  ];
}

/** Gives back what 304 and 503 replies were charged. */
export function refunded(back: Refund | null): Stage[] {
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

/**
 * When the key's bucket is full again. Nothing a bucket is charged takes it further ahead than its whole depth: what is,
 * was charged by a clock that has been corrected since, and would lock the key out for as long as that ran ahead. A
 * window of grace, as in `rolled`: a statement that waited, with its older time, must find the bucket as it was left.
 */
function arrivalOf({ id, tier }: { id: string; tier: Tier }): Expression {
  const kept = { $ifNull: [`$k.${id}`, 0] };
  const depth = TIER_RATES[tier].burst * emissionInterval(tier);
  return { $cond: [{ $gt: [kept, { $add: ['$at', depth + WINDOW_MS] }] }, { $add: ['$at', depth] }, kept] };
}

/**
 * Charges the window and the key's bucket, together or not at all, as often as both have room; polls beyond that are
 * charged to their own window. `via` keeps both numbers.
 */
function charged({ charge, count }: Alike): Stage[] {
  const { key, limit } = charge;
  const counter = COUNTER[charge.window];
  const room: Expression[] = [count, { $subtract: [limit, `$${counter}`] }];
  const spent: Record<string, Expression> = {};
  if (key) {
    const interval = emissionInterval(key.tier);
    const arrival = arrivalOf(key);
    const behind = { $max: [0, { $subtract: [arrival, '$at'] }] };
    const left = { $subtract: [TIER_RATES[key.tier].burst * interval, behind] };
    room.push({ $floor: { $divide: [left, interval] } });
    const after = { $add: [{ $max: [arrival, '$at'] }, { $multiply: ['$taken', interval] }] };
    spent[`k.${key.id}`] = { $cond: [{ $gt: ['$taken', 0] }, after, arrival] };
  }
  const pollsLeft = { $subtract: [limit * CONDITIONAL_FACTOR, '$c'] };
  const polls = charge.conditional
    ? { $max: [0, { $min: [{ $subtract: [count, '$taken'] }, pollsLeft] }] }
    : { $literal: 0 };
  return [
    { $set: { taken: { $max: [0, { $min: room }] } } },
    {
      $set: {
        [counter]: { $add: [`$${counter}`, '$taken'] },
        c: { $add: ['$c', polls] },
        via: { $concatArrays: ['$via', ['$taken', polls]] },
        ...spent,
      },
    },
  ];
}

/** The update that charges a tenant; `nowMs` stands for the store's clock in tests. */
export const chargingStages = (
  orgId: string,
  kinds: readonly Alike[],
  { back = null, nowMs = null }: { back?: Refund | null; nowMs?: number | null },
): Stage[] => [...rolled(orgId, nowMs), ...refunded(back), ...kinds.flatMap(charged), { $unset: ['cur', 'taken'] }];

const sameness = ({ window, limit, key, conditional }: Charge): string =>
  JSON.stringify([window, limit, key?.id, key?.tier, conditional]);

/** The charges by kind, and which of them each one is: the kind's place and its own number among them, from 1. */
export function sorted(charges: readonly Charge[]): { kinds: Alike[]; places: { kind: number; nth: number }[] } {
  const kinds: Alike[] = [];
  const known = new Map<string, number>();
  const places = charges.map((charge) => {
    const name = sameness(charge);
    const kind = known.get(name) ?? kinds.push({ charge, count: 0 }) - 1;
    known.set(name, kind);
    const alike = kinds[kind] as Alike;
    alike.count += 1;
    return { kind, nth: alike.count };
  });
  return { kinds, places };
}
