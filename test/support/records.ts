/** What tests put into, and read from, the store directly: things no API call makes. */
import type { AgentDefinition } from '../../src/contracts/agent';
import { executionIdFor, newId } from '../../src/domain/ids';
import { executionRecord } from '../../src/domain/execution';
import { agents, findAgent, insertAgent } from '../../src/store/agents';
import { credits, type CreditMonth } from '../../src/store/credits';
import { eventKeyOf, type EventRecord } from '../../src/store/events';
import { executions, type ExecutionRecord } from '../../src/store/executions';
import type { Store } from '../../src/store/collection';

/** Stores an active agent past the API's checks: tests need gates that expire within seconds. */
export async function storedAgent(
  store: Store,
  orgId: string,
  steps: AgentDefinition['steps'],
  eventType = 'custom.test',
): Promise<string> {
  const id = newId('agt');
  const definition: AgentDefinition = {
    name: 'Stored agent',
    description: '',
    category: 'custom',
    conditions: [],
    conflict_behavior: 'additive',
    priority: 0,
    client_scope: 'all',
    client_ids: [],
    trigger: { type: 'bus_event', event_type: eventType, source_product: 'psa', filters: [] },
    steps,
  };
  await insertAgent(store, {
    _id: id,
    org_id: orgId,
    type: 'custom',
    status: 'active',
    name: definition.name,
    category: 'custom',
    definition,
    event_type: eventType,
    source_product: 'psa',
    version: 1,
    source: null,
    deleting: false,
    created_at: new Date(),
    updated_at: new Date(),
  });
  return id;
}

/** An active agent as nothing writes it: whoever opens or starts a run of it throws. */
export async function brokenAgent(store: Store, orgId: string): Promise<string> {
  const id = await storedAgent(
    store,
    orgId,
    [{ type: 'set_variables', id: 'vars', values: { a: 1 } }],
    'custom.broken',
  );
  await agents.in(store).collection.updateOne({ _id: id } as never, { $set: { definition: {} } });
  return id;
}

/** An event for `brokenAgent` or its like, as a process leaves it that died before its execution was open. */
export function unopenedEvent(orgId: string, agentId: string, receivedAt: Date): EventRecord {
  const id = newId('evt');
  const started = { agent_id: agentId, outcome: 'started', execution_id: executionIdFor(agentId, id, 1) };
  return {
    _id: eventKeyOf(orgId, id),
    org_id: orgId,
    event_id: id,
    event_type: 'custom.broken',
    source_product: 'psa',
    occurred_at: receivedAt.toISOString(),
    received_at: receivedAt,
    client_id: null,
    payload: {},
    sequence: null,
    subject: null,
    resource_id: null,
    webhooks: [],
    outcomes: [started] as never,
    opening: true,
  };
}

/** The record of an execution of that agent as it is before it is opened. */
export async function unopenedRecord(
  store: Store,
  { orgId, agentId, now, payload }: { orgId: string; agentId: string; now: Date; payload: Record<string, unknown> },
): Promise<ExecutionRecord> {
  const agent = await findAgent(store, orgId, agentId);
  if (!agent) throw new Error('the agent is gone');
  return executionRecord({
    id: newId('exe'),
    now,
    org: { name: 'Test org' },
    agent: { id: agentId, name: agent.name, version: 1, definition: agent.definition },
    event: {
      id: newId('evt'),
      org_id: orgId,
      event_type: 'custom.test',
      source_product: 'psa',
      occurred_at: new Date().toISOString(),
      client_id: null,
      payload,
    },
  });
}

/** The sums that must agree: the month's account against the step records. */
export async function creditSums(store: Store, orgId: string) {
  const months = await credits.in(store).find({ org_id: orgId }).lean<CreditMonth[]>().exec();
  const runs = await executions.in(store).find({ org_id: orgId }).lean<ExecutionRecord[]>().exec();
  const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    total: sum(months.map((month) => month.total_used)),
    byAgent: sum(months.flatMap((month) => Object.values(month.by_agent))),
    byModel: sum(months.flatMap((month) => Object.values(month.by_model))),
    bySteps: sum(runs.flatMap((run) => run.steps.map((step) => step.credits_used))),
    byExecutions: sum(runs.map((run) => run.credits_used)),
    held: sum(months.map((month) => month.allocation - month.total_used - month.available)),
  };
}
