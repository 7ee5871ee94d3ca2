/** Changing an agent: the definition is checked as a whole, the status moves as it may, the slot follows the status. */
import type { Context } from '../../context';
import type { AgentDefinition, AgentStatus, CreateAgent, UpdateAgent } from '../../contracts/agent';
import { problem } from '../../contracts/problem';
import { eventCatalog } from '../../catalog/events';
import type { AskedBy } from '../../domain/audit';
import { mayMove, movesFrom } from '../../domain/agent-status';
import { AGENT_CAP } from '../../domain/credits';
import { checkDefinition } from '../../domain/definition/check';
import { matchesVersion, recordTag, weakTag } from '../../domain/etag';
import { schemaProblems } from '../../domain/json-schema';
import * as store from '../../store/agents';
import { untilWon } from '../../store/lost-race';
import { readTenant } from '../../store/tenants';

/** Fills in what an author may leave out. Defaults live here, not in the schema, where a union would misplace them. */
export const definitionOf = (body: CreateAgent): AgentDefinition => ({
  name: body.name,
  description: body.description ?? '',
  category: body.category ?? 'custom',
  trigger: { ...body.trigger, filters: body.trigger.filters ?? [] },
  conditions: body.conditions ?? [],
  steps: body.steps,
  conflict_behavior: body.conflict_behavior ?? 'additive',
  priority: body.priority ?? 0,
  client_scope: body.client_scope ?? 'all',
  client_ids: body.client_ids ?? [],
});

/** Refuses a definition that could not run, with a pointer to each fault; nothing of it is stored. */
export function checked(definition: AgentDefinition): AgentDefinition {
  const findings = checkDefinition(definition, eventCatalog, schemaProblems());
  if (findings.length === 0) return definition;
  const [first] = findings;
  const message =
    findings.length === 1 && first
      ? `${first.path}: ${first.message}`
      : `${findings.length} problems in the definition.`;
  throw problem('invalid_agent_config', { message, findings });
}

async function claim(context: Context, orgId: string, agentId: string): Promise<void> {
  const tenant = await readTenant(context.store, orgId);
  const tier = tenant?.tier ?? 'standard';
  const cap = tenant?.agentLimit ?? AGENT_CAP[tier];
  if (await store.claimSlot(context.store, { orgId, agentId, now: context.clock.now() }, cap)) return;
  throw problem('agent_limit_reached', {
    message: `${cap} agents are active, the most tier ${tier} allows. Pause one or move to a larger tier.`,
    facts: { limit: cap, active: cap, tier },
  });
}

function refuseMove(from: AgentStatus, to: AgentStatus): never {
  throw problem('invalid_status_transition', {
    message: `An agent cannot go from ${from} to ${to}; from ${from} it can go to ${movesFrom(from).join(' or ')}.`,
    facts: { from, to, allowed: movesFrom(from) },
  });
}

type IfMatch = string | string[] | undefined;

/** Refuses a change that was meant for another version than the one there is. */
export function requireVersion(ifMatch: IfMatch, { id, version }: { id: string; version: number }): void {
  if (matchesVersion(ifMatch, id, version)) return;
  const etag = weakTag(recordTag(id, version));
  throw problem('version_conflict', { facts: { etag }, headers: { ETag: etag } });
}

/** The change of an update as stored fields. */
function changeOf(record: store.AgentRecord, body: UpdateAgent, now: Date): Partial<store.AgentRecord> {
  const { status, ...fields } = body;
  const change: Partial<store.AgentRecord> = {
    updated_at: now,
    version: record.version + 1,
    // Where it is already it stays: an agent in error keeps what it was stopped for.
    ...(status && status !== record.status ? { status, error_info: null } : {}),
  };
  const activates = status === 'active' && record.status !== 'active';
  if (Object.keys(fields).length === 0 && !activates) return change;
  const definition = checked(definitionOf({ ...record.definition, ...fields }));
  return {
    ...change,
    definition,
    name: definition.name,
    category: definition.category,
    event_type: definition.trigger.event_type,
    source_product: definition.trigger.source_product,
  };
}

/** Applies an update to the version that was read; null when another change came first. */
async function tryUpdate(
  context: Context,
  record: store.AgentRecord,
  body: UpdateAgent,
): Promise<store.AgentRecord | null> {
  const to = body.status ?? record.status;
  if (record.type === 'template' || !mayMove(record.status, to)) refuseMove(record.status, to);
  const change = changeOf(record, body, context.clock.now());
  const moves = to !== record.status;
  if (moves && to === 'active') await claim(context, record.org_id, record._id);
  const at = { orgId: record.org_id, id: record._id, version: record.version };
  const changed = await store.changeAgent(context.store, at, change);
  if (moves) await store.settleSlot(context.store, record, context.clock.now());
  return changed;
}

interface Wanted {
  orgId: string;
  id: string;
  ifMatch: IfMatch;
}

/** Tries on the newest version until nobody was faster; each version must be one that `If-Match` allows. */
async function untilChanged(
  context: Context,
  at: Wanted,
  attempt: (record: store.AgentRecord) => Promise<store.AgentRecord | null>,
): Promise<store.AgentRecord> {
  const changed = await untilWon(async () => {
    const record = await store.findAgent(context.store, at.orgId, at.id);
    if (!record) throw problem('agent_not_found');
    requireVersion(at.ifMatch, { id: record._id, version: record.version });
    return attempt(record);
  });
  if (changed) return changed;
  throw problem('version_conflict', { message: 'The agent is being changed by others all the time; try again.' });
}

/**
 * Applies an update. A lost race is told to whoever asked with `If-Match`, and tried again on the newer version for
 * everybody else: fields that only the other change named are kept.
 */
export const applyUpdate = (context: Context, at: Wanted, body: UpdateAgent): Promise<store.AgentRecord> =>
  untilChanged(context, at, (record) => tryUpdate(context, record, body));

/** Marks an agent as going away: the version that was read, when `If-Match` names one. */
export const markDeleting = (context: Context, at: Wanted, by: AskedBy): Promise<store.AgentRecord> =>
  untilChanged(context, at, ({ version }) => {
    const mark = { deleted_by: by, updated_at: context.clock.now() };
    return store.markAgentDeleting(context.store, { orgId: at.orgId, id: at.id, version }, mark);
  });
