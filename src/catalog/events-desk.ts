/** Events of the service desk and around it: tickets, projects, calls, the client portal. */
import type { EventCatalogEntry } from '../contracts/event';
import * as f from './event-fields';

const STATUSES = ['new', 'open', 'in_progress', 'waiting_customer', 'waiting_vendor', 'resolved', 'closed'] as const;
const TECHNICIAN: f.Fields = { technician_id: f.id('usr_ada') };

/** What every ticket event carries: the ticket as it is after the event. */
const TICKET: f.Fields = {
  ...f.TICKET_ID,
  ticket_number: f.text('T-1001'),
  title: f.text('Warehouse printer does not print labels'),
  subject: f.text('Warehouse printer does not print labels'),
  description: f.hidden('Since this morning the label printer in hall 2 only blinks. Shipping has stopped.'),
  priority: f.choice(f.PRIORITIES, 'high'),
  status: f.choice(STATUSES, 'open'),
  board: f.text('Service Desk'),
  board_id: f.id('brd_service'),
  type: f.text('ticket'),
  source: f.choice(['portal', 'email', 'phone', 'api', 'rmm', 'agent'], 'email'),
  ...f.CLIENT,
  company_id: f.id('cli_northwind'),
  contact_id: f.id('con_maria'),
  assignee_id: f.id('usr_ada'),
  escalation_level: f.whole(0),
  due_at: f.moment('2026-11-20T16:00:00.000Z'),
  tags: f.listOf(['printer', 'warehouse']),
  created_at: f.moment('2026-11-20T08:12:00.000Z'),
  updated_at: f.moment('2026-11-20T09:05:00.000Z'),
};

const SLA_TYPE = f.choice(['response', 'resolution'], 'resolution', 'SLA type');

const ticket = (name: string, about: { title: string; text: string }, fields: f.Fields = {}): EventCatalogEntry =>
  f.event(`psa:ticket.${name}`, {
    category: 'service_desk',
    name: about.title,
    about: about.text,
    fields: { ...TICKET, ...fields },
  });

const TICKETS: EventCatalogEntry[] = [
  ticket('created', { title: 'Ticket created', text: 'A ticket was opened, by whatever way it came in.' }),
  ticket(
    'updated',
    {
      title: 'Ticket updated',
      text: 'Any field of a ticket changed; `changed` names them, `previous` holds the old values.',
    },
    { changed: f.listOf(['priority'], 'Changed fields'), previous: f.hidden({ priority: 'medium' }) },
  ),
  ticket(
    'escalated',
    { title: 'Ticket escalated', text: 'A ticket moved to a higher escalation level or became critical.' },
    { from_level: f.whole(0), to_level: f.whole(1), reason: f.text('priority_raised') },
  ),
  ticket(
    'sla_warning',
    { title: 'SLA at risk', text: 'A ticket used most of the time its service level allows.' },
    { sla_type: SLA_TYPE, minutes_left: f.whole(45), percent_used: f.whole(81) },
  ),
  ticket(
    'sla_breached',
    { title: 'SLA breached', text: 'A ticket passed the time its service level allows.' },
    { sla_type: SLA_TYPE, overdue_minutes: f.whole(12) },
  ),
  ticket(
    'assigned',
    { title: 'Ticket assigned', text: 'A ticket was given to a technician or a team.' },
    { previous_assignee_id: f.id('usr_ben'), team: f.text('Field service') },
  ),
  ticket(
    'status_changed',
    { title: 'Ticket status changed', text: 'A ticket moved from one status to another.' },
    { from: f.choice(STATUSES, 'new'), to: f.choice(STATUSES, 'open') },
  ),
  ticket(
    'customer_replied',
    { title: 'Customer replied', text: 'The client answered on a ticket.' },
    {
      body: f.hidden('It works again after switching it off and on. Thank you!'),
      channel: f.choice(['portal', 'email', 'phone'], 'email'),
      reopened: f.flag(false),
    },
  ),
  ticket(
    'closed',
    { title: 'Ticket closed', text: 'A ticket was closed for good.' },
    { resolution_code: f.text('solved_remotely'), minutes_to_close: f.whole(187), csat_sent: f.flag(true) },
  ),
];

