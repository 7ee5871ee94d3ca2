/** A call that waited longer than its account remembers settled ones: its record decides whether it may still be made. */
import { createExecutionCache } from '../../activities/execution-cache';
import { holdCredits } from '../../activities/holding';
import { systemClock } from '../../src/clock';
import { monthOf } from '../../src/domain/credits';
import { credits, ensureMonth, readMonth, reserve, settle, type Reservation } from '../../src/store/credits';
import { executions, openExecution } from '../../src/store/executions';
import { REASON } from '../support/agents';
import { joinStack, type Harness } from '../support/harness';
import { storedAgent, unopenedRecord } from '../support/records';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

const MINUTE = 60_000;
const ago = (milliseconds: number): Date => new Date(Date.now() - milliseconds);

/** An AI step that is under way since five minutes, in an org whose account has forgotten all that is older than one. */
async function waitingCall(status: 'running' | 'pending' = 'running') {
  const { store } = harness;
  const orgId = (await harness.newOrg()).id;
  const month = monthOf(new Date());
  const agentId = await storedAgent(store, orgId, [REASON as never]);
  const record = await unopenedRecord(store, { orgId, agentId, now: ago(5 * MINUTE), payload: {} });
  await openExecution(store, { ...record, status: 'running', start_pending: false });
  await executions.in(store).updateOne({ _id: record._id }, { $set: { 'steps.0.status': status } });
  await ensureMonth(store, { orgId, month, allocation: 100 }, new Date());
  await credits.in(store).updateOne({ _id: `${orgId}:${month}` }, { $set: { forgotten_to: ago(MINUTE) } });
  const reservation = { orgId, month, id: `${record._id}:0`, agentId, tier: 'quick' as const, credits: 7 };
  const deps = { store, clock: systemClock, cache: createExecutionCache(store) };
  return {
    id: record._id,
    hold: () => holdCredits(deps, { execution_id: record._id, slot: 0 }, { reservation, begun: ago(5 * MINUTE) }),
    available: async () => (await readMonth(store, orgId, month))?.available,
  };
}

// The start of a step with a condition, behind a delay or first in a branch is not recorded when it begins.
test.each(['running', 'pending'] as const)(
  'credits are held for a %s step that has no answer yet, once',
  async (status) => {
    const { hold, available } = await waitingCall(status);
    await hold();
    expect(await available()).toBe(93);
    await hold();
    expect(await available()).toBe(93);
  },
);

test.each([
  ['has its answer', { 'steps.0.status': 'completed', 'steps.0.usage': { reserved: 7, month: 'm', tier: 'quick' } }],
  ['has failed', { 'steps.0.status': 'failed' }],
  ['was skipped', { 'steps.0.status': 'skipped' }],
  ['belongs to an execution that is over', { status: 'cancelled' }],
])('nothing is held for a step that %s', async (_name, recorded) => {
  const { id, hold, available } = await waitingCall();
  await executions.in(harness.store).updateOne({ _id: id }, { $set: recorded });
  await expect(hold()).rejects.toMatchObject({ type: 'superseded', nonRetryable: false });
  expect(await available()).toBe(100);
});

describe('what happens while credits are held', () => {
  const now = new Date();
  const callOf = (orgId: string, id: string): Reservation => ({
    orgId,
    month: monthOf(now),
    id,
    agentId: 'agt_x',
    tier: 'expert',
    credits: 25,
  });

  /** Holds credits for a call, while `meanwhile` happens after the store was asked for them and before it is asked why not. */
  async function holdWhile(orgId: string, meanwhile: () => Promise<unknown>): Promise<string> {
    const { collection } = credits.in(harness.store);
    const update = collection.updateOne.bind(collection);
    const spy = jest.spyOn(collection, 'updateOne').mockImplementationOnce(async (...given) => {
      const answer = await update(...given);
      await meanwhile();
      return answer;
    });
    try {
      return await reserve(harness.store, callOf(orgId, 'exe_late:0'), { begun: now, now });
    } finally {
      spy.mockRestore();
    }
  }

  const open = (orgId: string, allocation: number) =>
    ensureMonth(harness.store, { orgId, month: monthOf(now), allocation }, now);

  test('an account that another call opens has credits for this one, too', async () => {
    const orgId = (await harness.newOrg()).id;
    expect(await holdWhile(orgId, () => open(orgId, 1_000))).toBe('reserved');
    expect((await readMonth(harness.store, orgId, monthOf(now)))?.available).toBe(975);
  });

  test('credits that another call gives back are there for this one', async () => {
    const orgId = (await harness.newOrg()).id;
    await open(orgId, 40);
    const other = callOf(orgId, 'exe_early:0');
    await reserve(harness.store, other, { begun: now, now });
    expect(await holdWhile(orgId, () => settle(harness.store, other, 0, now))).toBe('reserved');
    expect(await holdWhile(orgId, () => Promise.resolve())).toBe('already');
  });
});
