/**
 * Charges requests to the tenant's guard: at most one store operation each, one for all that wait together, and none while
 * a refusal is still certain.
 */
import type { Context } from '../context';
import { systemClock } from '../clock';
import { together } from '../domain/together';
import {
  bucketState,
  CONDITIONAL_FACTOR,
  emissionInterval,
  refusing,
  windowState,
  type PolicyState,
} from '../domain/rate-limit';
import {
  fitsRefund,
  readGuard,
  refundGuard,
  takeAllFromGuard,
  type Charge,
  type Reading,
  type Refund,
} from '../store/guards';

/** A refusal is repeated without asking the store for at most this long, so that a loop costs one operation a second. */
const REFUSAL_REMEMBERED_MS = 1_000;
const REFUSALS_MAX = 10_000;
/** Each kind of charge makes the operation longer, and most of what waits together is of a few kinds. */
const ROUND = { max: 100, patienceMs: 250 };
/** A charge that is to be given back waits this long for a request that can carry it. */
const REFUND_DELAY_MS = 25;

export interface Meter {
  /** Charges a request, or answers a refusal that is certain without asking; `anew` asks in any case. */
  take(charge: Charge, options?: { anew: boolean }): Promise<{ reading: Reading; isRemembered: boolean }>;
  /** True while a refusal is certain without asking. */
  isRefusing(charge: Charge): boolean;
  /** The guard without a charge. */
  read(charge: Charge): Promise<Reading>;
  /** Gives a charge back. */
  giveBack(charge: Charge, reading: Reading): void;
  /** Stores all charges that still wait to be given back. */
  flush(): Promise<void>;
}

/** All policies of a charge as the reading left them; the ones that refused are marked. */
export function policyStates(charge: Charge, reading: Reading): PolicyState[] {
  const { atMs, outcome, windowEndsAtMs: endsAtMs } = reading;
  const hasRoom = outcome === 'charged';
  const window = windowState(charge.window, { limit: charge.limit, used: reading[charge.window], endsAtMs }, atMs);
  const states = [!hasRoom && window.remaining === 0 ? refusing(window) : window];
  if (charge.key) {
    const bucket = bucketState(charge.key.tier, reading.tatMs, atMs);
    states.unshift(!hasRoom && bucket.remaining === 0 ? refusing(bucket) : bucket);
  }
  if (charge.conditional && !hasRoom) {
    const limit = charge.limit * CONDITIONAL_FACTOR;
    const polls = windowState('conditional', { limit, used: reading.conditional, endsAtMs }, atMs);
    states.push(outcome === 'refused' ? refusing(polls) : polls);
  }
  return states;
}

/** The reading as it was before its charge: what the headers of an uncharged reply show. */
export function withoutCharge(charge: Charge, reading: Reading): Reading {
  const tatMs = charge.key ? reading.tatMs - emissionInterval(charge.key.tier) : reading.tatMs;
  return { ...reading, tatMs, [charge.window]: Math.max(0, reading[charge.window] - 1) };
}

interface Refusal {
  reading: Reading;
  rememberedAtMs: number;
  untilMs: number;
}

/** Remembers what each key was refused; callers without one share the window's refusal. */
function createRefusals() {
  const windows = new Map<string, Map<string, Refusal>>();
  const windowOf = (charge: Charge): string => `${charge.orgId} ${charge.window}`;
  const callerOf = ({ key }: Charge): string => key?.id ?? '';
  return {
    find(charge: Charge, nowMs: number): Reading | null {
      const refused = windows.get(windowOf(charge));
      const found = refused?.get(callerOf(charge));
      if (!found) return null;
      // Before it was remembered: the process's clock was set back, and the rest would last as long as the step.
      const isCertain = found.rememberedAtMs <= nowMs && nowMs < found.untilMs;
      if (isCertain) return { ...found.reading, atMs: found.reading.atMs + nowMs - found.rememberedAtMs };
      refused?.delete(callerOf(charge));
      return null;
    },
    remember(charge: Charge, reading: Reading, nowMs: number): void {
      // Until the first of the limits renews: from then on the others alone refuse, or none does.
      const retries = policyStates(charge, reading).flatMap(({ retryInMs }) => retryInMs ?? []);
      if (retries.length === 0) return;
      const untilMs = nowMs + Math.min(REFUSAL_REMEMBERED_MS, ...retries);
      if (windows.size >= REFUSALS_MAX) windows.clear();
      const refused = windows.get(windowOf(charge)) ?? new Map<string, Refusal>();
      windows.set(windowOf(charge), refused);
      refused.set(callerOf(charge), { reading, rememberedAtMs: nowMs, untilMs });
    },
    /** Room for one caller may be room for all. */
    forget(charge: Charge): void {
      windows.delete(windowOf(charge));
    },
  };
}

