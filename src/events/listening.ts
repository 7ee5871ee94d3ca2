/**
 * The agents that listen for an event, remembered by each process for as long as the tenant's epoch stands. Every change
 * of an agent raises the epoch before it is answered, so what is remembered is never older than an answered change.
 */
import type { Context } from '../context';
import { listeningAgents, type AgentRecord } from '../store/agents';
import { createFencedMemory } from './memory';

/** Longer lists are read each time: remembered by the thousand they would take too much memory. */
const AGENTS_MAX = 20;

const remembered = createFencedMemory<AgentRecord[]>();

/**
 * Finds them. `epoch` is that of the guard as the request found it; without one, as in the relay, the store is asked.
 */
export async function findListening(
  context: Context,
  event: { org_id: string; source_product: string; event_type: string },
  epoch: number | null,
): Promise<AgentRecord[]> {
  if (epoch === null) return listeningAgents(context.store, event.org_id, event);
  const key = `${event.org_id} ${event.source_product} ${event.event_type}`;
  const known = remembered.find(context, key, epoch);
  if (known) return known;
  const agents = await listeningAgents(context.store, event.org_id, event);
  if (agents.length <= AGENTS_MAX) remembered.keep(context, key, { epoch, value: agents });
  return agents;
}
