/** Agents: list, create, read, change, delete, clone. */
import type { Context } from '../../context';
import {
  SYSTEM_AGENTS,
  type Agent,
  type AgentDefinition,
  type AgentStatus,
  type UpdateAgent,
} from '../../contracts/agent';
import type { Handlers } from '../../contracts/operation';
import type { AgentOperations } from '../../contracts/operations/agents';
import { problem } from '../../contracts/problem';
import { systemAgents } from '../../catalog/system-agents';
import { monthOf } from '../../domain/credits';
import { recordTag, stateTag } from '../../domain/etag';
import { agentStats, presentAgent, presentSystemAgent } from '../../domain/present';
import { cancelRuns } from '../../events/agent-deletion';
import * as store from '../../store/agents';
import { readStats } from '../../store/agent-runs';
import { askedBy, auditDeletion, isDeletionAudited } from '../../store/audit-asked';
import { readMonth } from '../../store/credits';
import { applyUpdate, checked, definitionOf, markDeleting, requireVersion } from './agent-change';

type Names = 'listAgents' | 'createAgent' | 'getAgent' | 'updateAgent' | 'deleteAgent' | 'cloneAgent';

/** Agents one org may keep, drafts included. */
const AGENTS_MAX = 1_000;

/** Run figures and this month's credits of the given agents. */
async function figures(context: Context, orgId: string, agentIds: readonly string[]) {
  const [runs, month] = await Promise.all([
    readStats(context.store, orgId, agentIds),
    readMonth(context.store, orgId, monthOf(context.clock.now())),
  ]);
  return (agentId: string) => agentStats(runs.get(agentId), month?.by_agent[agentId] ?? 0);
}

const systemStatus = (runtime: { paused_system: string[] }, id: string): AgentStatus =>
  runtime.paused_system.includes(id) ? 'paused' : 'active';

async function systemAgentsOf(context: Context, orgId: string): Promise<Agent[]> {
  const ids = systemAgents.map(({ id }) => id);
  const [runtime, stats] = await Promise.all([store.readRuntime(context.store, orgId), figures(context, orgId, ids)]);
  return systemAgents.map((agent) =>
    presentSystemAgent(agent, { status: systemStatus(runtime, agent.id), stats: stats(agent.id) }),
  );
}

const tagOf = (agent: Agent): string => `${recordTag(agent.id, agent.version)}.${stateTag(agent.status, agent.stats)}`;
const shown = (agent: Agent) => ({ status: 200 as const, body: agent, etag: tagOf(agent) });

/** The answer to whoever made a new agent, by whatever way. */
export const made = (agent: Agent) => ({
  status: 201 as const,
  body: agent,
  etag: tagOf(agent),
  headers: { Location: `/agents/api/agents/${agent.id}` },
});

async function presentAll(context: Context, orgId: string, records: store.AgentRecord[]): Promise<Agent[]> {
  if (records.length === 0) return [];
  const ids = records.map(({ _id }) => _id);
  const stats = await figures(context, orgId, ids);
  return records.map((record) => presentAgent(record, stats(record._id)));
}

async function present(context: Context, record: store.AgentRecord): Promise<Agent> {
  const stats = await figures(context, record.org_id, [record._id]);
  return presentAgent(record, stats(record._id));
}

interface NewAgent {
  id: string;
  /** An earlier run of the request may have stored it already. */
  isRepeat: boolean;
  orgId: string;
  type: 'custom' | 'cloned';
  definition: AgentDefinition;
  source: store.AgentRecord['source'];
}

/** Stores a new draft. */
export async function addAgent(context: Context, agent: NewAgent): Promise<Agent> {
  const made = agent.isRepeat ? await store.findAgent(context.store, agent.orgId, agent.id) : null;
  if (made) return presentAgent(made, agentStats(undefined, 0));
  const now = context.clock.now();
  const { definition } = agent;
  const record: store.AgentRecord = {
    _id: agent.id,
    org_id: agent.orgId,
    type: agent.type,
    status: 'draft',
    name: definition.name,
    category: definition.category,
    definition,
    event_type: definition.trigger.event_type,
    source_product: definition.trigger.source_product,
    version: 1,
    source: agent.source,
    deleting: false,
    created_at: now,
    updated_at: now,
  };
  if (!(await store.insertAgentWithin(context.store, record, AGENTS_MAX))) {
    throw problem('conflict', {
      message: `An org keeps at most ${AGENTS_MAX} agents; delete one first.`,
      facts: { limit: AGENTS_MAX },
    });
  }
  return presentAgent(record, agentStats(undefined, 0));
}