/** Adds a charge to those that wait to be given back; window counts of an ended window, on either side, are worth nothing. */
function addRefund(waiting: Refund | undefined, charge: Charge, win: number): Refund {
  const base: Refund =
    waiting && waiting.win >= win ? waiting : { win, tenant: 0, mail: 0, keys: waiting ? waiting.keys : {} };
  const keys = { ...base.keys };
  if (charge.key && fitsRefund(base, charge.key.id)) {
    keys[charge.key.id] = (keys[charge.key.id] ?? 0) + emissionInterval(charge.key.tier);
  }
  return win < base.win ? { ...base, keys } : { ...base, [charge.window]: base[charge.window] + 1, keys };
}

/** Builds the meter of this process. */
export function createMeter(context: Context): Meter {
  const { store, clock, log } = context;
  const refusals = createRefusals();
  const refunds = new Map<string, Refund>();
  const timers = new Map<string, NodeJS.Timeout>();
  const processNow = () => clock.now().getTime();
  const guardNow = () => (clock === systemClock ? null : processNow());

  function collect(orgId: string): Refund | null {
    const back = refunds.get(orgId) ?? null;
    refunds.delete(orgId);
    clearTimeout(timers.get(orgId));
    timers.delete(orgId);
    return back;
  }

  // A busy tenant's requests all change one document, where the store would let them through one after another.
  const takeSoon = together(ROUND, (orgId, charges: Charge[]) =>
    takeAllFromGuard(store, orgId, charges, { back: collect(orgId), nowMs: guardNow() }),
  );

  async function giveBackNow(orgId: string): Promise<void> {
    const back = collect(orgId);
    if (!back) return;
    await refundGuard(store, orgId, back).catch((error: unknown) => log.warn('refund lost', { org: orgId, error }));
  }

  // A poll with If-None-Match has a window of its own, which only the store knows.
  const refusalOf = (charge: Charge): Reading | null =>
    charge.conditional ? null : refusals.find(charge, processNow());

  return {
    isRefusing: (charge) => refusalOf(charge) !== null,
    async take(charge, options) {
      const remembered = options?.anew ? null : refusalOf(charge);
      if (remembered) return { reading: remembered, isRemembered: true };
      const reading = await takeSoon(charge.orgId, charge);
      if (reading.outcome === 'refused') refusals.remember(charge, reading, processNow());
      if (reading.outcome === 'charged') refusals.forget(charge);
      return { reading, isRemembered: false };
    },
    async read(charge) {
      const reading = await readGuard(store, charge.orgId, { keyId: charge.key?.id, nowMs: processNow() });
      return { ...reading, outcome: 'charged' };
    },
    giveBack(charge, reading) {
      if (reading.outcome !== 'charged') return;
      refunds.set(charge.orgId, addRefund(refunds.get(charge.orgId), charge, reading.win));
      refusals.forget(charge);
      if (!timers.has(charge.orgId)) {
        timers.set(charge.orgId, setTimeout(() => void giveBackNow(charge.orgId), REFUND_DELAY_MS).unref());
      }
    },
    async flush() {
      await Promise.all([...refunds.keys()].map(giveBackNow));
    },
  };
}
