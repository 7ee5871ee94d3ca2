/** Books: what the MSP is owed, what it was paid, and the accounts both are kept in. */
import { field } from './field';
import { resource } from './resource';
import { enters, exampleId, moves } from './rules';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Whole days after the due date. */
const daysLate = (dueDate: string, at: string): number =>
  Math.max(0, Math.floor((Date.parse(at) - Date.parse(dueDate)) / DAY_MS));

/** Invoices. What was paid or voided stays so; an invoice that is not paid can be voided at any time. */
export const invoices = resource({
  products: ['books'],
  path: 'invoices',
  nouns: ['invoice', 'invoices'],
  prefix: 'inv',
  category: 'finance',
  fields: {
    number: field.integer().counted(1_001).filterable().sortable(),
    companyId: field.ref('companies').required().filterable(),
    entityId: field.ref('entities').filterable(),
    status: field
      .choice(['draft', 'sent', 'partially_paid', 'paid', 'overdue', 'void'])
      .default('draft')
      .filterable()
      .sortable(),
    issueDate: field.date().required().filterable().sortable(),
    dueDate: field.date().required().filterable().sortable(),
    currency: field.currency().default('USD').filterable(),
    lines: field.objects().required(),
    notes: field.text(),
  },
  label: 'number',
  lists: ['number', 'companyId', 'entityId', 'status'],
  states: moves('status', {
    draft: ['sent', 'void'],
    sent: ['partially_paid', 'paid', 'overdue', 'void'],
    partially_paid: ['paid', 'overdue', 'void'],
    overdue: ['partially_paid', 'paid', 'void'],
    paid: [],
    void: [],
  }),
  also: (invoice) => ({ invoice_number: `${invoice.number}` }),
  events: {
    created: { on: 'create', text: 'An invoice was written.' },
    sent: { on: 'update', text: 'An invoice was sent.', when: enters('status', 'sent') },
    paid: { on: 'update', text: 'An invoice was paid in full.', when: enters('status', 'paid') },
    overdue: {
      on: 'update',
      text: 'An invoice was marked as overdue.',
      when: enters('status', 'overdue'),
      facts: (_before, after) => ({ days_overdue: daysLate(after.dueDate, after.updatedAt) }),
    },
    voided: { on: 'update', text: 'An invoice was voided.', when: enters('status', 'void') },
    deleted: { on: 'delete', text: 'An invoice was deleted.' },
  },
  examples: {
    create: {
      companyId: exampleId('cmp'),
      issueDate: '2026-11-20',
      dueDate: '2026-12-20',
      lines: [{ description: 'Managed detection, November', quantity: 40, unitPrice: 1_250 }],
    },
    update: { status: 'sent' },
  },
});

/** Payments. The amount is what was received: a correction is another payment. */
export const payments = resource({
  products: ['books'],
  path: 'payments',
  nouns: ['payment', 'payments'],
  prefix: 'pay',
  category: 'finance',
  fields: {
    invoiceId: field.ref('invoices').required().filterable(),
    amount: field.money().required().fixed().sortable(),
    currency: field.currency().default('USD').filterable(),
    method: field.choice(['card', 'ach', 'check', 'cash', 'wire']).required().filterable(),
    status: field.choice(['pending', 'settled', 'failed', 'refunded']).default('pending').filterable().sortable(),
    receivedAt: field.datetime().filterable().sortable(),
    reference: field.string().filterable(),
  },
  label: 'reference',
  lists: ['reference', 'invoiceId', 'status'],
  events: {
    received: { on: 'create', text: 'A payment was received.' },
    settled: { on: 'update', text: 'A payment was settled.', when: enters('status', 'settled') },
    failed: {
      on: 'update',
      text: 'A payment was refused by the bank or the card issuer.',
      when: enters('status', 'failed'),
    },
    refunded: { on: 'update', text: 'A payment was paid back.', when: enters('status', 'refunded') },
  },
  examples: {
    create: { invoiceId: exampleId('inv'), amount: 50_000, method: 'wire', reference: '2026-0418' },
    update: { status: 'settled', receivedAt: '2026-11-20T22:40:00.000Z' },
  },
});

/** Entities: the MSP's own companies that write invoices. */
export const entities = resource({
  products: ['books'],
  path: 'entities',
  nouns: ['entity', 'entities'],
  prefix: 'ent',
  category: 'finance',
  fields: {
    name: field.string().required().sortable(),
    legalName: field.string(),
    taxId: field.string(),
    baseCurrency: field.currency().default('USD').filterable(),
    country: field.country().default('US').filterable(),
    fiscalYearStartMonth: field.integer(1, 12).default(1),
    active: field.boolean().default(true).filterable(),
  },
  label: 'name',
  events: { updated: { on: 'update', text: 'An entity changed.' } },
  examples: {
    create: { name: 'Signal Services', legalName: 'Signal Services LLC', taxId: '12-3456789' },
    update: { fiscalYearStartMonth: 7 },
  },
});

/** Accounts: the chart that amounts are booked in. */
export const accounts = resource({
  products: ['books'],
  path: 'accounts',
  nouns: ['account', 'accounts'],
  prefix: 'acc',
  category: 'finance',
  fields: {
    code: field.string().required().filterable().sortable(),
    name: field.string().required().sortable(),
    accountType: field.choice(['asset', 'liability', 'equity', 'income', 'expense']).required().filterable().sortable(),
    parentId: field.ref('accounts').filterable(),
    entityId: field.ref('entities').filterable(),
    currency: field.currency().default('USD').filterable(),
    active: field.boolean().default(true).filterable(),
  },
  label: 'name',
  lists: ['code', 'parentId', 'entityId'],
  events: {
    created: { on: 'create', text: 'An account was created.' },
    updated: { on: 'update', text: 'An account changed.' },
  },
  examples: {
    create: { code: '4000', name: 'Managed services', accountType: 'income' },
    update: { name: 'Managed services and support' },
  },
});
