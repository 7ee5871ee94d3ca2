/** PSA: tickets, how urgent they are and when they are due. */
import { field } from './field';
import { resource, type RecordOf } from './resource';
import { enters } from './rules';
import { nextOfSla, UNMEASURED } from './sla';

const STATUSES = ['new', 'open', 'in_progress', 'waiting_customer', 'waiting_vendor', 'resolved', 'closed'] as const;
const REOPEN_DAYS = 14;
const DAY_MS = 24 * 60 * 60 * 1_000;
const MINUTE_MS = 60_000;
/** Deadlines as samples show them: shortly before and after their moment. */
const SLA_MISSED = '2026-11-20T22:58:00.000Z';
const SLA_DUE = '2026-11-20T23:17:00.000Z';

const ticketFields = {
  number: field.integer().counted(1_001).filterable().sortable(),
  subject: field.string().required().sortable(),
  description: field.text(),
  status: field.choice(STATUSES).default('new').filterable().sortable(),
  priority: field.choice(['low', 'medium', 'high', 'critical']).default('medium').filterable().sortable(),
  boardId: field.ref('boards').filterable(),
  companyId: field.ref('companies').filterable(),
  contactId: field.ref('contacts').filterable(),
  assigneeId: field.id().filterable(),
  source: field.choice(['portal', 'email', 'phone', 'api', 'rmm', 'agent']).default('api').filterable(),
  escalationLevel: field.integer(0, 3).default(0).filterable().sortable(),
  dueAt: field.datetime().filterable().sortable(),
  slaStatus: field.choice(['ok', 'warning', 'breached']).default('ok').serverSet().filterable(),
  slaTarget: field
    .choice(['response', 'resolution'])
    .serverSet()
    .described('What `slaStatus` speaks of; null while no target is near'),
  slaDueAt: field.datetime().serverSet().described('The deadline that `slaStatus` speaks of'),
  resolvedAt: field.datetime().serverSet().filterable().sortable(),
  closedAt: field.datetime().serverSet().filterable(),
  tags: field.strings().default([]).filterable(),
};
type Ticket = RecordOf<typeof ticketFields>;

const OPEN_STATUSES = STATUSES.filter((status) => status !== 'resolved' && status !== 'closed');

const isOpen = ({ status }: Ticket): boolean => (OPEN_STATUSES as readonly string[]).includes(status);

/** A ticket that somebody begins with, or whose deadline moves, is measured anew. */
const startsAnew = (after: Ticket, before: Ticket): boolean =>
  before.boardId !== after.boardId ||
  before.dueAt !== after.dueAt ||
  (before.slaTarget === 'response' && before.status === 'new' && after.status !== 'new');

const millisecondsBetween = (from: string, to: string): number => Date.parse(to) - Date.parse(from);

const canReopen = (ticket: Ticket, now: Date): boolean =>
  ticket.closedAt !== null && now.getTime() - Date.parse(ticket.closedAt) <= REOPEN_DAYS * DAY_MS;

const becameCritical = (before: Ticket, after: Ticket): boolean =>
  before.priority !== 'critical' && after.priority === 'critical';

const roseInLevel = (before: Ticket, after: Ticket): boolean => after.escalationLevel > before.escalationLevel;

/** Whole minutes from one moment to another, none when it is the earlier one or not known. */
const minutesBetween = (from: string | null, to: string | null): number =>
  from === null || to === null ? 0 : Math.max(0, Math.floor(millisecondsBetween(from, to) / MINUTE_MS));

const percentUsed = ({ createdAt, updatedAt, slaDueAt }: Ticket): number => {
  const allowed = slaDueAt === null ? 0 : millisecondsBetween(createdAt, slaDueAt);
  return allowed <= 0 ? 100 : Math.min(100, Math.floor((millisecondsBetween(createdAt, updatedAt) / allowed) * 100));
};

