/** The repairs. Every one of them finds nothing to do in a healthy system, is counted and is logged. */
import { heartbeat } from '@temporalio/activity';
import { cancelWorkflow, signalDecision, terminateWorkflow, workflowStatus } from '../src/engine/executions';
import { startStored } from '../src/events/publish';
import { deletedAgents, freeSlot, leakedSlots } from '../src/store/agents';
import { markConsumed, unconsumedDecisions } from '../src/store/approvals';
import { denyGates } from '../src/store/audit-trail';
import { forgetSettled, release, settle, staleReservations } from '../src/store/credits';
import { endExecution } from '../src/store/execution-writes';
import { purgeTombstones } from '../src/store/resource-tombstones';
import {
  executions,
  findExecution,
  hasEnded,
  quietExecutions,
  recentlyCancelled,
  touchExecution,
  type ExecutionRecord,
} from '../src/store/executions';
import { monthOf, monthsBefore } from '../src/domain/credits';
import { goneUpTo } from '../src/domain/tombstones';
import { finishDeletion } from '../src/events/agent-deletion';
import { bookingOf } from './booking';
import { sendAgentNotices } from './breaker';
import type { Deps } from './deps';
import { sendNotices } from './webhook-notices';

const MINUTE = 60_000;
const BATCH = 200;
/** How long things may be quiet before they are looked at, in milliseconds. */
export const SWEEP_AFTER = {
  quiet: 2 * MINUTE,
  decision: 30_000,
  ended: 10 * MINUTE,
  /** The record of a call that was answered says what it cost. */
  booking: MINUTE,
  /** A call that may still be answered keeps what it holds. */
  reservation: 60 * MINUTE,
  /** Every reservation rewrites the account's document, with all the settled ones it remembers. */
  settled: MINUTE,
  agent: MINUTE,
};

type Counts = Record<string, number>;

/** What a closed workflow says about a record that is still open. */
const ENDS = {
  COMPLETED: { status: 'failed', reason: 'terminated_by_operator' },
  FAILED: { status: 'failed', reason: 'step_failed' },
  TIMED_OUT: { status: 'failed', reason: 'step_failed' },
  TERMINATED: { status: 'failed', reason: 'terminated_by_operator' },
  CANCELLED: { status: 'cancelled', reason: 'cancelled_by_user' },
} as const;

async function repairQuiet(deps: Deps, record: ExecutionRecord): Promise<string> {
  const now = deps.clock.now();
  const status = await workflowStatus(deps.engine, record._id);
  if (status === null) {
    await startStored(deps, record);
    await touchExecution(deps.store, record._id, now);
    return 'started';
  }
  const end = (ENDS as Partial<Record<string, (typeof ENDS)[keyof typeof ENDS]>>)[status];
  if (!end) {
    await touchExecution(deps.store, record._id, now);
    return 'healthy';
  }
  await denyGates(deps, record._id, now);
  const error =
    end.status === 'failed'
      ? { code: end.reason, message: `The workflow closed as ${status} before the execution ended.` }
      : null;
  const ended = await endExecution(deps.store, { id: record._id, orgId: record.org_id, ...end, error, now });
  if (ended) deps.tallies.add(ended);
  return 'ended';
}

async function repairEnded(deps: Deps, row: { _id: string; completed_at: Date | null }): Promise<string> {
  const status = await workflowStatus(deps.engine, row._id);
  if (status !== 'RUNNING') return 'healthy';
  const age = deps.clock.now().getTime() - (row.completed_at ?? deps.clock.now()).getTime();
  if (age > SWEEP_AFTER.ended) await terminateWorkflow(deps.engine, row._id, 'the execution has ended');
  else await cancelWorkflow(deps.engine, row._id);
  return 'workflow_cancelled';
}

