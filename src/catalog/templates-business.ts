/** Templates for money, for people, and for everything else. */
import type { Template } from '../contracts/template';
import { define, SERVICE_DESK, template } from './definitions';

const dunning = define({
  name: 'Overdue invoice reminder',
  description:
    'Drafts a reminder whose tone follows how late the invoice is; amounts of 5 000 and more are approved first. Invoices that name no contact are sent to accounting.',
  category: 'billing',
  trigger: {
    type: 'bus_event',
    event_type: 'invoice.overdue',
    source_product: 'books',
    filters: [{ field: 'days_overdue', operator: 'in', value: [3, 10, 20] }],
  },
  steps: [
    {
      type: 'branch',
      id: 'tone',
      branches: [
        {
          name: 'late',
          when: { field: 'event_payload.days_overdue', operator: 'gte', value: 20 },
          steps: [{ type: 'set_variables', id: 'firm', values: { tone: 'firm and factual; name the next step' } }],
        },
      ],
      else: [{ type: 'set_variables', id: 'friendly', values: { tone: 'friendly; assume it was overlooked' } }],
    },
    {
      type: 'ai_reason',
      id: 'draft',
      tier: 'standard',
      prompt: [
        'Write a payment reminder of at most 120 words. Tone: {{vars.tone}}. Do not invent amounts, dates or bank details.',
        'Invoice: {{event_payload.invoice_number}}',
        'Overdue for at least {{event_payload.days_overdue}} days',
      ].join('\n'),
    },
    {
      type: 'approval_gate',
      id: 'review',
      when: { field: 'event_payload.amount', operator: 'gte', value: 500_000 },
      message:
        'Send this reminder for invoice {{event_payload.invoice_number}} to {{default event_payload.client_name event_payload.client_id}}?\n\n{{steps.draft.output.text}}',
      expires_in: '3d',
    },
    {
      type: 'notification',
      id: 'send',
      channel: 'email',
      recipients: ['{{default event_payload.contact_email "accounting@example.com"}}'],
      subject: 'Invoice {{event_payload.invoice_number}}: payment reminder',
      body: '{{steps.draft.output.text}}',
    },
  ],
});

const paymentFailed = define({
  name: 'Payment failed recovery',
  description: 'Tells accounting why a payment failed and checks back after three days.',
  category: 'billing',
  trigger: { type: 'bus_event', event_type: 'payment.failed', source_product: 'books' },
  steps: [
    {
      type: 'notification',
      id: 'tell',
      channel: 'email',
      recipients: ['accounting@example.com'],
      subject: 'Payment for invoice {{event_payload.invoice_number}} failed',
      body: 'Reason: {{event_payload.reason}}. Client: {{default event_payload.client_name event_payload.client_id}}.\nTrace: {{execution.url}}',
    },
    { type: 'delay', id: 'wait', for: '3d' },
    {
      type: 'notification',
      id: 'remind',
      channel: 'email',
      recipients: ['accounting@example.com'],
      subject: 'Still open? Invoice {{event_payload.invoice_number}}',
      body: 'The payment failed three days ago ({{event_payload.reason}}). Please check whether it came in since.',
    },
  ],
});

const onboarding = define({
  name: 'New employee onboarding',
  description: 'Asks for approval, has the account created and welcomes the manager with what happens on day one.',
  category: 'hr',
  trigger: { type: 'bus_event', event_type: 'employee.hired', source_product: 'people' },
  steps: [
    {
      type: 'approval_gate',
      id: 'confirm',
      message:
        'Set up {{event_payload.full_name}} ({{event_payload.department}}) for {{date event_payload.start_date "YYYY-MM-DD"}}?',
      expires_in: '7d',
    },
    {
      type: 'http_request',
      id: 'account',
      name: 'Create the account',
      method: 'POST',
      url: 'https://directory.example.com/v1/users',
      body: {
        displayName: '{{event_payload.full_name}}',
        department: '{{event_payload.department}}',
        employeeId: '{{event_payload.employee_id}}',
        startsAt: '{{event_payload.start_date}}',
      },
      expect_status: [200, 201],
      retry: { max_attempts: 5 },
    },
    {
      type: 'notification',
      id: 'welcome',
      channel: 'email',
      recipients: ['{{event_payload.manager_email}}'],
      subject: '{{event_payload.full_name}} is set up',
      body: 'The account of {{event_payload.full_name}} is ready for {{date event_payload.start_date "YYYY-MM-DD"}}.',
    },
  ],
});

