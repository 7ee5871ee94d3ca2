/** Templates for running systems and for security. */
import type { Template } from '../contracts/template';
import { define, SERVICE_DESK, template } from './definitions';

const slaEscalation = define({
  name: 'SLA breach escalation',
  description: 'Explains a breached service level in a few lines and, once approved, tells the service lead.',
  category: 'operations',
  trigger: {
    type: 'bus_event',
    event_type: 'ticket.sla_breached',
    source_product: 'psa',
    filters: [{ field: 'priority', operator: 'in', value: ['high', 'critical'] }],
  },
  steps: [
    {
      type: 'ai_reason',
      id: 'explain',
      tier: 'quick',
      prompt: [
        'Explain in at most four sentences what this ticket is about and why it is late. Do not blame anyone.',
        'Title: {{event_payload.title}}',
        'Text: {{truncate event_payload.description 4000}}',
        'Overdue by {{event_payload.overdue_minutes}} minutes ({{event_payload.sla_type}}).',
      ].join('\n'),
    },
    {
      type: 'approval_gate',
      id: 'confirm',
      message:
        'Escalate {{event_payload.ticket_number}} (client {{default event_payload.client_name "none"}}) to the service lead?\n\n{{steps.explain.output.text}}',
      expires_in: '2h',
    },
    {
      type: 'notification',
      id: 'escalate',
      channel: 'email',
      recipients: [SERVICE_DESK],
      subject: 'SLA breached: {{event_payload.ticket_number}} {{event_payload.title}}',
      body: '{{steps.explain.output.text}}\n\nClient: {{default event_payload.client_name "none"}}\nOverdue by {{event_payload.overdue_minutes}} minutes.\nTrace: {{execution.url}}',
    },
  ],
});

const deviceOffline = define({
  name: 'Server offline concierge',
  description:
    'Waits a quarter of an hour for planned restarts, then reports servers that are still offline, louder outside office hours.',
  category: 'operations',
  trigger: {
    type: 'bus_event',
    event_type: 'device.offline',
    source_product: 'rmm',
    filters: [
      { field: 'device_class', operator: 'eq', value: 'server' },
      { field: 'hours_offline', operator: 'lt', value: 24 },
    ],
  },
  steps: [
    { type: 'delay', id: 'grace', name: 'Wait for a planned restart', for: '15m' },
    {
      type: 'branch',
      id: 'hours',
      branches: [
        {
          name: 'night',
          when: {
            any: [
              { field: 'now.local_hour', operator: 'lt', value: 7 },
              { field: 'now.local_hour', operator: 'gte', value: 18 },
              { field: 'now.local_weekday', operator: 'in', value: ['saturday', 'sunday'] },
            ],
          },
          steps: [
            {
              type: 'notification',
              id: 'page',
              channel: 'sms',
              recipients: ['+15550100'],
              body: '{{event_payload.hostname}} offline for {{event_payload.hours_offline}} h ({{default event_payload.client_name event_payload.client_id}})',
            },
          ],
        },
      ],
      else: [
        {
          type: 'notification',
          id: 'report',
          channel: 'email',
          recipients: [SERVICE_DESK],
          subject:
            '{{event_payload.hostname}} of {{default event_payload.client_name event_payload.client_id}} is offline',
          body: '{{event_payload.hostname}} ({{event_payload.os}}) has been offline for {{event_payload.hours_offline}} hours.\nTrace: {{execution.url}}',
        },
      ],
    },
  ],
});