/** Tickets. A ticket without a company is internal: agents with client scope `internal` act on it. */
export const tickets = resource({
  products: ['psa'],
  path: 'tickets',
  nouns: ['ticket', 'tickets'],
  prefix: 'tkt',
  category: 'service_desk',
  fields: ticketFields,
  label: 'subject',
  hasNotes: true,
  lists: ['contactId', 'assigneeId', 'companyId', 'boardId', 'status', 'priority'],
  states: { field: 'status', from: { closed: (ticket, now) => (canReopen(ticket, now) ? ['open'] : []) } },
  computed: (after, before, now) => ({
    resolvedAt: isOpen(after) ? null : (after.resolvedAt ?? now),
    closedAt: after.status === 'closed' ? (after.closedAt ?? now) : null,
    ...(before && startsAnew(after, before) ? UNMEASURED : {}),
  }),
  timer: {
    reads: 'boardId',
    fields: ['status', 'boardId', 'dueAt', 'slaStatus', 'slaTarget'],
    waits: { status: OPEN_STATUSES },
    next: nextOfSla,
  },
  labelled: ['boardId'],
  payload: (ticket, labels) => ({
    ticket_id: ticket.id,
    number: ticket.number,
    ticket_number: `T-${ticket.number}`,
    title: ticket.subject,
    subject: ticket.subject,
    description: ticket.description,
    priority: ticket.priority,
    status: ticket.status,
    board: labels['boardId'] ?? null,
    board_id: ticket.boardId,
    type: 'ticket',
    source: ticket.source,
    client_id: ticket.companyId,
    company_id: ticket.companyId,
    contact_id: ticket.contactId,
    assignee_id: ticket.assigneeId,
    escalation_level: ticket.escalationLevel,
    due_at: ticket.dueAt,
    sla_status: ticket.slaStatus,
    sla_target: ticket.slaTarget,
    sla_due_at: ticket.slaDueAt,
    resolved_at: ticket.resolvedAt,
    closed_at: ticket.closedAt,
    tags: ticket.tags,
    created_at: ticket.createdAt,
    updated_at: ticket.updatedAt,
  }),
  events: {
    created: { on: 'create', text: 'A ticket was created.' },
    updated: {
      on: 'update',
      text: 'A ticket changed; `changed` names the fields and `previous` has their old values.',
    },
    status_changed: {
      on: 'update',
      text: 'The status of a ticket changed.',
      when: (before, after) => before.status !== after.status,
      facts: (before, after) => ({ from: before.status, to: after.status }),
    },
    assigned: {
      on: 'update',
      text: 'A ticket was assigned to somebody else.',
      when: (before, after) => after.assigneeId !== null && before.assigneeId !== after.assigneeId,
      fires: { change: { assigneeId: 'usr_second_level' } },
      facts: (before) => ({ previous_assignee_id: before.assigneeId }),
    },
    escalated: {
      on: 'update',
      text: 'The priority of a ticket was raised to critical, or its escalation level rose.',
      when: (before, after) => becameCritical(before, after) || roseInLevel(before, after),
      facts: (before, after) => ({
        from_level: before.escalationLevel,
        to_level: after.escalationLevel,
        reason: becameCritical(before, after) ? 'priority_raised' : 'level_raised',
      }),
    },
    resolved: { on: 'update', text: 'A ticket was resolved.', when: enters('status', 'resolved') },
    closed: {
      on: 'update',
      text: 'A ticket was closed.',
      when: enters('status', 'closed'),
      facts: (_before, after) => ({
        minutes_to_close: Math.round(
          millisecondsBetween(after.createdAt, after.closedAt ?? after.updatedAt) / MINUTE_MS,
        ),
      }),
    },
    sla_warning: {
      on: 'update',
      text: 'Four fifths of the time a ticket may take have passed.',
      when: enters('slaStatus', 'warning'),
      fires: { by: 'timer', change: { slaStatus: 'warning', slaTarget: 'resolution', slaDueAt: SLA_DUE } },
      facts: (_before, after) => ({
        sla_type: after.slaTarget,
        minutes_left: minutesBetween(after.updatedAt, after.slaDueAt),
        percent_used: percentUsed(after),
      }),
    },
    sla_breached: {
      on: 'update',
      text: 'A ticket took longer than its service level allows.',
      when: (before, after) =>
        after.slaStatus === 'breached' && (before.slaStatus !== 'breached' || before.slaTarget !== after.slaTarget),
      fires: { by: 'timer', change: { slaStatus: 'breached', slaTarget: 'resolution', slaDueAt: SLA_MISSED } },
      facts: (_before, after) => ({
        sla_type: after.slaTarget,
        overdue_minutes: minutesBetween(after.slaDueAt, after.updatedAt),
      }),
    },
    deleted: { on: 'delete', text: 'A ticket was deleted.' },
  },
  examples: {
    create: {
      subject: 'Printer offline',
      description: 'The printer on the second floor answers no pings.',
      priority: 'high',
      tags: ['printer'],
    },
    update: { status: 'in_progress', priority: 'critical', escalationLevel: 1 },
  },
  portal: {
    actions: {
      list: 'tickets:read',
      count: 'tickets:read',
      get: 'tickets:read',
      batchGet: 'tickets:read',
      create: 'tickets:write',
      update: 'tickets:write',
    },
    shows: [
      'number',
      'subject',
      'description',
      'status',
      'priority',
      'companyId',
      'contactId',
      'source',
      'dueAt',
      'resolvedAt',
      'closedAt',
    ],
    belongs: 'companyId',
    create: {
      takes: { subject: 'any', description: 'any', priority: 'any', companyId: 'any', contactId: 'any' },
      sets: { source: 'portal' },
      contact: 'contactId',
      unlessOff: 'allowTicketCreation',
    },
    update: { takes: { description: 'any', status: ['closed'] } },
  },
});
