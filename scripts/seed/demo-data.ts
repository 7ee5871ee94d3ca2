/** The agents of the demo org. */
import type { AgentDefinition } from '../../src/contracts/agent';
import { derivedId } from '../../src/domain/ids';
import { agents, claimSlot, findAgent, insertAgent, type AgentRecord } from '../../src/store/agents';
import { seedHistory, type DemoOptions } from './history';

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
      body: '{{steps.summary.output.text}}\n\nApproved by {{default steps.ok.output.decided_by_name steps.ok.output.decided_by}}.',
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

/** Fills the demo org; what is there already stays as it is. */
export async function seedDemoData(options: DemoOptions): Promise<void> {
  await agents.in(options.store).createIndexes();
  await seedAgent(options, CRITICAL, 'active');
  await seedAgent(options, SLA, 'active');
  await seedAgent(options, ESCALATED, 'draft');
  await seedHistory(options, { id: agentId(options.orgId, CRITICAL.name), definition: CRITICAL });
}