async function repairDecisions(deps: Deps, before: Date, count: (kind: string) => void): Promise<void> {
  for (const approval of await unconsumedDecisions(deps.store, before, BATCH)) {
    const execution = await findExecution(deps.store, approval.org_id, approval.execution_id);
    if (!execution || hasEnded(execution.status)) {
      await markConsumed(deps.store, approval._id, deps.clock.now());
      continue;
    }
    await signalDecision(deps.engine, approval.execution_id, {
      approval_id: approval._id,
      decision: approval.status === 'approved' ? 'approved' : 'denied',
    });
    count('signalled');
  }
}

async function repairCredits(
  deps: Deps,
  before: { held: Date; settled: Date; given: Date },
  count: (kind: string) => void,
): Promise<void> {
  const now = deps.clock.now();
  const { live, dead } = await staleReservations(deps.store, [monthOf(now), ...monthsBefore(now, 1)], before);
  for (const calls of dead) await forgetSettled(deps.store, calls, before.settled);
  for (const { account, id, held } of live) {
    const [executionId] = id.split(':');
    const record = await executions.in(deps.store).findById(executionId).lean<ExecutionRecord>().exec();
    const booking =
      record &&
      bookingOf(
        record,
        record.steps.find((slot) => `${record._id}:${slot.path}` === id),
      );
    if (booking) {
      await settle(deps.store, booking.reservation, booking.used, now);
      count('credits_booked');
      continue;
    }
    if (held.at >= before.given || (record && !hasEnded(record.status))) continue;
    const [orgId, month] = account.split(':');
    await release(deps.store, { orgId: orgId ?? '', month: month ?? '', id }, now);
    count('credits_released');
  }
}

/** Deleted agents go for good, with runs that were opened while they were deleted; slots nobody uses are given back. */
async function repairAgents(deps: Deps, before: Date, count: (kind: string) => void): Promise<void> {
  for (const agent of await deletedAgents(deps.store, before, BATCH)) {
    heartbeat();
    if ((await finishDeletion(deps, agent)) > 0) count('run_of_deleted_agent');
  }
  for (const { orgId, agentId } of await leakedSlots(deps.store, before)) {
    await freeSlot(deps.store, orgId, agentId);
    count('slot_freed');
  }
}

/** No repair, but the end of what was promised: deleted records that can no longer be restored are removed. */
async function purge(deps: Deps): Promise<void> {
  heartbeat();
  const purged = await purgeTombstones(deps.store, goneUpTo(deps.clock.now()));
  if (purged > 0) deps.log.info('purged', { kind: 'deleted_records', count: purged });
}

/** One pass. Answers how many repairs of each kind were made. */
export async function sweepOnce(deps: Deps): Promise<Counts> {
  const counts: Counts = {};
  const count = (kind: string): void => {
    if (kind === 'healthy') return;
    counts[kind] = (counts[kind] ?? 0) + 1;
    deps.log.warn('repaired', { kind });
  };
  const now = deps.clock.now().getTime();
  const ago = (milliseconds: number): Date => new Date(now - milliseconds);
  for (const record of await quietExecutions(deps.store, ago(SWEEP_AFTER.quiet), BATCH)) {
    heartbeat();
    count(await repairQuiet(deps, record));
  }
  for (const row of await recentlyCancelled(
    deps.store,
    { since: ago(2 * SWEEP_AFTER.ended), before: ago(MINUTE) },
    BATCH,
  )) {
    heartbeat();
    count(await repairEnded(deps, row));
  }
  await repairDecisions(deps, ago(SWEEP_AFTER.decision), count);
  const calls = {
    held: ago(SWEEP_AFTER.booking),
    settled: ago(SWEEP_AFTER.settled),
    given: ago(SWEEP_AFTER.reservation),
  };
  await repairCredits(deps, calls, count);
  await repairAgents(deps, ago(SWEEP_AFTER.agent), count);
  await purge(deps);
  // No repair either: a minute is soon enough for these mails.
  await sendNotices(deps);
  await sendAgentNotices(deps);
  return counts;
}
