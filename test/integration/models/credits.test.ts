/** A month's account in any order of reservations, settlements and releases, each repeated as crashes repeat them. */
import { array, assert, asyncProperty, constantFrom, integer, nat, record as shape } from 'fast-check';
import { newId } from '../../../src/domain/ids';
import {
  ensureMonth,
  forgetSettled,
  readMonth,
  release,
  reserve,
  settle,
  staleReservations,
  type Reservation,
} from '../../../src/store/credits';
import { openTestStore, type TestStore } from '../auth/support';
import { PROPERTY_TIMEOUT_MS, served } from '../../support/properties';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

const MONTH = '2026-11';
const START_MS = Date.parse('2026-11-20T22:40:00.000Z');
const STEP_MS = 10_000;
const CALLS = 5;
const HELD_MAX = 20;
const OVERRUN_MAX = 10;

interface Step {
  do: 'reserve' | 'settle' | 'release' | 'open' | 'forget';
  call: number;
  amount: number;
}

const step = shape({
  do: constantFrom<Step['do']>(
    'reserve',
    'reserve',
    'reserve',
    'settle',
    'settle',
    'release',
    'open',
    'forget',
    'forget',
  ),
  call: nat({ max: CALLS - 1 }),
  amount: integer({ min: 0, max: HELD_MAX + OVERRUN_MAX }),
});

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

/** The same account, kept by hand. */
class Account {
  private readonly orgId = newId('org');
  private readonly held = new Map<number, number>();
  private readonly used = new Map<number, number>();
  /** When each call began, whichever attempt of it asks. */
  private readonly begun = new Map<number, Date>();
  private readonly doneAt = new Map<number, Date>();
  private readonly forgotten = new Set<number>();
  private forgottenTo = new Date(0);
  private now = new Date(START_MS);
  private readonly allocation: number;
  private readonly amounts: number[];

  constructor(allocation: number, amounts: number[]) {
    this.allocation = allocation;
    this.amounts = amounts;
  }

  open(allocation = this.allocation): Promise<void> {
    return ensureMonth(store, { orgId: this.orgId, month: MONTH, allocation }, this.now);
  }

  private callOf(call: number): Reservation {
    return {
      orgId: this.orgId,
      month: MONTH,
      id: `exec:${call}`,
      agentId: `agt_${call % 2}`,
      tier: call % 3 === 0 ? 'quick' : 'expert',
      credits: this.amounts[call] ?? 1,
    };
  }

  private available(): number {
    return this.allocation - sum([...this.held.values()]) - sum([...this.used.values()]);
  }

  private replyTo(call: number, begun: Date): string {
    if (this.held.has(call) || (this.used.has(call) && !this.forgotten.has(call))) return 'already';
    if (this.forgottenTo >= begun) return 'late';
    // Whoever has settled once must not hold again, remembered or not.
    if (this.used.has(call)) throw new Error('forgotten too early');
    return this.available() >= this.callOf(call).credits ? 'reserved' : 'insufficient';
  }

  private async reserve(call: number): Promise<void> {
    const wanted = this.callOf(call);
    const begun = this.begun.get(call) ?? this.now;
    this.begun.set(call, begun);
    const expected = this.replyTo(call, begun);
    expect(await reserve(store, wanted, { begun, now: this.now })).toBe(expected);
    if (expected === 'reserved') this.held.set(call, wanted.credits);
  }

  private async end(call: number, used: number, isRelease: boolean): Promise<void> {
    const wanted = this.callOf(call);
    await (isRelease ? release(store, wanted, this.now) : settle(store, wanted, used, this.now));
    if (!this.held.delete(call)) return;
    this.used.set(call, used);
    this.doneAt.set(call, this.now);
  }

  /** Forgets what was settled before `ageMs`, as the sweep does. */
  private async forget(ageMs: number): Promise<void> {
    const before = new Date(this.now.getTime() - ageMs);
    const { dead } = await staleReservations(store, [MONTH], { held: new Date(0), settled: before });
    const mine = dead.filter(({ account }) => account.startsWith(`${this.orgId}:`));
    for (const calls of mine) await forgetSettled(store, calls, before);
    const gone = [...this.doneAt].filter(([call, at]) => at < before && !this.forgotten.has(call));
    expect(mine.flatMap(({ ids }) => ids).toSorted()).toEqual(gone.map(([call]) => this.callOf(call).id).toSorted());
    for (const [call] of gone) this.forgotten.add(call);
    if (gone.length > 0 && before > this.forgottenTo) this.forgottenTo = before;
  }

  perform({ do: what, call, amount }: Step): Promise<void> {
    this.now = new Date(this.now.getTime() + STEP_MS);
    if (what === 'forget') return this.forget(amount * 1_000);
    // Who comes late finds the month open, whatever allocation it has in mind.
    if (what === 'open') return this.open(this.allocation + 1);
    if (what === 'reserve') return this.reserve(call);
    const isRelease = what === 'release';
    return this.end(call, isRelease ? 0 : Math.min(amount, this.callOf(call).credits + OVERRUN_MAX), isRelease);
  }

  async expectSums(): Promise<void> {
    const account = await readMonth(store, this.orgId, MONTH);
    if (!account) throw new Error('the month was opened');
    const used = sum([...this.used.values()]);
    expect({
      allocation: account.allocation,
      available: account.available,
      total: account.total_used,
      agents: sum(Object.values(account.by_agent)),
      models: sum(Object.values(account.by_model)),
    }).toEqual({ allocation: this.allocation, available: this.available(), total: used, agents: used, models: used });
    // Only what calls used beyond what they held can take the account above its allocation.
    const overrun = sum([...this.used].map(([call, spent]) => Math.max(0, spent - this.callOf(call).credits)));
    expect(used).toBeLessThanOrEqual(this.allocation + overrun);
  }
}

async function play(allocation: number, amounts: number[], steps: Step[]): Promise<void> {
  const account = new Account(allocation, amounts);
  await account.open();
  for (const one of steps) await account.perform(one);
  await account.expectSums();
}

test(
  'total = agents = models, and what is available is what nobody holds or used',
  async () => {
    await assert(
      asyncProperty(
        integer({ min: 0, max: 60 }),
        array(integer({ min: 1, max: HELD_MAX }), { minLength: CALLS, maxLength: CALLS }),
        array(step, { maxLength: 20, size: 'max' }),
        play,
      ),
      served<[number, number[], Step[]]>(60, 0.2),
    );
  },
  PROPERTY_TIMEOUT_MS,
);
