/** The limits against a bookkeeper who writes down every moment: both limits are charged, or neither. */
import { array, assert, asyncProperty, constantFrom, integer, record as shape } from 'fast-check';
import { emissionInterval, phaseOf, TIER_RATES, WINDOW_MS } from '../../../src/domain/rate-limit';
import { takeAllFromGuard, takeFromGuard, type Charge, type Reading } from '../../../src/store/guards';
import { newTenant, openTestStore, type TestStore } from '../auth/support';
import { PROPERTY_TIMEOUT_MS, served } from '../../support/properties';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

const KEYS = ['key_a', 'key_b'];
const STANDARD = TIER_RATES.standard;
const INTERVAL_MS = emissionInterval('standard');

interface Step {
  /** Which key; beyond them a session, which has no bucket. */
  key: number;
  /** So many requests, in order. */
  requests: number;
  /** So many of them are charged together. */
  together: number;
  afterMs: number;
  /** The last charge of the step is given back with the next request: the answer was 304. */
  isRefunded: boolean;
}

const step = shape({
  // Mostly one key, which is asked for more than it has: what a refusal leaves behind shows in what comes after.
  key: constantFrom(0, 0, 0, 1, 2),
  requests: constantFrom(1, 3, 60, 130),
  together: constantFrom(1, 1, 2, 7, 100),
  afterMs: constantFrom(0, 1, INTERVAL_MS - 1, INTERVAL_MS, 15_000, WINDOW_MS, WINDOW_MS),
  isRefunded: constantFrom(false, false, true),
});

/** Keeps all that was admitted; asks each time whether one more would still be within both limits. */
class Bookkeeper {
  private readonly admitted: { atMs: number; key: string | null }[] = [];
  private readonly phase: number;
  private readonly limit: number;

  constructor(orgId: string, limit: number) {
    this.phase = phaseOf(orgId);
    this.limit = limit;
  }

  private windowOf(atMs: number): number {
    return Math.floor((atMs - this.phase) / WINDOW_MS);
  }

  /** A bucket of `burst` that regains one request per interval, emptied by everything in the order it came. */
  private level(key: string, nowMs: number): number {
    let level: number = STANDARD.burst;
    let lastMs = 0;
    for (const { atMs } of this.admitted.filter((one) => one.key === key)) {
      level = Math.min(STANDARD.burst, level + (atMs - lastMs) / INTERVAL_MS) - 1;
      lastMs = atMs;
    }
    return Math.min(STANDARD.burst, level + (nowMs - lastMs) / INTERVAL_MS);
  }

  admits(nowMs: number, key: string | null): boolean {
    const spent = this.admitted.filter(({ atMs }) => this.windowOf(atMs) === this.windowOf(nowMs)).length;
    return spent < this.limit && (key === null || this.level(key, nowMs) >= 1);
  }

  note(atMs: number, key: string | null): void {
    this.admitted.push({ atMs, key });
  }

  forgetLast(): void {
    this.admitted.pop();
  }
}

async function play(limit: number, steps: Step[]): Promise<void> {
  const orgId = await newTenant(store);
  const keeper = new Bookkeeper(orgId, limit);
  let nowMs = Math.floor(Date.now() / WINDOW_MS) * WINDOW_MS + phaseOf(orgId);
  let back: Parameters<typeof takeAllFromGuard>[3] = {};
  const chargeOf = (key: string | null): Charge => {
    const bucket = key === null ? null : ({ id: key, tier: 'standard' } as const);
    return { orgId, window: 'tenant', limit, conditional: false, key: bucket };
  };
  for (const { key: place, requests, together, afterMs, isRefunded } of steps) {
    nowMs += afterMs;
    const key = KEYS[place] ?? null;
    for (let first = 0; first < requests; first += together) {
      const charges = Array.from({ length: Math.min(together, requests - first) }, () => chargeOf(key));
      const readings = await takeAllFromGuard(store, orgId, charges, { ...back, nowMs });
      back = {};
      for (const [index, { outcome, win }] of readings.entries()) {
        const request = first + index;
        const isAdmitted = keeper.admits(nowMs, key);
        expect({ request, outcome }).toEqual({ request, outcome: isAdmitted ? 'charged' : 'refused' });
        // Refusals go on being asked for: they must cost nothing.
        if (!isAdmitted) continue;
        keeper.note(nowMs, key);
        if (!isRefunded || request < requests - 1) continue;
        keeper.forgetLast();
        back = { back: { win, tenant: 1, mail: 0, keys: key === null ? {} : { [key]: INTERVAL_MS } } };
      }
    }
  }
}

