/** The repairs. Every one of them finds nothing to do in a healthy system, is counted and is logged. */
import { heartbeat } from '@temporalio/activity';
import { cancelWorkflow, lookAtWorkflow, terminateWorkflow, workflowStatus, type Seen } from '../src/engine/executions';
import { createApart, type Apart } from '../src/events/apart';
import { finishCancel } from '../src/events/cancel';
import { wakeAgain } from '../src/events/decisions';
import { startAnew, startStored } from '../src/events/publish';
import { deletedAgents, freeSlot, leakedSlots } from '../src/store/agents';
import { forgetConsumed, unconsumedDecisions } from '../src/store/approvals';
import { auditCancel } from '../src/store/audit-asked';
import { denyGates } from '../src/store/audit-trail';
import { forgetSettled, release, settle, staleReservations } from '../src/store/credits';
import { endExecution } from '../src/store/execution-writes';
import { purgeTombstones } from '../src/store/resource-tombstones';
import {
  cancelledUnclosed,
  markWorkflowsClosed,
  noteWorkflowTold,
  quietExecutions,
  touchExecution,
} from '../src/store/execution-backlog';
import { executions, findExecution, hasEnded, type ExecutionRecord } from '../src/store/executions';
import { monthOf, monthsBefore } from '../src/domain/credits';
import { goneUpTo } from '../src/domain/tombstones';
import { finishDeletion } from '../src/events/agent-deletion';
import { bookingOf } from './booking';
import { sendAgentNotices } from './breaker';
import { giveBack } from './holding';
import { announceThresholds } from './credit-notices';
import type { Fields } from '../src/log';
import type { Deps } from './deps';
import { sendNotices } from './webhook-notices';

const MINUTE = 60_000;
const BATCH = 200;
/** Of executions that are quiet, in one pass. */
const BATCHES_MAX = 10;
/** What a look is called that finds nothing to repair. */
const HEALTHY = 'healthy';
/** How long things may be quiet before they are looked at, in milliseconds. */
export const SWEEP_AFTER = {
  quiet: 2 * MINUTE,
  decision: 30_000,
  ended: 10 * MINUTE,
  /** The record of a call that was answered says what it cost. */
  booking: MINUTE,
  /** A call that may still be answered keeps what it holds; one of an execution that is over only until `ended`. */
  reservation: 60 * MINUTE,
  /** Every reservation rewrites the account's document, with all the settled ones it remembers. */
  settled: MINUTE,
  agent: MINUTE,
};

type Counts = Record<string, number>;

/** What a closed workflow says about a record that is still open. */
const ENDS = {
  FAILED: { status: 'failed', reason: 'step_failed' },
  TIMED_OUT: { status: 'failed', reason: 'step_failed' },
  TERMINATED: { status: 'failed', reason: 'terminated_by_operator' },
  CANCELLED: { status: 'cancelled', reason: 'cancelled_by_user' },
} as const;

/**
 * Brings workflow and record together when one of them was restored from an older copy. A workflow at a gate that was
 * passed has forgotten the decision; one at a gate that never opened, by the record, waits for what nobody can decide.
 */
async function repairGate(deps: Deps, { org_id: orgId, _id: id }: ExecutionRecord, gate: string): Promise<string> {
  // Read after the workflow was: a gate is in the record before its workflow waits there.
  const record = await findExecution(deps.store, orgId, id);
  const slot = record?.steps.find(({ step_id: of }) => of === gate);
  if (!record || !slot || hasEnded(record.status)) return HEALTHY;
  if (slot.status === 'pending' || slot.status === 'running') {
    await startAnew(deps, record);
    return 'started_anew';
  }
  if (slot.status !== 'completed' || !slot.approval_id) return HEALTHY;
  return (await forgetConsumed(deps.store, slot.approval_id)) ? 'told_again' : HEALTHY;
}

/**
 * A workflow completes behind its record, so an open record beside it is that of an older copy: it goes on from where
 * that copy is. A workflow that completed since the record was read has ended it.
 */
async function repairCompleted(deps: Deps, { org_id: orgId, _id: id }: ExecutionRecord): Promise<string> {
  const record = await findExecution(deps.store, orgId, id);
  if (!record || hasEnded(record.status)) return HEALTHY;
  await startAnew(deps, record);
  await touchExecution(deps.store, id, deps.clock.now());
  return 'started_anew';
}

/** An execution whose workflow runs. */
async function repairRunning(deps: Deps, record: ExecutionRecord, { gate }: Seen): Promise<string> {
  if (record.status === 'waiting_approval' && (await finishCancel(deps, record))) return 'cancel_finished';
  const kind = gate === null ? HEALTHY : await repairGate(deps, record, gate);
  await touchExecution(deps.store, record._id, deps.clock.now());
  return kind;
}

