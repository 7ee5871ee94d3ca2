/** The operations of the agent service that leave an entry in the audit trail before they are answered. */
import type { Context } from '../../context';
import type { Agent } from '../../contracts/agent';
import type { AuditEntry } from '../../contracts/audit';
import type { Handlers } from '../../contracts/operation';
import type { AgentOperations } from '../../contracts/operations/agents';
import { changedFields } from '../../domain/audit';
import { findAgent, findDeleting, type AgentRecord } from '../../store/agents';
import { audit, isAudited, type Asked, type Deed } from '../../store/audit-trail';
import { findExecution, hasEnded } from '../../store/executions';
import { agentHandlers, deletionOf } from './agents';
import { catalogHandlers } from './catalog';
import { executionHandlers } from './executions';

type Names =
  | 'createAgent'
  | 'cloneAgent'
  | 'cloneTemplate'
  | 'updateAgent'
  | 'deleteAgent'
  | 'cancelExecution'
  | 'retryExecution';

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

/** True when no entry tells of the agent's version: it was changed, and whoever asked for that got no answer. */
async function isUntold(asked: Asked, { _id: id, name, version }: AgentRecord): Promise<boolean> {
  if (version === 1) return false;
  const target = targetOf({ id, name });
  const told = await Promise.all(CHANGES.map((action) => isAudited(asked, { action, target, cause: [version] })));
  return !told.includes(true);
}

async function updated(asked: Asked, before: AgentRecord, named: string[], agent: Agent): Promise<Deed> {
  const after: Record<string, unknown> = { ...agent };
  // What others changed in between is in their entries.
  const changed = changedFields(comparable(before), { ...comparable(before), ...pick(after, named) });
  const isMoved = before.status !== agent.status;
  // A run that was not answered may have made the move; then this is its repeat.
  const moves = named.includes('status') && (isMoved || (await isUntold(asked, before)));
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

  async updateAgent(call) {
    const before = await findAgent(call.context.store, call.principal.orgId, call.params.id);
    const reply = await agentHandlers.updateAgent(call);
    const { body: agent } = reply;
    const deed: Deed = before
      ? await updated(call, before, Object.keys(call.body), agent)
      : { action: `system_agent.${moveOf(agent.status)}`, target: targetOf(agent) };
    await audit(call, deed);
    return reply;
  },

  async deleteAgent(call) {
    const { context, principal, params } = call;
    const { store } = context;
    const before =
      (await findAgent(store, principal.orgId, params.id)) ?? (await findDeleting(store, principal.orgId, params.id));
    const reply = await agentHandlers.deleteAgent(call);
    if (before) await audit(call, deletionOf(before));
    return reply;
  },

  async cancelExecution(call) {
    const { context, principal, params } = call;
    const before = await findExecution(context.store, principal.orgId, params.id);
    const reply = await executionHandlers.cancelExecution(call);
    const deed: Deed = {
      action: 'execution.cancelled',
      target: { kind: 'execution', id: params.id, name: null },
      details: { agentId: reply.body.agent_id },
      cause: [],
    };
    // Cancelling what is cancelled already changes nothing, unless an earlier run of the request did it.
    if (call.isRepeat || (before && !hasEnded(before.status))) await audit(call, deed);
    return reply;
  },

  async retryExecution(call) {
    const reply = await executionHandlers.retryExecution(call);
    await audit(call, {
      action: 'execution.retried',
      target: { kind: 'execution', id: call.params.id, name: null },
      details: { agentId: reply.body.agent_id, retryId: reply.body.id },
      cause: [reply.body.id],
    });
    return reply;
  },
};
