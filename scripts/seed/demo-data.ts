/** What the demo org holds beside its people and keys: clients, tickets, agents and a month of history. */
import type { AgentDefinition } from '../../src/contracts/agent';
import { creditsFor, monthOf, monthsBefore } from '../../src/domain/credits';
import { executionRecord } from '../../src/domain/execution';
import { derivedId, executionIdFor } from '../../src/domain/ids';
import { agents, claimSlot, findAgent, insertAgent, type AgentRecord } from '../../src/store/agents';
import { addRuns, readStats } from '../../src/store/agent-runs';
import { credits, ensureMonth } from '../../src/store/credits';
import type { Store } from '../../src/store/collection';
import { openExecution, type ExecutionRecord } from '../../src/store/executions';

interface DemoOptions {
  store: Store;
  orgId: string;
  now: Date;
}

const ALLOCATION = 100_000;
const HISTORY_RUNS = 60;
const DAY = 24 * 60 * 60 * 1_000;
const AGENT_CAP = 250;

const ticketTrigger = (eventType: string, priority: string) => ({
  type: 'bus_event' as const,
  event_type: eventType,
  source_product: 'psa',
  filters: [{ field: 'priority', operator: 'eq' as const, value: priority }],
});

const definition = (
  fields: Pick<AgentDefinition, 'name' | 'description' | 'trigger' | 'steps'> & Partial<AgentDefinition>,
): AgentDefinition => ({
  category: 'service_desk',
  conditions: [],
  conflict_behavior: 'additive',
  priority: 0,
  client_scope: 'all',
  client_ids: [],
  ...fields,
});

const CRITICAL = definition({
  name: 'Critical ticket: summarise, ask, notify',
  description: 'Summarises a critical ticket, asks a technician, then mails the on-call engineer.',
  trigger: ticketTrigger('ticket.created', 'critical'),
  steps: [
    {
      type: 'ai_reason',
      id: 'summary',
      tier: 'quick',
      prompt: 'Summarise this ticket for the on-call engineer: {{event_payload.title}}. {{event_payload.description}}',
    },
    {
      type: 'approval_gate',
      id: 'ok',
      message: 'Notify on-call about {{event_payload.ticket_number}} ({{event_payload.title}})?',
      expires_in: '24h',
    },
    {
      type: 'notification',
      id: 'notify',
      channel: 'email',
      recipients: ['oncall@example.com'],
      subject: 'Critical: {{event_payload.ticket_number}} {{event_payload.title}}',
      body: '{{steps.summary.output.text}}\n\nApproved by {{steps.ok.output.decided_by}}.',
    },
  ],
});

const SLA = definition({
  name: 'SLA warning: text the owner',
  description: 'Sends a text message when a high-priority ticket is close to its SLA.',
  trigger: ticketTrigger('ticket.sla_warning', 'high'),
  steps: [
    {
      type: 'notification',
      id: 'text',
      channel: 'sms',
      recipients: ['+15550100'],
      body: '{{event_payload.ticket_number}} is close to its SLA.',
    },
  ],
});

const ESCALATED = definition({
  name: 'Escalated ticket: brief the lead',
  description: 'A draft to try out: a brief for the service lead whenever a ticket escalates.',
  trigger: { type: 'bus_event', event_type: 'ticket.escalated', source_product: 'psa', filters: [] },
  steps: [
    { type: 'ai_reason', id: 'brief', tier: 'standard', prompt: 'Write a short brief: {{event_payload.title}}' },
    {
      type: 'notification',
      id: 'mail',
      channel: 'email',
      recipients: ['lead@example.com'],
      subject: 'Escalated: {{event_payload.title}}',
      body: '{{steps.brief.output.text}}',
    },
  ],
});

const agentId = (orgId: string, name: string): string => derivedId('agt', orgId, name);

async function seedAgent(
  { store, orgId, now }: DemoOptions,
  agent: AgentDefinition,
  status: 'active' | 'draft',
): Promise<void> {
  const id = agentId(orgId, agent.name);
  if (await findAgent(store, orgId, id)) return;
  const record: AgentRecord = {
    _id: id,
    org_id: orgId,
    type: 'custom',
    status,
    name: agent.name,
    category: agent.category,
    definition: agent,
    event_type: agent.trigger.event_type,
    source_product: agent.trigger.source_product,
    version: 1,
    source: null,
    deleting: false,
    created_at: new Date(now.getTime() - 40 * DAY),
    updated_at: new Date(now.getTime() - 40 * DAY),
  };
  await insertAgent(store, record);
  if (status === 'active') await claimSlot(store, { orgId, agentId: id, now: new Date() }, AGENT_CAP);
}