async function repairQuiet(deps: Deps, record: ExecutionRecord): Promise<string> {
  const now = deps.clock.now();
  const seen = await lookAtWorkflow(deps.engine, record._id);
  // One that was ahead of its record and gave up: nothing of the execution has begun.
  if (!seen || (seen.status === 'FAILED' && record.seq === 0)) {
    await startStored(deps, record);
    await touchExecution(deps.store, record._id, now);
    return 'started';
  }
  if (seen.status === 'COMPLETED') return repairCompleted(deps, record);
  const end = (ENDS as Partial<Record<string, (typeof ENDS)[keyof typeof ENDS]>>)[seen.status];
  if (!end) return repairRunning(deps, record, seen);
  await denyGates(deps, record._id, now);
  const error =
    end.status === 'failed'
      ? { code: end.reason, message: `The workflow closed as ${seen.status} before the execution ended.` }
      : null;
  const ended = await endExecution(deps.store, { id: record._id, orgId: record.org_id, ...end, error, now });
  if (ended) deps.tallies.add(ended);
  return 'ended';
}

/** Answers true when the workflow of a cancelled execution has closed. One that does not listen is ended after a while. */
async function repairEnded(
  { deps, count, ago }: Pass,
  { _id: id, workflow_told_at: toldAt }: { _id: string; workflow_told_at?: Date },
): Promise<boolean> {
  if ((await workflowStatus(deps.engine, id)) !== 'RUNNING') return true;
  if (toldAt && toldAt < ago(SWEEP_AFTER.ended)) {
    await terminateWorkflow(deps.engine, id, 'the execution has ended');
  } else {
    await cancelWorkflow(deps.engine, id);
    if (!toldAt) await noteWorkflowTold(deps.store, id, deps.clock.now());
  }
  count('workflow_cancelled', { execution: id });
  return false;
}

/** What a pass works with: counting, and going on past what fails. */
interface Pass {
  deps: Deps;
  /** Counts a repair, and logs it with what it was made to. */
  count: (kind: string, ids: Fields) => void;
  apart: Apart;
  ago: (milliseconds: number) => Date;
}

const byId = ({ _id: id }: { _id: string }) => ({ id });

/** A batch in a healthy system; as long as there is much to repair, as in an engine that has lost its data, more. */
async function repairExecutions({ deps, count, apart, ago }: Pass): Promise<void> {
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const quiet = await quietExecutions(deps.store, ago(SWEEP_AFTER.quiet), BATCH);
    let repaired = 0;
    await apart({ what: 'quiet execution', items: quiet, idsOf: byId }, async (record) => {
      heartbeat();
      const kind = await repairQuiet(deps, record).catch(async (error: unknown) => {
        // The next pass begins with others: these alone could be all it takes.
        await touchExecution(deps.store, record._id, deps.clock.now());
        throw error;
      });
      if (kind !== HEALTHY) repaired += 1;
      count(kind, { execution: record._id });
    });
    if (quiet.length < BATCH || repaired === 0) return;
  }
}

/** Each is looked at until its workflow has closed, after an outage of any length; then never again. */
async function repairCancelled(pass: Pass): Promise<void> {
  const { deps, apart, ago } = pass;
  const closed: string[] = [];
  const cancelled = await cancelledUnclosed(deps.store, ago(MINUTE), BATCH);
  await apart({ what: 'cancelled execution', items: cancelled, idsOf: byId }, async (row) => {
    heartbeat();
    await auditCancel(deps, row);
    if (await repairEnded(pass, row)) closed.push(row._id);
  });
  await markWorkflowsClosed(deps.store, closed);
}

async function repairDecisions({ deps, count, apart, ago }: Pass): Promise<void> {
  const due = { before: ago(SWEEP_AFTER.decision), now: deps.clock.now() };
  const items = await unconsumedDecisions(deps.store, due, BATCH);
  await apart({ what: 'decision', items, idsOf: byId }, async (approval) => {
    heartbeat();
    if (await wakeAgain(deps, approval))
      count('signalled', { execution: approval.execution_id, approval: approval._id });
  });
}

type HeldCall = Awaited<ReturnType<typeof staleReservations>>['live'][number];

/** Gives a call back what it holds there: no record knows of it any more, or its record has settled what it cost. */
async function releaseCall({ deps, count }: Pass, { account, id }: HeldCall): Promise<void> {
  const [orgId = '', month = ''] = account.split(':');
  await release(deps.store, { orgId, month, id }, deps.clock.now());
  count('credits_released', { account, call: id });
}

