import { fire } from '../support/agents';
import { joinStack, list, text, waitFor, type Answer, type Body, type Harness, type TestOrg } from '../support/harness';
import { storedAgent } from '../support/records';
import { startStack, type Stack } from '../support/stack';
import { executions, type ExecutionRecord } from '../../src/store/executions';
import { approvals, type ApprovalRecord } from '../../src/store/approvals';

let stack: Stack;
let harness: Harness;

beforeAll(async () => {
  stack = await startStack();
  harness = joinStack(stack);
}, 240_000);

afterAll(async () => {
  await harness.close();
  await stack.stop();
});

const ROUNDS = 200;
const BATCH = 25;
const GATE_SECONDS = 2;

const GATE = { type: 'approval_gate' as const, id: 'gate', message: 'Go on?', expires_in: `${GATE_SECONDS}s` };
const AFTER = { type: 'set_variables' as const, id: 'after', values: { went_on: true } };

interface Round {
  approve: Answer;
  deny: Answer;
  cancel: Answer | null;
  executionId: string;
  approvalId: string;
}

const decide = (org: TestOrg, id: string, decision: string) =>
  org.call('POST', `/agents/api/approvals/${id}/decision`, { decision });

/** Everybody acts around the gate's expiry, in an order that differs from round to round. */
async function race(org: TestOrg, gate: ApprovalRecord, index: number): Promise<Round> {
  const at = (offsetMs: number) =>
    new Promise((resolve) => setTimeout(resolve, Math.max(0, gate.expires_at.getTime() - Date.now() + offsetMs)));
  // Coprime strides spread the three over the last moments in every combination, the same in every run. Every fourth
  // round begins sooner, so that people win against the clock on a slow machine, too.
  const moments = index % 4 === 3 ? 1_200 : 240;
  const early = (stride: number) => -((index * stride) % moments) + 20;
  const [approve, deny, cancel] = await Promise.all([
    at(early(37)).then(() => decide(org, gate._id, 'approved')),
    at(early(53)).then(() => decide(org, gate._id, 'denied')),
    index % 2 === 0
      ? at(early(71)).then(() => org.call('POST', `/agents/api/executions/${gate.execution_id}/cancel`))
      : null,
  ]);
  return { approve, deny, cancel, executionId: gate.execution_id, approvalId: gate._id };
}

function checkTruth(round: Round, approval: Body, execution: Body): void {
  const status = text(approval['status']);
  const winners = [round.approve, round.deny].filter((answer) => answer.status === 200);
  // Exactly one decision, and whoever was told 200 is the one the record names.
  expect(winners.length).toBe(
    status === 'approved' || (status === 'denied' && text(approval['decided_by']).startsWith('key_')) ? 1 : 0,
  );
  if (round.approve.status === 200) expect(status).toBe('approved');
  if (round.deny.status === 200) expect(status).toBe('denied');
  for (const answer of [round.approve, round.deny].filter((candidate) => candidate.status !== 200)) {
    expect(['approval_already_decided', 'approval_expired', 'approval_closed']).toContain(text(answer.body['error']));
  }
  const ended = text(execution['status']);
  if (round.cancel?.status === 200) expect(ended).toBe('cancelled');
  else if (status === 'approved') expect(ended).toBe('completed');
  else if (status === 'denied')
    expect([ended, text(execution['status_reason'])]).toEqual(['cancelled', 'approval_denied']);
  else expect([ended, text(execution['status_reason'])]).toEqual(['failed', 'approval_expired']);
  const steps = list(execution['steps']).map((step) => text(step['status']));
  if (status !== 'approved') expect(steps[1]).toBe('skipped');
}

test(`${ROUNDS} rounds of approval, denial, cancel and expiry at once: one outcome, and everybody is told the truth`, async () => {
  const org = await harness.newOrg();
  await storedAgent(harness.store, org.id, [GATE, AFTER]);
  const outcomes = new Map<string, number>();
  for (let done = 0; done < ROUNDS; done += BATCH) {
    const ids = (await Promise.all(Array.from({ length: BATCH }, () => fire(org)))).flat();
    const gates = await waitFor(async () => {
      const rows = await approvals
        .in(harness.store)
        .find({ execution_id: { $in: ids } })
        .lean<ApprovalRecord[]>()
        .exec();
      return rows.length === BATCH ? rows : null;
    });
    const rounds = await Promise.all(gates.map((gate, index) => race(org, gate, done + index)));
    await waitFor(
      async () => {
        const open = await executions
          .in(harness.store)
          .countDocuments({ _id: { $in: ids }, completed_at: null } as never)
          .exec();
        return open === 0;
      },
      { timeoutMs: 30_000, what: 'every execution ended' },
    );
    for (const round of rounds) {
      const execution = (await org.call('GET', `/agents/api/executions/${round.executionId}`)).body;
      const found = list(
        (await org.call('GET', `/agents/api/approvals?execution_id=${round.executionId}`)).body['approvals'],
      )[0];
      if (!found) throw new Error('the approval is gone');
      checkTruth(round, found, execution);
      const key = `${text(found['status'])} → ${text(execution['status'])}`;
      outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
    }
  }
  // The race is only worth its name when every side wins now and then.
  const won = [...outcomes.keys()].map((key) => key.split(' ')[0]);
  expect(new Set(won)).toEqual(new Set(['approved', 'denied', 'expired']));
  const stuck = await executions
    .in(harness.store)
    .find({ org_id: org.id, status: { $in: ['pending', 'running', 'waiting_approval'] } })
    .lean<ExecutionRecord[]>()
    .exec();
  expect(stuck).toEqual([]);
}, 300_000);
