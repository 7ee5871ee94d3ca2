/** The limits against a bookkeeper who writes down every moment: both limits are charged, or neither. */
import { array, assert, asyncProperty, constantFrom, integer, record as shape } from 'fast-check';
import { emissionInterval, phaseOf, TIER_RATES, WINDOW_MS } from '../../../src/domain/rate-limit';
import { takeFromGuard } from '../../../src/store/guards';
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
  /** So many requests, one after the other. */
  requests: number;
  afterMs: number;
  /** The last charge of the step is given back with the next request: the answer was 304. */
  isRefunded: boolean;
}

const step = shape({
  // Mostly one key, which is asked for more than it has: what a refusal leaves behind shows in what comes after.
  key: constantFrom(0, 0, 0, 1, 2),
  requests: constantFrom(1, 3, 60, 130),
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
  let back: Parameters<typeof takeFromGuard>[2] = {};
  for (const { key: place, requests, afterMs, isRefunded } of steps) {
    nowMs += afterMs;
    const key = KEYS[place] ?? null;
    const charge = { orgId, window: 'tenant', limit, conditional: false } as const;
    for (let request = 0; request < requests; request += 1) {
      const bucket = key === null ? null : ({ id: key, tier: 'standard' } as const);
      const reading = await takeFromGuard(store, { ...charge, key: bucket }, { ...back, nowMs });
      const isAdmitted = keeper.admits(nowMs, key);
      expect({ step: request, outcome: reading.outcome }).toEqual({
        step: request,
        outcome: isAdmitted ? 'charged' : 'refused',
      });
      back = {};
      // Refusals go on being asked for: they must cost nothing.
      if (!isAdmitted) continue;
      keeper.note(nowMs, key);
      if (!isRefunded || request < requests - 1) continue;
      keeper.forgetLast();
      back = { back: { win: reading.win, tenant: 1, mail: 0, keys: key === null ? {} : { [key]: INTERVAL_MS } } };
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