const leaver = define({
  name: 'Leaver offboarding',
  description: 'Blocks the account of someone who leaves, after approval, and records who decided.',
  category: 'hr',
  trigger: { type: 'bus_event', event_type: 'employee.terminated', source_product: 'people' },
  steps: [
    {
      type: 'approval_gate',
      id: 'confirm',
      message:
        'Block the account of {{event_payload.full_name}} (last day {{date event_payload.last_day "YYYY-MM-DD"}})?',
      expires_in: '3d',
    },
    {
      type: 'http_request',
      id: 'block',
      method: 'POST',
      url: 'https://directory.example.com/v1/users/{{event_payload.employee_id}}/block',
      body: { reason: 'left', at: '{{event_payload.last_day}}' },
      expect_status: [200, 202, 204],
    },
    {
      type: 'notification',
      id: 'evidence',
      channel: 'email',
      recipients: [SERVICE_DESK],
      subject: 'Account of {{event_payload.full_name}} is blocked',
      body: 'Approved by {{default steps.confirm.output.decided_by_name steps.confirm.output.decided_by}}; the directory answered {{steps.block.output.status}}.\nTrace: {{execution.url}}',
    },
  ],
});

const unhappyClient = define({
  name: 'Negative survey rescue',
  description: 'Reads a bad survey answer, drafts an apology and lets the service lead send it.',
  category: 'custom',
  trigger: {
    type: 'bus_event',
    event_type: 'survey.negative',
    source_product: 'psa',
    filters: [{ field: 'score', operator: 'lte', value: 2 }],
  },
  steps: [
    {
      type: 'ai_reason',
      id: 'draft',
      tier: 'standard',
      prompt: [
        'A client was unhappy. Write an honest apology of at most 100 words that answers the comment and offers a call.',
        'Score: {{event_payload.score}} of 5',
        'Comment: {{default event_payload.comment "(none)"}}',
      ].join('\n'),
    },
    {
      type: 'approval_gate',
      id: 'review',
      message: 'Pass this apology for ticket {{event_payload.ticket_number}} on?\n\n{{steps.draft.output.text}}',
    },
    {
      type: 'notification',
      id: 'send',
      channel: 'email',
      recipients: [SERVICE_DESK],
      subject: 'Unhappy client: ticket {{event_payload.ticket_number}}, score {{event_payload.score}}',
      body: '{{steps.draft.output.text}}',
    },
  ],
});

const certificateWatch = define({
  name: 'Certificate expiry watch',
  description: 'Reports certificates that end in 30, 14 and 3 days by mail, and the last time by SMS too.',
  category: 'custom',
  trigger: {
    type: 'bus_event',
    event_type: 'certificate.expiring',
    source_product: 'fleet',
    filters: [{ field: 'days_left', operator: 'in', value: [30, 14, 3] }],
  },
  steps: [
    {
      type: 'notification',
      id: 'mail',
      channel: 'email',
      recipients: [SERVICE_DESK],
      subject: '{{event_payload.subject}}: certificate ends in {{event_payload.days_left}} days',
      body: 'Used on: {{join event_payload.hosts ", "}}\nTrace: {{execution.url}}',
    },
    {
      type: 'notification',
      id: 'sms',
      when: { field: 'event_payload.days_left', operator: 'lte', value: 7 },
      channel: 'sms',
      recipients: ['+15550100'],
      body: 'Certificate {{event_payload.subject}} ends in {{event_payload.days_left}} days',
    },
  ],
});

export const BILLING_TEMPLATES: Template[] = [
  template('tpl_overdue_invoice', 'billing', '1.2.0', dunning),
  template('tpl_payment_failed', 'billing', '1.1.0', paymentFailed),
];

export const HR_TEMPLATES: Template[] = [
  template('tpl_employee_onboarding', 'hr', '1.0.0', onboarding),
  template('tpl_leaver_offboarding', 'hr', '1.0.0', leaver),
];

export const CUSTOM_TEMPLATES: Template[] = [
  template('tpl_negative_survey', 'custom', '1.0.0', unhappyClient),
  template('tpl_certificate_watch', 'custom', '1.0.0', certificateWatch),
];
