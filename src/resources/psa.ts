/** PSA: what a service desk works with beside its tickets. */
import { field } from './field';
import { resource } from './resource';
import { enters, exampleId } from './rules';

/** Boards: where tickets are worked on. */
export const boards = resource({
  products: ['psa'],
  path: 'boards',
  nouns: ['board', 'boards'],
  prefix: 'brd',
  category: 'service_desk',
  fields: {
    name: field.string().required().sortable(),
    description: field.text(),
    boardType: field.choice(['service', 'project', 'alerts']).default('service').filterable(),
    isDefault: field.boolean().default(false).filterable(),
    slaResponseMinutes: field.integer(1, 100_000),
    slaResolutionMinutes: field.integer(1, 1_000_000),
    active: field.boolean().default(true).filterable(),
  },
  label: 'name',
  events: {
    created: { on: 'create', text: 'A board was created.' },
    updated: { on: 'update', text: 'A board changed.' },
    deleted: { on: 'delete', text: 'A board was deleted.' },
  },
  examples: {
    create: { name: 'Service desk', slaResponseMinutes: 60, slaResolutionMinutes: 480 },
    update: { active: false },
  },
});

/** The service catalog: what the MSP sells. It changes rarely, so clients poll it with `If-None-Match`. */
export const serviceCatalog = resource({
  products: ['psa'],
  path: 'service-catalog',
  nouns: ['catalog item', 'catalog items'],
  prefix: 'svc',
  category: 'finance',
  fields: {
    sku: field.string().required().filterable().sortable(),
    name: field.string().required().sortable(),
    category: field.string().filterable().sortable(),
    description: field.text(),
    unitPrice: field.money().required().sortable(),
    unit: field.choice(['hour', 'user', 'device', 'month', 'each']).default('each').filterable(),
    taxable: field.boolean().default(true).filterable(),
    active: field.boolean().default(true).filterable(),
  },
  label: 'name',
  lists: ['sku', 'category'],
  events: { updated: { on: 'update', text: 'An item of the service catalog changed.' } },
  examples: {
    create: { sku: 'MDR-ENDPOINT', name: 'Managed detection, per device', unitPrice: 1_250, unit: 'device' },
    update: { unitPrice: 1_350 },
  },
  portal: {
    actions: { list: 'catalog:read', get: 'catalog:read' },
    shows: ['sku', 'name', 'category', 'description', 'unitPrice', 'unit', 'taxable', 'active'],
    belongs: 'everybody',
  },
});

/** Time entries: what was worked on a ticket, and whether it was billed. */
export const timeEntries = resource({
  products: ['psa'],
  path: 'time-entries',
  nouns: ['time entry', 'time entries'],
  prefix: 'tim',
  category: 'service_desk',
  fields: {
    ticketId: field.ref('tickets').required().filterable(),
    userId: field.id().required().filterable(),
    startedAt: field.datetime().required().filterable().sortable(),
    endedAt: field.datetime().sortable(),
    minutes: field.integer(0, 1_440).required().sortable(),
    billable: field.boolean().default(true).filterable(),
    workType: field.choice(['remote', 'onsite', 'after_hours', 'travel']).default('remote').filterable(),
    notes: field.text(),
    billingStatus: field.choice(['unbilled', 'approved', 'invoiced']).default('unbilled').filterable(),
  },
  label: 'userId',
  lists: ['ticketId', 'userId', 'billingStatus'],
  refuse: ({ startedAt, endedAt }, before) =>
    endedAt !== null && endedAt < startedAt && (before?.startedAt !== startedAt || before.endedAt !== endedAt)
      ? { kind: 'invalid', field: 'endedAt', message: `must not be before startedAt, ${startedAt}` }
      : null,
  clientThrough: 'ticketId',
  events: {
    created: { on: 'create', text: 'Time was recorded on a ticket.' },
    updated: { on: 'update', text: 'A time entry changed.' },
    approved: {
      on: 'update',
      text: 'A time entry was approved for billing.',
      when: enters('billingStatus', 'approved'),
    },
    deleted: { on: 'delete', text: 'A time entry was deleted.' },
  },
  examples: {
    create: {
      ticketId: exampleId('tkt'),
      userId: exampleId('usr'),
      startedAt: '2026-11-20T13:00:00.000Z',
      minutes: 45,
      notes: 'Replaced the drum and printed a test page.',
    },
    update: { billingStatus: 'approved' },
  },
});
