/** The operations of the agent service that leave an entry in the audit trail before they are answered. */
import type { Context } from '../../context';
import type { Agent } from '../../contracts/agent';
import type { AuditEntry } from '../../contracts/audit';
import type { Handlers } from '../../contracts/operation';
import type { AgentOperations } from '../../contracts/operations/agents';
import { changedFields } from '../../domain/audit';
import { matchesVersion, recordTag, weakTag } from '../../domain/etag';
import { findAgent, type AgentRecord } from '../../store/agents';
import { audit, isUntold, type Asked, type Deed } from '../../store/audit-trail';
import { definitionOf } from './agent-change';
import { agentHandlers } from './agents';
import { catalogHandlers } from './catalog';

type Names = 'createAgent' | 'cloneAgent' | 'cloneTemplate' | 'updateAgent';

const targetOf = (agent: { id: string; name: string }): AuditEntry['target'] => ({
  kind: 'agent',
  id: agent.id,
  name: agent.name,
});

const created = (asked: Asked, agent: Agent): Promise<void> =>
  audit(asked, {
    action: 'agent.created',
    target: targetOf(agent),
    details: { type: agent.type, source: agent.source },
    cause: [],
  });

const moveOf = (status: Agent['status']): 'activated' | 'paused' => (status === 'active' ? 'activated' : 'paused');

/** The fields as they are compared: the definition's and the status. */
const comparable = (agent: AgentRecord): Record<string, unknown> => ({ ...agent.definition, status: agent.status });

/** What an entry about a version can be called. */
const CHANGES = ['agent.updated', 'agent.activated', 'agent.paused'] as const;

async function updated(asked: Asked, before: AgentRecord, named: string[], agent: Agent): Promise<Deed> {
  const after: Record<string, unknown> = { ...agent };
  // What others changed in between is in their entries.
  const changed = changedFields(comparable(before), { ...comparable(before), ...pick(after, named) });
  const isMoved = before.status !== agent.status;
  const told = { target: targetOf(agent), version: before.version };
  // A run that was not answered may have made the move; then this is its repeat.
  const moves = named.includes('status') && (isMoved || (await isUntold(asked, told, CHANGES)));
  const move = { ...(isMoved ? { from: before.status } : {}), to: agent.status };
  const fields = moves && !isMoved ? [...changed, 'status'] : changed;
  return {
    action: moves ? `agent.${moveOf(agent.status)}` : 'agent.updated',
    target: targetOf(agent),
    details: { fields, version: agent.version, ...(moves ? move : {}) },
    cause: [agent.version],
  };
}

const pick = (from: Record<string, unknown>, names: string[]): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, from[name]]));

type Update = Parameters<typeof agentHandlers.updateAgent>[0];

/** True when a run of the same change, which nobody answered, has made the agent what it is and `If-Match` void. */
async function isUnanswered(asked: Update, before: AgentRecord): Promise<boolean> {
  const { _id: id, name, version, definition, status } = before;
  const ifMatch = asked.headers['if-match'];
  if (matchesVersion(ifMatch, id, version) || !matchesVersion(ifMatch, id, version - 1)) return false;
  const { status: wanted = status, ...fields } = asked.body;
  const isMade = changedFields(definition, definitionOf({ ...definition, ...fields })).length === 0;
  return isMade && wanted === status && isUntold(asked, { target: targetOf({ id, name }), version }, CHANGES);
}

/** The call; the repeat of one that nobody answered is meant for the version that one has made. */
async function meantFor(asked: Update, before: AgentRecord | null): Promise<Update> {
  if (!before || !(await isUnanswered(asked, before))) return asked;
  return { ...asked, headers: { ...asked.headers, 'if-match': weakTag(recordTag(before._id, before.version)) } };
}

/** The handlers of the same names, each followed by its entry. */
export const auditedHandlers: Pick<Handlers<AgentOperations, Context>, Names> = {
  async createAgent(call) {
    const reply = await agentHandlers.createAgent(call);
    await created(call, reply.body);
    return reply;
  },

  async cloneAgent(call) {
    const reply = await agentHandlers.cloneAgent(call);
    await created(call, reply.body);
    return reply;
  },

  async cloneTemplate(call) {
    const reply = await catalogHandlers.cloneTemplate(call);
    await created(call, reply.body);
    return reply;
  },

  async updateAgent(asked) {
    const before = await findAgent(asked.context.store, asked.principal.orgId, asked.params.id);
    const call = await meantFor(asked, before);
    const reply = await agentHandlers.updateAgent(call);
    const { body: agent } = reply;
    const deed: Deed = before
      ? await updated(call, before, Object.keys(call.body), agent)
      : { action: `system_agent.${moveOf(agent.status)}`, target: targetOf(agent) };
    await audit(call, deed);
    return reply;
  },
};
