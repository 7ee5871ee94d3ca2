/** Credits are held before a model is asked, once per call however many attempts it takes, until its step is over. */
import type { StepInput } from '../src/contracts/messages';
import { ALLOCATION, creditsFor, monthOf, monthsBefore } from '../src/domain/credits';
import { ensureMonth, readMonth, reserve, settle, type Reservation } from '../src/store/credits';
import { chargeSpent } from '../src/store/ai-costs';
import { hasEnded, type ExecutionRecord } from '../src/store/executions';
import { readTenant } from '../src/store/tenants';
import { accountOf, bookingOf, spentOf, type Account } from './booking';
import type { Deps } from './deps';
import { passing, permanent } from './failures';
import { readRunning } from './record';

/** By how much the clocks of two workers may differ. */
const CLOCKS_APART_MS = 20_000;

const AWAITS_ANSWER: ReadonlySet<string | undefined> = new Set(['pending', 'running']);

/** True while the step's record knows of no answer and awaits one. Not every step is recorded when it begins. */
async function isUnanswered(
  deps: Pick<Deps, 'cache'>,
  { execution_id, slot }: Pick<StepInput, 'execution_id' | 'slot'>,
): Promise<boolean> {
  const record = await readRunning(deps, { execution_id, seq: -1 });
  const step = record.steps[slot];
  return !hasEnded(record.status) && AWAITS_ANSWER.has(step?.status) && !bookingOf(record, step);
}

/** Holds credits for a call that began at `begun`; fails when the org has too few, or another attempt has made the call. */
export async function holdCredits(
  deps: Pick<Deps, 'cache' | 'clock' | 'store'>,
  input: Pick<StepInput, 'execution_id' | 'slot'>,
  { reservation, begun }: { reservation: Reservation; begun: Date },
): Promise<void> {
  const { orgId, month } = reservation;
  const take = (since: Date) => reserve(deps.store, reservation, { begun: since, now: deps.clock.now() });
  let held = await take(begun);
  if (held === 'no_month') {
    const tenant = await readTenant(deps.store, orgId);
    const allocation = tenant?.creditAllocation ?? ALLOCATION[tenant?.tier ?? 'standard'];
    await ensureMonth(deps.store, { orgId, month, allocation }, deps.clock.now());
    held = await take(begun);
  }
  if (held === 'late') {
    // Before the record is read: what is settled from here on is not forgotten when the credits are asked for.
    const since = new Date(deps.clock.now().getTime() - CLOCKS_APART_MS);
    if (!(await isUnanswered(deps, input))) throw passing('superseded', 'Another attempt has made this call.');
    held = await take(since);
  }
  if (held === 'late') throw passing('superseded', 'The credits of this call could not be held in time.');
  if (held === 'insufficient') {
    throw permanent(
      'credit_insufficient',
      `The step needs about ${reservation.credits} of the org's credits, and fewer are left this month.`,
    );
  }
}

/** What a call without an answer has cost: what its attempts have spent, which is nothing for most. */
async function costOf(
  deps: Pick<Deps, 'store'>,
  record: ExecutionRecord,
  slot: number,
  account: Account,
): Promise<number> {
  const step = record.steps[slot];
  const booking = bookingOf(record, step);
  if (booking) return booking.used;
  const spent = spentOf(step);
  if (!spent) return 0;
  const used = creditsFor(account.tier, spent);
  const usage = { ...spent, wasted: true, ...accountOf(account) };
  await chargeSpent(deps.store, { id: record._id, slot }, { credits: used, usage });
  return used;
}

/**
 * Settles what AI steps that are over without an answer still hold, by what they cost. Only for steps that get no further
 * attempt: one that came later would be made for nothing.
 */
export async function giveBack(
  deps: Pick<Deps, 'clock' | 'store'>,
  record: ExecutionRecord,
  slots: readonly number[],
): Promise<void> {
  const calls = slots.filter((slot) => {
    const step = record.steps[slot];
    return step?.step_type === 'ai_reason' && step.status !== 'completed';
  });
  if (calls.length === 0) return;
  const now = deps.clock.now();
  // A call is held in the month it began in, which may be over by now.
  const months = [monthOf(now), ...monthsBefore(now, 1)].filter((month) => month >= monthOf(record.created_at));
  for (const month of months) {
    const account = await readMonth(deps.store, record.org_id, month);
    for (const slot of calls) {
      const id = `${record._id}:${record.steps[slot]?.path}`;
      const held = account?.open[id];
      if (!held || 'done' in held) continue;
      const { agent: agentId, tier, n: credits } = held;
      const used = await costOf(deps, record, slot, { month, credits, tier });
      await settle(deps.store, { orgId: record.org_id, month, id, agentId, tier, credits }, used, now);
    }
  }
}
