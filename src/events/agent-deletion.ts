/** Removing an agent: nothing new can start, what runs is cancelled, then the record goes. Each stage can be repeated. */
import type { Context } from '../context';
import { freeSlot, removeAgent, type AgentRecord } from '../store/agents';
import { openExecutionsOf } from '../store/executions';
import { cancelRecord, cancelSoon } from './cancel';

const BATCH = 200;
const BATCHES_MAX = 500;

/** Cancels every active execution of an agent that is marked as going away, then removes it. */
export async function finishDeletion(context: Context, agent: AgentRecord): Promise<void> {
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const open = await openExecutionsOf(context.store, agent.org_id, agent._id, BATCH);
    if (open.length === 0) break;
    for (const record of open) {
      await cancelRecord(context, record, 'agent_deleted');
      cancelSoon(context, record._id);
    }
  }
  await freeSlot(context.store, agent.org_id, agent._id);
  await removeAgent(context.store, agent.org_id, agent._id);
}