const AROUND_TICKETS: EventCatalogEntry[] = [
  f.event('psa:time_entry.created', {
    category: 'service_desk',
    name: 'Time recorded',
    about: 'A technician recorded time on a ticket.',
    fields: { ...f.TICKET_ID, minutes: f.whole(30), billable: f.flag(true), ...TECHNICIAN, ...f.CLIENT },
  }),
  f.event('psa:survey.negative', {
    category: 'client_success',
    name: 'Negative survey answer',
    about: 'A client rated a closed ticket badly.',
    fields: {
      score: f.whole(2),
      comment: f.hidden('Nobody called back for two days.'),
      ...f.TICKET_ID,
      ticket_number: f.text('T-1001'),
      ...TECHNICIAN,
      ...f.CLIENT,
    },
  }),
  f.event('projects:task.overdue', {
    category: 'operations',
    name: 'Project task overdue',
    about: 'A task of a project passed its due date.',
    fields: {
      project_id: f.id('prj_migration'),
      task_id: f.id('tsk_cutover'),
      days_overdue: f.whole(3),
      owner_id: f.id('usr_ada'),
      ...f.CLIENT,
    },
  }),
  f.event('projects:budget.threshold', {
    category: 'finance',
    name: 'Project budget nearly used',
    about: 'A project used a share of its budget that someone wants to know about.',
    fields: { project_id: f.id('prj_migration'), percent: f.whole(80), cap: f.money(2_500_000), ...f.CLIENT },
  }),
];

const PHONE = '+49 30 5550142';

const CALLS: EventCatalogEntry[] = [
  f.event('voice:call.missed', {
    category: 'communications',
    name: 'Call missed',
    about: 'A caller hung up before anyone answered.',
    fields: { from: f.text(PHONE), queue: f.text('Support'), wait_s: f.whole(94, 'Wait (seconds)'), ...f.CLIENT },
  }),
  f.event('voice:call.completed', {
    category: 'communications',
    name: 'Call completed',
    about: 'A call ended; a recording may exist.',
    fields: {
      direction: f.choice(['inbound', 'outbound', 'internal'], 'inbound'),
      duration_s: f.whole(312, 'Duration (seconds)'),
      recording_id: f.id('rec_7f3a'),
      sentiment: f.choice(['positive', 'neutral', 'negative'], 'neutral'),
      ...f.CLIENT,
    },
  }),
  f.event('voice:voicemail.received', {
    category: 'communications',
    name: 'Voicemail received',
    about: 'A caller left a message.',
    fields: {
      from: f.text(PHONE),
      transcript: f.hidden('Hello, the whole office is offline, please call back as soon as you can.'),
      urgency: f.choice(['low', 'normal', 'high'], 'high'),
      ...f.CLIENT,
    },
  }),
];

const CONTACT: f.Fields = { contact_id: f.id('con_maria'), ...f.CLIENT };

const PORTAL: EventCatalogEntry[] = [
  f.event('portal:request.submitted', {
    category: 'service_desk',
    name: 'Portal form submitted',
    about: 'A client sent a form of the service portal.',
    fields: {
      form_id: f.id('frm_new_laptop'),
      ...CONTACT,
      answers: f.hidden({ model: 'T14', needed_by: '2026-12-01' }),
    },
  }),
  f.event('portal:user.invited', {
    category: 'onboarding',
    name: 'Portal user invited',
    about: 'A contact was invited to the client portal.',
    fields: { ...CONTACT, role: f.choice(['viewer', 'requester', 'approver', 'admin'], 'requester') },
  }),
  f.event('portal:approval.decided', {
    category: 'client_success',
    name: 'Client decided',
    about: 'A contact approved or denied something in the portal.',
    fields: { approval_id: f.id('apr_01K0ZR'), decision: f.choice(['approved', 'denied'], 'approved'), ...CONTACT },
  }),
];

export const DESK_EVENTS: EventCatalogEntry[] = [...TICKETS, ...AROUND_TICKETS, ...CALLS, ...PORTAL];
