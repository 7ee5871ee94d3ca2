/** CRM: who the MSP works for, and what it hopes to sell. Companies and contacts are shared with PSA. */
import { field } from './field';
import { resource } from './resource';
import { changes, enters, exampleId, fromTo, moves } from './rules';

const OPEN_STAGES = ['lead', 'qualified', 'proposal', 'negotiation'] as const;

/** Companies: the clients of the MSP, and those who may become one. */
export const companies = resource({
  products: ['psa', 'crm'],
  path: 'companies',
  nouns: ['company', 'companies'],
  prefix: 'cmp',
  category: 'client_success',
  eventProduct: 'crm',
  fields: {
    name: field.string().required().sortable(),
    status: field.choice(['active', 'prospect', 'inactive']).default('active').filterable().sortable(),
    companyType: field.choice(['client', 'prospect', 'vendor', 'partner']).default('client').filterable(),
    domain: field.string().filterable(),
    phone: field.phone(),
    address: field.text(),
    industry: field.string().filterable(),
    accountManagerId: field.id().filterable(),
    annualRevenue: field.money().sortable(),
    clientSince: field.date().filterable().sortable(),
  },
  label: 'name',
  lists: ['domain', 'accountManagerId', 'status'],
  clientId: (company) => company.id,
  events: {
    created: { on: 'create', text: 'A company was created.' },
    updated: { on: 'update', text: 'A company changed.' },
    status_changed: {
      on: 'update',
      text: 'The status of a company changed.',
      when: (before, after) => before.status !== after.status,
      facts: (before, after) => ({ from: before.status, to: after.status }),
    },
    deleted: { on: 'delete', text: 'A company was deleted.' },
  },
  isKeptWhileReferenced: true,
  examples: {
    create: { name: 'Northwind Dental', domain: 'northwind.example', phone: '+1 555 0100', clientSince: '2024-03-01' },
    update: { status: 'inactive' },
  },
});

/** Contacts: the people at those companies. */
export const contacts = resource({
  products: ['psa', 'crm'],
  path: 'contacts',
  nouns: ['contact', 'contacts'],
  prefix: 'con',
  category: 'client_success',
  eventProduct: 'crm',
  fields: {
    firstName: field.string().required().sortable(),
    lastName: field.string().required().sortable(),
    email: field.email().filterable().sortable(),
    phone: field.phone().filterable(),
    companyId: field.ref('companies').required().filterable(),
    title: field.string(),
    isPrimary: field.boolean().default(false).filterable(),
    portalAccess: field.boolean().default(false).filterable(),
    lifecycle: field.choice(['lead', 'customer', 'former']).default('customer').filterable(),
    active: field.boolean().default(true).filterable(),
  },
  label: 'firstName',
  lists: ['email', 'companyId'],
  events: {
    created: { on: 'create', text: 'A contact was created.' },
    updated: { on: 'update', text: 'A contact changed.' },
    deleted: { on: 'delete', text: 'A contact was deleted.' },
  },
  examples: {
    create: {
      firstName: 'Ana',
      lastName: 'Reyes',
      email: 'ana@northwind.example',
      companyId: 'cmp_01KAJ5Q3Z8M4T7V9X2B6C1D0EF',
    },
    update: { title: 'Office manager', phone: '+1 555 0101' },
  },
  portal: {
    actions: { list: 'people:read', get: 'people:read', update: 'profile:write' },
    shows: ['firstName', 'lastName', 'email', 'phone', 'companyId', 'title'],
    belongs: 'companyId',
    update: { takes: { firstName: 'any', lastName: 'any', phone: 'any', title: 'any' }, own: 'contact' },
  },
});

/** Deals: what a company may buy. A deal that is won or lost stays so. */
export const deals = resource({
  products: ['crm'],
  path: 'deals',
  nouns: ['deal', 'deals'],
  prefix: 'del',
  category: 'client_success',
  fields: {
    name: field.string().required().sortable(),
    companyId: field.ref('companies').required().filterable(),
    contactId: field.ref('contacts').filterable(),
    stage: field
      .choice([...OPEN_STAGES, 'won', 'lost'])
      .default('lead')
      .filterable()
      .sortable(),
    amount: field.money().required().sortable(),
    currency: field.currency().default('USD').filterable(),
    probability: field.integer(0, 100).sortable(),
    expectedCloseDate: field.date().filterable().sortable(),
    ownerId: field.id().filterable(),
    lostReason: field.string(),
    closedAt: field.datetime().serverSet().sortable(),
  },
  label: 'name',
  lists: ['companyId', 'ownerId', 'stage'],
  states: moves(
    'stage',
    { won: [], lost: [] },
    { hint: 'A deal that is won or lost is reopened with POST /crm/api/deals/:id/reopen.' },
  ),
  actions: {
    reopen: {
      verb: 'reopen',
      summary: 'Reopen a deal that was won or lost',
      description: 'The deal goes on in an open stage; `closedAt` and `lostReason` are cleared.',
      takes: { stage: field.choice(OPEN_STAGES).required() },
      from: { won: () => OPEN_STAGES, lost: () => OPEN_STAGES },
      change: (_deal, { stage }) => ({ stage: stage as (typeof OPEN_STAGES)[number], lostReason: null }),
      example: { stage: 'negotiation' },
    },
  },
  computed: ({ stage, closedAt }, _before, now) => ({
    closedAt: stage === 'won' || stage === 'lost' ? (closedAt ?? now) : null,
  }),
  events: {
    created: { on: 'create', text: 'A deal was created.' },
    updated: { on: 'update', text: 'A deal changed.' },
    stage_changed: {
      on: 'update',
      text: 'A deal moved from one stage to another.',
      when: changes('stage'),
      facts: fromTo('stage'),
    },
    won: { on: 'update', text: 'A deal was won.', when: enters('stage', 'won') },
    lost: { on: 'update', text: 'A deal was lost.', when: enters('stage', 'lost') },
    deleted: { on: 'delete', text: 'A deal was deleted.' },
  },
  examples: {
    create: {
      name: 'Fibre for the new office',
      companyId: exampleId('cmp'),
      amount: 189_000,
      probability: 40,
      expectedCloseDate: '2027-01-31',
    },
    update: { stage: 'proposal', probability: 60 },
  },
});

/** Activities: what was said, written and promised. */
export const activities = resource({
  products: ['crm'],
  path: 'activities',
  nouns: ['activity', 'activities'],
  prefix: 'act',
  category: 'client_success',
  fields: {
    activityType: field.choice(['call', 'email', 'meeting', 'note', 'task']).required().filterable(),
    subject: field.string().required(),
    companyId: field.ref('companies').filterable(),
    contactId: field.ref('contacts').filterable(),
    dealId: field.ref('deals').filterable(),
    ownerId: field.id().filterable(),
    dueAt: field.datetime().filterable().sortable(),
    completed: field.boolean().default(false).filterable(),
    completedAt: field.datetime().serverSet().sortable(),
    notes: field.text(),
  },
  label: 'subject',
  lists: ['dealId', 'contactId', 'ownerId', 'companyId'],
  clientThrough: 'dealId',
  computed: ({ completed, completedAt }, _before, now) => ({ completedAt: completed ? (completedAt ?? now) : null }),
  events: {
    created: { on: 'create', text: 'An activity was created.' },
    completed: { on: 'update', text: 'An activity was completed.', when: enters('completed', true) },
    deleted: { on: 'delete', text: 'An activity was deleted.' },
  },
  examples: {
    create: { activityType: 'call', subject: 'Ask about the new office', companyId: exampleId('cmp') },
    update: { completed: true },
  },
});