/** Pausing or resuming a system agent for one org; nothing else about it can be changed. */
async function updateSystem(context: Context, orgId: string, id: string, body: UpdateAgent): Promise<Agent> {
  const onlyStatus = Object.keys(body).length === 1 && (body.status === 'paused' || body.status === 'active');
  if (!onlyStatus) throw problem('forbidden', { message: SYSTEM_AGENTS.why });
  await store.setSystemPaused(context.store, orgId, id, body.status === 'paused');
  return (await systemAgentsOf(context, orgId)).find((agent) => agent.id === id) ?? notFound();
}

function notFound(): never {
  throw problem('agent_not_found');
}

const systemAgent = (id: string) => systemAgents.find((agent) => agent.id === id);
const isSystem = (id: string): boolean => systemAgent(id) !== undefined;

export const agentHandlers: Pick<Handlers<AgentOperations, Context>, Names> = {
  async listAgents({ context, principal, query }) {
    const { type, status, category } = query;
    const { orgId } = principal;
    const [own, system] = await Promise.all([
      type === 'system'
        ? []
        : store
            .listAgents(context.store, orgId, query as store.AgentQuery)
            .then((records) => presentAll(context, orgId, records)),
      type === undefined || type === 'system' ? systemAgentsOf(context, orgId) : [],
    ]);
    const visible = system.filter(
      (agent) => (!status || agent.status === status) && (!category || agent.category === category),
    );
    const agents = [...visible, ...own];
    return { status: 200, body: { agents, total: agents.length }, etag: stateTag(agents.map(tagOf)) };
  },

  async createAgent({ context, principal, body, newId, isRepeat }) {
    const definition = checked(definitionOf(body));
    const agent = { id: newId('agt'), isRepeat, orgId: principal.orgId, type: 'custom' as const };
    return made(await addAgent(context, { ...agent, definition, source: null }));
  },

  async getAgent({ context, principal, params }) {
    if (isSystem(params.id)) {
      const system = (await systemAgentsOf(context, principal.orgId)).find((agent) => agent.id === params.id);
      return shown(system ?? notFound());
    }
    const record = await store.findAgent(context.store, principal.orgId, params.id);
    return shown(await present(context, record ?? notFound()));
  },

  async updateAgent({ context, principal, params, body, headers }) {
    const system = systemAgent(params.id);
    if (system) {
      requireVersion(headers['if-match'], system);
      return shown(await updateSystem(context, principal.orgId, params.id, body));
    }
    const at = { orgId: principal.orgId, id: params.id, ifMatch: headers['if-match'] };
    return shown(await present(context, await applyUpdate(context, at, body)));
  },

  async deleteAgent(call) {
    const { context, principal, params, headers } = call;
    if (isSystem(params.id))
      throw problem('forbidden', {
        message: 'System agents cannot be deleted; pause it for your org with "status": "paused".',
      });
    const { orgId } = principal;
    // Whoever asks again, because no answer came, gets the answer that did not come.
    const going = await store.findDeleting(context.store, orgId, params.id);
    const at = { orgId, id: params.id, ifMatch: headers['if-match'] };
    const deleted = going ?? (await markDeleting(context, at, askedBy(call)));
    const cancelled = await cancelRuns(context, deleted);
    if (going && cancelled === 0 && (await isDeletionAudited(context, going))) notFound();
    await auditDeletion(context, deleted);
    return { status: 204 };
  },

  async cloneAgent({ context, principal, params, body, newId, isRepeat }) {
    const clone = { id: newId('agt'), isRepeat, orgId: principal.orgId };
    return made((await cloneOf(context, params.id, clone, body.name)) ?? notFound());
  },
};

/** Clones an agent of the org or a system agent; null when there is none by that id. */
export async function cloneOf(
  context: Context,
  id: string,
  clone: Pick<NewAgent, 'id' | 'isRepeat' | 'orgId'>,
  name: string | undefined,
): Promise<Agent | null> {
  const system = systemAgents.find((agent) => agent.id === id);
  const own = system ? null : await store.findAgent(context.store, clone.orgId, id);
  const origin = system ?? own;
  if (!origin) return null;
  const definition = { ...origin.definition, name: name ?? origin.definition.name };
  return addAgent(context, {
    ...clone,
    type: 'cloned',
    definition,
    source: { kind: 'agent', id, version: String(origin.version) },
  });
}
