/**
 * The agents that listen for an event, remembered by each process for as long as the tenant's epoch stands. Every change
 * of an agent raises the epoch before it is answered, so what is remembered is never older than an answered change.
 */
import type { Context } from '../context';
import { listeningAgents, type AgentRecord } from '../store/agents';

const ENTRIES_MAX = 1_000;
/** Longer lists are read each time: remembered by the thousand they would take too much memory. */
const AGENTS_MAX = 20;
/** A process that dies between a change and its raise leaves the old list standing for at most this long. */
const REMEMBERED_MS = 5_000;

interface Known {
  epoch: number;
  until: number;
  agents: AgentRecord[];
}

const remembered = new WeakMap<Context['store'], Map<string, Known>>();

/**
 * Finds them. `epoch` is that of the guard as the request found it; without one, as in the relay, the store is asked.
 */
export async function findListening(
  context: Context,
  event: { org_id: string; source_product: string; event_type: string },
  epoch: number | null,
): Promise<AgentRecord[]> {
  if (epoch === null) return listeningAgents(context.store, event.org_id, event);
  const known = remembered.get(context.store) ?? new Map<string, Known>();
  remembered.set(context.store, known);
  const key = `${event.org_id} ${event.source_product} ${event.event_type}`;
  const now = context.clock.now().getTime();
  const found = known.get(key);
  if (found && found.epoch === epoch && found.until > now) return found.agents;
  const agents = await listeningAgents(context.store, event.org_id, event);
  known.delete(key);
  if (known.size >= ENTRIES_MAX) known.clear();
  if (agents.length <= AGENTS_MAX) known.set(key, { epoch, until: now + REMEMBERED_MS, agents });
  return agents;
}