/** An attempt that was under way hears of its execution's end within seconds; between two attempts nobody does. */
function mayBeAnswered({ ago }: Pass, held: HeldCall['held'], record: ExecutionRecord | null): boolean {
  if (record && !hasEnded(record.status)) return true;
  const isLongOver = record?.completed_at && record.completed_at < ago(SWEEP_AFTER.ended);
  return !isLongOver && held.at >= ago(SWEEP_AFTER.reservation);
}

/** A call that is still reserved: what its record says it cost is booked; one that cannot be answered any more is released. */
async function repairCall(pass: Pass, call: HeldCall): Promise<void> {
  const { deps, count } = pass;
  const { account, id, held } = call;
  const [executionId] = id.split(':');
  const record = await executions.in(deps.store).findById(executionId).lean<ExecutionRecord>().exec();
  const slot = record?.steps.findIndex(({ path }) => `${record._id}:${path}` === id) ?? -1;
  const booking = record && bookingOf(record, record.steps[slot]);
  if (booking) {
    // An engine that lost its data makes a call anew that it began in the month before: what that held is not used.
    if (!account.endsWith(`:${booking.reservation.month}`)) return releaseCall(pass, call);
    await settle(deps.store, booking.reservation, booking.used, deps.clock.now());
    count('credits_booked', { account, call: id });
    return;
  }
  if (mayBeAnswered(pass, held, record)) return;
  if (record && slot !== -1) await giveBack(deps, record, [slot]);
  await releaseCall(pass, call);
}

async function repairCredits(pass: Pass): Promise<void> {
  const { deps, apart, ago } = pass;
  const now = deps.clock.now();
  const before = { held: ago(SWEEP_AFTER.booking), settled: ago(SWEEP_AFTER.settled) };
  const { live, dead } = await staleReservations(deps.store, [monthOf(now), ...monthsBefore(now, 1)], before);
  const ofAccount = ({ account }: { account: string }) => ({ account });
  await apart({ what: 'settled calls', items: dead, idsOf: ofAccount }, (calls) =>
    forgetSettled(deps.store, calls, before.settled),
  );
  await apart({ what: 'reserved call', items: live, idsOf: ({ account, id }) => ({ account, id }) }, (call) => {
    heartbeat();
    return repairCall(pass, call);
  });
}

/** Deleted agents go for good, with runs that were opened while they were deleted; slots nobody uses are given back. */
async function repairAgents({ deps, count, apart, ago }: Pass): Promise<void> {
  const before = ago(SWEEP_AFTER.agent);
  const deleted = await deletedAgents(deps.store, before, BATCH);
  await apart({ what: 'deleted agent', items: deleted, idsOf: byId }, async (agent) => {
    heartbeat();
    if ((await finishDeletion(deps, agent)) > 0) count('run_of_deleted_agent', { agent: agent._id });
  });
  const leaked = await leakedSlots(deps.store, before);
  await apart({ what: 'agent slot', items: leaked, idsOf: (slot) => ({ ...slot }) }, async ({ orgId, agentId }) => {
    await freeSlot(deps.store, orgId, agentId);
    count('slot_freed', { org: orgId, agent: agentId });
  });
}

/** No repair, but the end of what was promised: deleted records that can no longer be restored are removed. */
async function purge({ deps }: Pass): Promise<void> {
  heartbeat();
  const purged = await purgeTombstones(deps.store, goneUpTo(deps.clock.now()));
  if (purged > 0) deps.log.info('purged', { kind: 'deleted_records', count: purged });
}

/** In this order. Mails and the thresholds of credits are no repairs either: a minute is soon enough for them. */
const PARTS: readonly { name: string; run: (pass: Pass) => Promise<void> }[] = [
  { name: 'executions', run: repairExecutions },
  { name: 'cancelled executions', run: repairCancelled },
  { name: 'decisions', run: repairDecisions },
  { name: 'credits', run: repairCredits },
  { name: 'agents', run: repairAgents },
  { name: 'deleted records', run: purge },
  { name: 'thresholds of credits', run: ({ deps }) => announceThresholds(deps) },
  { name: 'notices of webhooks', run: ({ deps }) => sendNotices(deps) },
  { name: 'notices of agents', run: ({ deps }) => sendAgentNotices(deps) },
];

/** One pass. Answers how many repairs of each kind were made. */
export async function sweepOnce(deps: Deps): Promise<Counts> {
  const counts: Counts = {};
  const now = deps.clock.now().getTime();
  const apart = createApart(deps.log);
  const pass: Pass = {
    deps,
    apart,
    ago: (milliseconds) => new Date(now - milliseconds),
    count: (kind, ids) => {
      if (kind === HEALTHY) return;
      counts[kind] = (counts[kind] ?? 0) + 1;
      deps.log.warn('repaired', { kind, ...ids });
    },
  };
  await apart({ what: 'part of the sweep', items: PARTS, idsOf: ({ name }) => ({ name }) }, ({ run }) => run(pass));
  return counts;
}
