/**
 * Agents every org has from the start and can pause. They run unasked, so they spend little: narrow filters, the
 * cheapest model, and mail only where someone must act now.
 */
import type { AgentDefinition } from '../contracts/agent';
import { define, SERVICE_DESK } from './definitions';

/** A shipped agent; `version` rises with every release that changes its definition. */
export interface SystemAgent {
  id: `agt_system_${string}`;
  version: number;
  definition: AgentDefinition;
}

const ticketTriage = define({
  name: 'Ticket triage & routing',
  description:
    'Reads new tickets that people wrote by mail or in the portal, and notes a category, a priority and a one-line summary. Changes nothing in the ticket and sends nothing.',
  category: 'operations',
  trigger: {
    type: 'bus_event',
    event_type: 'ticket.created',
    source_product: 'psa',
    filters: [{ field: 'source', operator: 'in', value: ['email', 'portal'] }],
  },
  steps: [
    {
      type: 'ai_reason',
      id: 'triage',
      name: 'Read the ticket',
      tier: 'quick',
      max_output_tokens: 300,
      prompt: [
        'Sort this service desk ticket. Answer with its category, the priority it deserves, your confidence from 0 to 1 and a summary of at most 20 words.',
        'Title: {{event_payload.title}}',
        'Priority now: {{event_payload.priority}}',
        'Text: {{truncate event_payload.description 4000}}',
      ].join('\n'),
      output_schema: {
        type: 'object',
        additionalProperties: false,
        required: ['category', 'priority', 'confidence', 'summary'],
        properties: {
          category: { type: 'string', enum: ['outage', 'incident', 'request', 'security', 'billing', 'other'] },
          priority: { type: 'string', enum: ['low', 'medium', 'high', 'critical'] },
          confidence: { type: 'number', minimum: 0, maximum: 1 },
          summary: { type: 'string', maxLength: 300 },
        },
      },
    },
    {
      type: 'set_variables',
      id: 'route',
      name: 'Note the result',
      values: {
        category: '{{steps.triage.output.category}}',
        priority: '{{steps.triage.output.priority}}',
        summary: '{{steps.triage.output.summary}}',
        board: '{{default event_payload.board "Service Desk"}}',
      },
    },
  ],
});

const slaGuard = define({
  name: 'SLA breach guard',
  description:
    'When a high or critical ticket is about to miss its service level, writes the service desk what is at stake.',
  category: 'operations',
  trigger: {
    type: 'bus_event',
    event_type: 'ticket.sla_warning',
    source_product: 'psa',
    filters: [
      { field: 'priority', operator: 'in', value: ['high', 'critical'] },
      { field: 'status', operator: 'not_in', value: ['resolved', 'closed'] },
    ],
  },
  steps: [
    {
      type: 'ai_reason',
      id: 'brief',
      name: 'Say what is at stake',
      tier: 'quick',
      max_output_tokens: 200,
      on_error: 'continue',
      prompt: [
        'In at most three sentences: what is this ticket about, and what should be done first?',
        'Title: {{event_payload.title}}',
        'Text: {{truncate event_payload.description 4000}}',
      ].join('\n'),
    },
    {
      type: 'notification',
      id: 'warn',
      name: 'Warn the service desk',
      channel: 'email',
      recipients: [SERVICE_DESK],
      subject: 'SLA at risk: {{event_payload.ticket_number}} has {{event_payload.minutes_left}} minutes left',
      body: [
        '{{event_payload.ticket_number}} {{event_payload.title}}',
        'Client: {{default event_payload.client_name "none"}}',
        'Priority {{event_payload.priority}}, {{event_payload.percent_used}} % of the {{event_payload.sla_type}} time is used.',
        '',
        '{{steps.brief.output.text}}',
        '',
        'Trace: {{execution.url}}',
      ].join('\n'),
    },
  ],
});

const criticalAlert = define({
  name: 'Critical alert pager',
  description:
    'When endpoint protection finds a critical threat and does nothing about it, or no more than block it, alerts the service desk at once.',
  category: 'security',
  trigger: {
    type: 'bus_event',
    event_type: 'detection.created',
    source_product: 'defend',
    filters: [
      { field: 'severity', operator: 'eq', value: 'critical' },
      { field: 'action_taken', operator: 'in', value: ['none', 'blocked'] },
    ],
  },
  steps: [
    {
      type: 'notification',
      id: 'page',
      name: 'Alert the service desk',
      channel: 'email',
      recipients: [SERVICE_DESK],
      subject: 'Critical: {{event_payload.threat_name}} on {{event_payload.hostname}}',
      body: [
        '{{upper event_payload.category}} {{event_payload.threat_name}} on {{event_payload.hostname}}, client {{default event_payload.client_name event_payload.client_id}}.',
        'Action taken so far: {{event_payload.action_taken}}.',
        '',
        'Trace: {{execution.url}}',
      ].join('\n'),
      retry: { max_attempts: 10, initial: '2s', max: '5m' },
    },
  ],
});

const backupFollowUp = define({
  name: 'Failed backup follow-up',
  description:
    'After the second failure in a row, drafts a note about the backup and sends it once a technician approved it.',
  category: 'operations',
  trigger: {
    type: 'bus_event',
    event_type: 'job.failed',
    source_product: 'backups',
    filters: [{ field: 'consecutive_failures', operator: 'eq', value: 2 }],
  },
  steps: [
    {
      type: 'ai_reason',
      id: 'draft',
      name: 'Draft the note',
      tier: 'quick',
      max_output_tokens: 400,
      prompt: [
        'Write a short, calm note to the technician in charge: which backup failed, the likely cause of the error code, and what to check first.',
        'Device: {{event_payload.hostname}}',
        'Error code: {{event_payload.error_code}}',
        'Failures in a row: {{event_payload.consecutive_failures}}',
      ].join('\n'),
    },
    {
      type: 'approval_gate',
      id: 'review',
      name: 'Review the note',
      message:
        'Send this note about {{event_payload.hostname}} (client {{default event_payload.client_name event_payload.client_id}})?\n\n{{steps.draft.output.text}}',
      expires_in: '24h',
    },
    {
      type: 'notification',
      id: 'send',
      name: 'Send the note',
      channel: 'email',
      recipients: [SERVICE_DESK],
      subject: 'Backup of {{event_payload.hostname}} failed {{event_payload.consecutive_failures}} times',
      body: '{{steps.draft.output.text}}\n\nClient: {{default event_payload.client_name event_payload.client_id}}\nTrace: {{execution.url}}',
    },
  ],
});

/** The shipped agents, in the order lists show them. */
export const systemAgents: SystemAgent[] = [
  { id: 'agt_system_ticket_triage', version: 1, definition: ticketTriage },
  { id: 'agt_system_sla_guard', version: 2, definition: slaGuard },
  { id: 'agt_system_critical_alert', version: 2, definition: criticalAlert },
  { id: 'agt_system_backup_followup', version: 2, definition: backupFollowUp },
];