const phishing = define({
  name: 'Phishing report handler',
  description:
    'Judges a reported message and, when it looks like phishing, removes it from all mailboxes after approval.',
  category: 'security',
  trigger: { type: 'bus_event', event_type: 'phishing.reported', source_product: 'security' },
  steps: [
    {
      type: 'ai_reason',
      id: 'judge',
      tier: 'standard',
      prompt: [
        'Is this reported message phishing? Answer with a verdict, your confidence from 0 to 1 and the indicators you saw.',
        'Sender: {{event_payload.sender}}',
        'Subject: {{event_payload.subject}}',
        'Headers: {{truncate event_payload.headers 8000}}',
      ].join('\n'),
      output_schema: {
        type: 'object',
        additionalProperties: false,
        required: ['verdict', 'confidence', 'indicators'],
        properties: {
          verdict: { type: 'string', enum: ['phishing', 'spam', 'harmless'] },
          confidence: { type: 'number', minimum: 0, maximum: 1 },
          indicators: { type: 'array', items: { type: 'string' }, maxItems: 20 },
        },
      },
    },
    {
      type: 'branch',
      id: 'verdict',
      branches: [
        {
          name: 'phishing',
          when: { field: 'steps.judge.output.verdict', operator: 'eq', value: 'phishing' },
          steps: [
            {
              type: 'approval_gate',
              id: 'purge_ok',
              message:
                'Remove all messages from {{event_payload.sender}} with the subject "{{event_payload.subject}}"?\nIndicators: {{join steps.judge.output.indicators "; "}}',
              expires_in: '4h',
            },
            {
              type: 'http_request',
              id: 'purge',
              method: 'POST',
              url: 'https://mail-security.example.com/v1/purge',
              body: {
                sender: '{{event_payload.sender}}',
                subject: '{{event_payload.subject}}',
                ticket: '{{execution.id}}',
              },
              expect_status: [200, 202],
            },
          ],
        },
      ],
    },
    {
      type: 'notification',
      id: 'thank',
      channel: 'email',
      recipients: ['{{event_payload.reporter}}'],
      subject: 'Thank you for your report',
      body: 'Thank you for reporting "{{event_payload.subject}}". Our verdict: {{steps.judge.output.verdict}}.',
    },
  ],
});

const isolation = define({
  name: 'Endpoint isolation with approval',
  description:
    'Shows the evidence of a severe detection and cuts the endpoint off the network once someone approved it.',
  category: 'security',
  trigger: {
    type: 'bus_event',
    event_type: 'detection.created',
    source_product: 'defend',
    filters: [
      { field: 'severity', operator: 'in', value: ['high', 'critical'] },
      { field: 'category', operator: 'in', value: ['ransomware', 'exploit', 'credential_theft'] },
    ],
  },
  steps: [
    {
      type: 'approval_gate',
      id: 'isolate_ok',
      message:
        'Isolate {{event_payload.hostname}} of {{default event_payload.client_name event_payload.client_id}} from the network?\n{{event_payload.threat_name}} ({{event_payload.severity}}, {{event_payload.category}}), action taken: {{event_payload.action_taken}}.',
      expires_in: '15m',
    },
    {
      type: 'http_request',
      id: 'isolate',
      method: 'POST',
      url: 'https://defend.example.com/api/response-actions',
      body: {
        endpointId: '{{event_payload.endpoint_id}}',
        detectionId: '{{event_payload.detection_id}}',
        action: 'isolate',
      },
      expect_status: [200, 201, 202],
      retry: { max_attempts: 5 },
    },
    {
      type: 'notification',
      id: 'inform',
      channel: 'email',
      recipients: [SERVICE_DESK],
      subject:
        '{{event_payload.hostname}} of {{default event_payload.client_name event_payload.client_id}} is isolated',
      body: 'Approved by {{default steps.isolate_ok.output.decided_by_name steps.isolate_ok.output.decided_by}}. {{default steps.isolate_ok.output.note "No note."}}\nTrace: {{execution.url}}',
    },
  ],
});

export const OPERATIONS_TEMPLATES: Template[] = [
  template('tpl_sla_escalation', 'operations', '1.1.0', slaEscalation),
  template('tpl_server_offline', 'operations', '1.2.0', deviceOffline),
];

export const SECURITY_TEMPLATES: Template[] = [
  template('tpl_phishing_report', 'security', '1.0.0', phishing),
  template('tpl_endpoint_isolation', 'security', '1.1.0', isolation),
];