const SUBJECTS = ['Mail server down', 'VPN unreachable', 'File share read-only', 'Backup job stuck', 'Phones silent'];

const USAGE = { input_tokens: 120, output_tokens: 60 };
const MODEL = { tier: 'quick', provider: 'offline', name: 'offline' };
const RUN_MS = 63_000;

/** When run number `index` happened: evenly over the past thirty days. */
const pastMoment = (index: number, now: Date): Date =>
  new Date(now.getTime() - Math.floor(((HISTORY_RUNS - index) * 30 * DAY) / HISTORY_RUNS) - 3_600_000);

const pastEvent = (orgId: string, index: number, at: Date) => ({
  id: `evt_history_${index}`,
  org_id: orgId,
  event_type: 'ticket.created',
  source_product: 'psa',
  occurred_at: at.toISOString(),
  client_id: null,
  payload: {
    ticket_id: derivedId('tkt', orgId, index),
    ticket_number: `T-${1_000 + index}`,
    title: SUBJECTS[index % SUBJECTS.length],
    priority: 'critical',
    status: 'new',
  },
});

const pastOutputs = (index: number, at: Date): Record<string, unknown>[] => [
  { text: `${String(SUBJECTS[index % SUBJECTS.length])}: needs the on-call engineer.` },
  {
    decision: 'approved',
    decided_by: 'usr_demo_tech',
    decided_at: new Date(at.getTime() + 60_000).toISOString(),
    note: null,
  },
  { deliveries: [{ recipient: 'oncall@example.com', status: 'sent', message_id: `<history-${index}@signalbox>` }] },
];

/** One finished run of the past: the summary was made, somebody approved, the mail left. */
function pastRun(orgId: string, index: number, now: Date): ExecutionRecord {
  const at = pastMoment(index, now);
  const event = pastEvent(orgId, index, at);
  const id = agentId(orgId, CRITICAL.name);
  const record = executionRecord({
    id: executionIdFor(id, `${orgId}:${event.id}`, 1),
    event,
    now: at,
    orgName: 'Demo MSP',
    agent: { id, name: CRITICAL.name, version: 1, definition: CRITICAL },
  });
  const cost = creditsFor('quick', USAGE);
  const outputs = pastOutputs(index, at);
  const steps = record.steps.map((slot, step) => ({
    ...slot,
    status: 'completed' as const,
    output: outputs[step] ?? {},
    attempts: 1,
    credits_used: step === 0 ? cost : 0,
    started_at: new Date(at.getTime() + step * 1_000),
    completed_at: new Date(at.getTime() + step * 1_000 + (step === 1 ? 60_000 : 800)),
    ...(step === 0 ? { model: MODEL, usage: USAGE } : {}),
  }));
  return {
    ...record,
    steps,
    status: 'completed',
    credits_used: cost,
    started_at: at,
    completed_at: new Date(at.getTime() + RUN_MS),
    seq: 4,
    start_pending: false,
  };
}

/** Runs of the past with the credits and figures that belong to them, so that every sum adds up. */
async function seedHistory({ store, orgId, now }: DemoOptions): Promise<void> {
  const id = agentId(orgId, CRITICAL.name);
  if ((await readStats(store, orgId, [id])).has(id)) return;
  const runs = Array.from({ length: HISTORY_RUNS }, (_unused, index) => pastRun(orgId, index, now));
  for (const run of runs) await openExecution(store, run);
  for (const month of [monthOf(now), ...monthsBefore(now, 12)]) {
    const used = runs
      .filter((run) => monthOf(run.created_at) === month)
      .reduce((sum, run) => sum + run.credits_used, 0);
    await ensureMonth(store, { orgId, month, allocation: ALLOCATION }, now);
    if (used === 0) continue;
    await credits
      .in(store)
      .updateOne(
        { _id: `${orgId}:${month}`, total_used: 0 },
        { $inc: { total_used: used, available: -used }, $set: { [`by_agent.${id}`]: used, 'by_model.quick': used } },
      );
  }
  await addRuns(store, [
    {
      orgId,
      agentId: id,
      total: runs.length,
      completed: runs.length,
      failed: 0,
      durationMs: runs.length * RUN_MS,
      lastRunAt: runs.at(-1)?.completed_at ?? now,
    },
  ]);
}

/** Fills the demo org; what is there already stays as it is. */
export async function seedDemoData(options: DemoOptions): Promise<void> {
  await agents.in(options.store).createIndexes();
  await seedAgent(options, CRITICAL, 'active');
  await seedAgent(options, SLA, 'active');
  await seedAgent(options, ESCALATED, 'draft');
  await seedHistory(options);
}
