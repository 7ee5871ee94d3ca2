/** Credits: never more than the allocation, every figure the sum of the same steps, each refusal with its reason. */
import { monthOf, monthsBefore } from '../../../src/domain/credits';
import { credits, ensureMonth, reserve, settle } from '../../../src/store/credits';
import { activeAgent, definitionWith, fire, REASON, run, VARIABLES, stepOf } from '../../support/agents';
import {
  joinStack,
  list,
  text,
  waitFor,
  waitForExecution,
  type Body,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { creditSums } from '../../support/records';
import { expectRefusal, get, post, put, remove, statusesOf } from './support';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

type Fields = Record<string, unknown>;
const think = (id: string, tier = 'quick', more: Fields = {}): Fields => ({ ...REASON, id, tier, ...more });

async function runToEnd(org: TestOrg, steps: Fields[]): Promise<Body> {
  await activeAgent(org, definitionWith(steps));
  return waitForExecution(org, await run(org), ['completed', 'failed']);
}

/** All figures of the org are one and the same number, and nothing is held back. */
async function expectSums(org: TestOrg, total: number): Promise<void> {
  // What a failed step held is given back with its execution's end, a moment after the end can be read.
  const sums = await waitFor(async () => {
    const seen = await creditSums(harness.store, org.id);
    return seen.held === 0 && seen;
  });
  expect(sums).toEqual({
    total,
    byAgent: total,
    byModel: total,
    bySteps: total,
    byExecutions: total,
    held: 0,
  });
}

describe('exhaustion', () => {
  test('the second AI step of an org with one credit fails with credit_insufficient', async () => {
    const org = await harness.newOrg({ credits: 1 });
    const done = await runToEnd(org, [think('one'), think('two'), VARIABLES]);
    expect(done).toMatchObject({
      status: 'failed',
      status_reason: 'credit_insufficient',
      credits_used: 1,
      error: { code: 'credit_insufficient', message: expect.any(String) as unknown },
    });
    expect(statusesOf(done)).toEqual(['one completed', 'two failed', 'vars skipped']);
    expect(stepOf(done, 'two')).toMatchObject({ error: { code: 'credit_insufficient' }, credits_used: 0 });
    await expectSums(org, 1);
    expect((await get(org, '/credits')).body).toMatchObject({ total_used: 1, remaining: 0, reserved: 0 });
  });

  test('without any credits events are still taken, and steps that need none still run', async () => {
    const org = await harness.newOrg({ credits: 0 });
    const done = await runToEnd(org, [VARIABLES, think('one')]);
    expect([done['status_reason'], statusesOf(done)]).toEqual([
      'credit_insufficient',
      ['vars completed', 'one failed'],
    ]);
    const other = await harness.newOrg({ credits: 0 });
    expect((await runToEnd(other, [VARIABLES]))['status']).toBe('completed');
    await expectSums(org, 0);
  });

  test('a step that costs more than is left takes nothing; a cheaper one still runs', async () => {
    const org = await harness.newOrg({ credits: 2 });
    const done = await runToEnd(org, [think('dear', 'standard', { on_error: 'continue' }), think('cheap')]);
    expect([done['status'], statusesOf(done)]).toEqual(['completed', ['dear failed', 'cheap completed']]);
    expect(stepOf(done, 'dear')).toMatchObject({ error: { code: 'credit_insufficient' } });
    await expectSums(org, 1);
  });

  test.each([
    ['quick', 1],
    ['standard', 3],
    ['premium', 10],
    ['expert', 25],
  ])('a short %s step costs %d and is booked under its tier', async (tier, cost) => {
    const org = await harness.newOrg({ credits: cost });
    const done = await runToEnd(org, [think('one', tier)]);
    expect([done['status'], done['credits_used']]).toEqual(['completed', cost]);
    await expectSums(org, cost);
    const { body } = await get(org, '/credits');
    expect(body).toMatchObject({ total_used: cost, allocation: cost, remaining: 0 });
    expect(body['by_model']).toEqual({ quick: 0, standard: 0, premium: 0, expert: 0, [tier]: cost });
  });

  test('a long prompt costs a block for each 8 000 tokens', async () => {
    const org = await harness.newOrg({ credits: 100 });
    await activeAgent(org, definitionWith([think('one')]));
    const [id = ''] = await fire(org, { name: 'word '.repeat(20_000) });
    const done = await waitForExecution(org, id, ['completed']);
    const usage = stepOf(done, 'one')['usage'];
    const weighted = Number(usage?.['input_tokens']) + 4 * Number(usage?.['output_tokens']);
    expect(weighted).toBeGreaterThan(16_000);
    expect(done['credits_used']).toBe(Math.ceil(weighted / 8_000));
    await expectSums(org, Math.ceil(weighted / 8_000));
  });

  test('twenty executions at once with credits for seven: seven complete, never more', async () => {
    const org = await harness.newOrg({ credits: 7 });
    await activeAgent(org, definitionWith([think('one')]));
    const ids = (await Promise.all(Array.from({ length: 20 }, () => fire(org)))).flat();
    const statuses: string[] = [];
    for (const id of ids)
      statuses.push(text((await waitForExecution(org, id, ['completed', 'failed'], 40_000))['status']));
    expect(statuses.filter((status) => status === 'completed')).toHaveLength(7);
    const failed = list((await get(org, '/executions?status=failed')).body['executions']);
    expect(failed).toHaveLength(13);
    expect(new Set(failed.map((execution) => text(execution['status_reason'])))).toEqual(
      new Set(['credit_insufficient']),
    );
    await expectSums(org, 7);
    expect((await get(org, '/credits')).body).toMatchObject({ total_used: 7, remaining: 0, reserved: 0 });
  });

  test('several agents share the allocation, and each sees what it used', async () => {
    const org = await harness.newOrg({ credits: 5 });
    const agents = await Promise.all(
      ['quick', 'standard'].map((tier) => activeAgent(org, definitionWith([think('one', tier)]))),
    );
    const ids = (await Promise.all([1, 2, 3].map(() => fire(org)))).flat();
    for (const id of ids) await waitForExecution(org, id, ['completed', 'failed']);
    const { body } = await get(org, '/credits');
    const byAgent = body['by_agent'] as unknown as Record<string, number>;
    const total = Object.values(byAgent).reduce((sum, used) => sum + used, 0);
    expect(total).toBe(Number(body['total_used']));
    expect(total).toBeLessThanOrEqual(5);
    for (const id of agents) {
      const { stats } = (await get(org, `/agents/${id}`)).body;
      expect(stats?.['credits_used_this_month']).toBe(byAgent[id] ?? 0);
    }
    await expectSums(org, total);
  });
});

describe('retry', () => {
  test('without credits is refused with 402, says when there are new ones, and starts nothing', async () => {
    const org = await harness.newOrg({ credits: 1 });
    const done = await runToEnd(org, [think('one'), think('two')]);
    const answer = await post(org, `/executions/${text(done['id'])}/retry`);
    expectRefusal(answer, 402, 'credit_insufficient');
    const [details] = list(answer.body['details']);
    expect(details?.['remaining']).toBe(0);
    const [next] = monthsBefore(new Date(Date.parse(text(details?.['resets_at'])) + 1), 1);
    expect(next).toBe(monthOf(new Date()));
    expect((await get(org, '/executions')).body['total']).toBe(1);
    expect((await get(org, `/executions/${text(done['id'])}`)).body['retried_by']).toBeNull();
  });

  test('of an agent that no longer needs any goes through', async () => {
    const org = await harness.newOrg({ credits: 0 });
    const done = await runToEnd(org, [think('one')]);
    await put(org, `/agents/${text(done['agent_id'])}`, { steps: [VARIABLES] });
    const answer = await post(org, `/executions/${text(done['id'])}/retry`);
    expect(answer.status).toBe(202);
    await waitForExecution(org, text(answer.body['id']), ['completed']);
  });
});

describe('figures over time', () => {
  test('what a deleted agent used stays counted', async () => {
    const org = await harness.newOrg({ credits: 9 });
    const done = await runToEnd(org, [think('one')]);
    const agent = text(done['agent_id']);
    await remove(org, `/agents/${agent}`);
    expect((await get(org, '/credits')).body).toMatchObject({ total_used: 1, by_agent: { [agent]: 1 } });
  });

  test('the history shows past months as they were, and the current month is not in it', async () => {
    const org = await harness.newOrg({ credits: 9 });
    const months = monthsBefore(new Date(), 13);
    const [lastMonth = '', , third = '', , , , , , , , , , tooOld = ''] = months;
    for (const [month, used] of [
      [lastMonth, 4],
      [third, 70],
      [tooOld, 99],
      [monthOf(new Date()), 1],
    ] as const) {
      await ensureMonth(harness.store, { orgId: org.id, month, allocation: used + 5 }, new Date());
      const call = { orgId: org.id, month, id: 'exe_x:0', agentId: 'agt_x', tier: 'quick' as const, credits: used };
      await reserve(harness.store, call, { begun: new Date(), now: new Date() });
      await settle(harness.store, call, used, new Date());
    }
    const history = list((await get(org, '/credits/history')).body['history']);
    expect(history).toEqual(
      months.slice(0, 12).map((month) => {
        const used = { [lastMonth]: 4, [third]: 70 }[month];
        return { month, total_used: used ?? 0, allocation: used === undefined ? 9 : used + 5 };
      }),
    );
    expect((await get(org, '/credits')).body).toMatchObject({ total_used: 1, allocation: 6, remaining: 5 });
  });

  test('after a call that cost more than was held, what remains is below zero, and nothing more is held', async () => {
    const org = await harness.newOrg({ credits: 5 });
    const month = monthOf(new Date());
    await ensureMonth(harness.store, { orgId: org.id, month, allocation: 5 }, new Date());
    const call = { orgId: org.id, month, id: 'exe_o:0', agentId: 'agt_o', tier: 'standard' as const, credits: 3 };
    await reserve(harness.store, call, { begun: new Date(), now: new Date() });
    await settle(harness.store, call, 9, new Date());
    const { body } = await get(org, '/credits');
    expect(body).toMatchObject({ total_used: 9, allocation: 5, remaining: -4, reserved: 0 });
    const done = await runToEnd(org, [think('one')]);
    expect(done['status_reason']).toBe('credit_insufficient');
    expectRefusal(await post(org, `/executions/${text(done['id'])}/retry`), 402, 'credit_insufficient');
  });

  test('a call that was held before midnight of a month’s end and settled after it counts where it was held', async () => {
    const orgId = (await harness.newOrg()).id;
    const before = new Date('2026-01-31T23:59:59.900Z');
    const after = new Date('2026-02-01T00:00:00.100Z');
    for (const at of [before, after])
      await ensureMonth(harness.store, { orgId, month: monthOf(at), allocation: 10 }, at);
    const call = {
      orgId,
      month: monthOf(before),
      id: 'exe_m:0',
      agentId: 'agt_m',
      tier: 'standard' as const,
      credits: 6,
    };
    expect(await reserve(harness.store, call, { begun: before, now: before })).toBe('reserved');
    await settle(harness.store, call, 3, after);
    await settle(harness.store, call, 3, after);
    expect(await reserve(harness.store, call, { begun: before, now: after })).toBe('already');
    const rows = await credits.in(harness.store).find({ org_id: orgId }).sort({ month: 1 }).lean().exec();
    expect(rows.map(({ month, total_used: used, available }) => [month, used, available])).toEqual([
      ['2026-01', 3, 7],
      ['2026-02', 0, 10],
    ]);
  });
});