test(
  'every request is admitted exactly when both limits have room, and what is given back is room again',
  async () => {
    await assert(
      asyncProperty(
        integer({ min: 1, max: 160 }),
        array(step, { minLength: 3, maxLength: 8, size: 'max' }),
        (limit, steps) => play(limit, steps),
      ),
      served<[number, Step[]]>(8, 0.05),
    );
  },
  PROPERTY_TIMEOUT_MS,
);

const KINDS = [
  { window: 'tenant', key: { id: 'key_a', tier: 'standard' }, conditional: false },
  { window: 'tenant', key: { id: 'key_a', tier: 'standard' }, conditional: true },
  { window: 'tenant', key: { id: 'key_b', tier: 'professional' }, conditional: false },
  { window: 'tenant', key: null, conditional: true },
  { window: 'mail', key: null, conditional: false },
] as const satisfies Partial<Charge>[];

interface Volley {
  /** How many requests of each kind. */
  counts: number[];
  afterMs: number;
}

const volley = shape({
  counts: array(constantFrom(0, 0, 1, 2, 5, 40), { minLength: KINDS.length, maxLength: KINDS.length }),
  afterMs: constantFrom(0, 0, 1, INTERVAL_MS, WINDOW_MS),
});

/** A reading as a client sees it, counted from the beginning of its tenant's window. A bucket that is full says nothing. */
const seen = ({ atMs, tatMs, windowEndsAtMs, win: _win, epoch: _epoch, ...counted }: Reading, orgId: string) => ({
  ...counted,
  at: atMs - phaseOf(orgId),
  behind: Math.max(0, tatMs - atMs),
  ends: windowEndsAtMs - phaseOf(orgId),
});

test(
  'charged together, requests of several kinds find what they would have found one after another',
  async () => {
    const compare = async (limit: number, volleys: Volley[]): Promise<void> => {
      const [one, other] = [await newTenant(store), await newTenant(store)];
      // Each in a window of its own, the second one's at the same place of it.
      let sinceMs = Math.floor(Date.now() / WINDOW_MS) * WINDOW_MS;
      for (const { counts, afterMs } of volleys) {
        sinceMs += afterMs;
        const wanted = counts.flatMap((count, kind) => Array.from({ length: count }, () => KINDS[kind] ?? KINDS[0]));
        if (wanted.length === 0) continue;
        const apart: Reading[] = [];
        for (const kind of wanted) {
          const nowMs = sinceMs + phaseOf(one);
          apart.push(await takeFromGuard(store, { ...kind, orgId: one, limit }, { nowMs }));
        }
        const charges = wanted.map((kind) => ({ ...kind, orgId: other, limit }));
        const joined = await takeAllFromGuard(store, other, charges, { nowMs: sinceMs + phaseOf(other) });
        expect(joined.map((reading) => seen(reading, other))).toEqual(apart.map((reading) => seen(reading, one)));
      }
    };
    await assert(
      asyncProperty(integer({ min: 1, max: 60 }), array(volley, { minLength: 2, maxLength: 5 }), compare),
      served<[number, Volley[]]>(8, 0.05),
    );
  },
  PROPERTY_TIMEOUT_MS,
);
