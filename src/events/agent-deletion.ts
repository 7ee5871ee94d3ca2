/**
 * Removing an agent: nothing new can start and what runs is cancelled before the removal is answered. The record itself
 * goes a little later, because an event that was matched just before may still open a run. Each stage can be repeated.
 */
import type { Context } from '../context';
import { removeStats } from '../store/agent-runs';
import { freeSlot, removeAgent, type AgentRecord } from '../store/agents';
import { auditDeletion } from '../store/audit-asked';
import { openExecutionsOf, type OpenExecution } from '../store/executions';
import { cancelRecord, cancelSoon } from './cancel';

const BATCH = 200;
/** Each takes several writes; one after the other, a few hundred would take longer than clients wait. */
const AT_ONCE = 20;
const BATCHES_MAX = 500;

async function cancelRun(context: Context, record: OpenExecution): Promise<void> {
  await cancelRecord(context, record, 'agent_deleted');
  cancelSoon(context, record._id);
}

/** Cancels every active execution of an agent that is marked as going away; answers how many there were. */
export async function cancelRuns(context: Context, agent: AgentRecord): Promise<number> {
  let cancelled = 0;
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const open = await openExecutionsOf(context.store, { orgId: agent.org_id, agentId: agent._id }, BATCH);
    if (open.length === 0) break;
    cancelled += open.length;
    for (let at = 0; at < open.length; at += AT_ONCE) {
      await Promise.all(open.slice(at, at + AT_ONCE).map((record) => cancelRun(context, record)));
    }
  }
  await freeSlot(context.store, agent.org_id, agent._id);
  return cancelled;
}

/** Removes an agent that is marked as going away for good; answers how many runs had still to be cancelled. */
export async function finishDeletion(context: Context, agent: AgentRecord): Promise<number> {
  const cancelled = await cancelRuns(context, agent);
  await auditDeletion(context, agent);
  // While the record is there whoever dies in between is followed by another.
  await removeStats(context.store, agent.org_id, agent._id);
  await removeAgent(context.store, agent.org_id, agent._id);
  return cancelled;
}
