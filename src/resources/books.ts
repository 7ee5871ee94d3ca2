/** Books: what the MSP was paid, and the accounts that amounts are kept in. */
import { field } from './field';
import { resource, type Labels, type Refusal } from './resource';
import { enters, exampleId, moves } from './rules';

interface Booking {
  invoiceId: string;
  currency: string;
  status: string;
}

/** What its invoice refuses of a payment. Money that failed or was paid back can always be told of. */
function refusedPayment(after: Booking, before: Booking | null, labels: Labels): Refusal | null {
  const isOver = after.status === 'refunded' || after.status === 'failed';
  const isMoved = before?.invoiceId !== after.invoiceId;
  if (!isMoved && (isOver || before.status === after.status)) return null;
  const currency = labels['invoiceId.currency'] ?? after.currency;
  if (currency !== after.currency) {
    return before
      ? {
          kind: 'conflict',
          field: 'invoiceId',
          message: `The invoice is in ${currency} and this payment in ${after.currency}: book another payment, in ${currency}.`,
        }
      : { kind: 'invalid', field: 'currency', message: `must be ${currency}, the currency of the invoice` };
  }
  return !isOver && labels['invoiceId.status'] === 'void'
    ? {
        kind: 'conflict',
        field: 'invoiceId',
        message: 'The invoice is void: it takes no payments. Name another invoice.',
      }
    : null;
}

/** Payments. The amount is what was received: a correction is another payment. */
export const payments = resource({
  products: ['books'],
  path: 'payments',
  nouns: ['payment', 'payments'],
  prefix: 'pay',
  category: 'finance',
  fields: {
    invoiceId: field.ref('invoices').required().filterable(),
    amount: field.money(1).required().fixed().sortable().described('In minor units; what is paid back is a refund'),
    currency: field.currency().default('USD').fixed().filterable(),
    method: field.choice(['card', 'ach', 'check', 'cash', 'wire']).required().filterable(),
    status: field.choice(['pending', 'settled', 'failed', 'refunded']).default('pending').filterable().sortable(),
    receivedAt: field.datetime().filterable().sortable(),
    reference: field.string().filterable(),
    failureReason: field.message().serverSet().described('Why it failed, as POST /:id/fail said'),
  },
  label: 'reference',
  lists: ['reference', 'invoiceId', 'status'],
  states: moves(
    'status',
    { pending: ['settled', 'failed'], settled: ['refunded'], failed: [], refunded: [] },
    { initial: ['pending', 'settled'], hint: 'Another attempt is another payment.' },
  ),
  refuse: (after, before, labels) => refusedPayment(after, before, labels),
  kept: ({ status }) =>
    status === 'settled' ? 'This payment is settled and part of its invoice: refund it instead of deleting it.' : null,
  actions: {
    fail: {
      verb: 'fail',
      summary: 'Report that a payment failed, and why',
      description: 'For the bank or card processor. The payment becomes `failed` with this reason.',
      takes: { reason: field.message().required() },
      change: (_payment, { reason }) => ({ status: 'failed' as const, failureReason: String(reason) }),
      example: { reason: 'card_expired' },
    },
  },
  clientThrough: 'invoiceId',
  labelled: ['invoiceId', 'invoiceId.currency', 'invoiceId.status'],
  also: ({ failureReason }, labels) => ({ invoice_number: labels['invoiceId'] ?? null, reason: failureReason }),
  events: {
    received: { on: 'create', text: 'A payment was received.' },
    settled: { on: 'update', text: 'A payment was settled.', when: enters('status', 'settled') },
    failed: {
      on: 'update',
      text: 'A payment was refused by the bank or the card issuer.',
      when: enters('status', 'failed'),
      fires: { act: 'fail' },
    },
    refunded: {
      on: 'update',
      text: 'A payment was paid back.',
      when: enters('status', 'refunded'),
      fires: { given: { status: 'settled' }, change: { status: 'refunded' } },
    },
  },
  examples: {
    create: { invoiceId: exampleId('inv'), amount: 50_000, method: 'wire', reference: '2026-0418' },
    update: { status: 'settled', receivedAt: '2026-11-20T22:40:00.000Z' },
  },
  portal: {
    actions: { list: 'invoices:read', get: 'invoices:read' },
    shows: ['invoiceId', 'amount', 'currency', 'method', 'status', 'receivedAt', 'reference'],
    belongs: { through: 'invoiceId' },
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
    balance: field
      .money()
      .serverSet()
      .filterable()
      .sortable()
      .described('Null: nothing posts to accounts yet, so that no balance is known'),
  },
  label: 'name',
  lists: ['code', 'parentId', 'entityId'],
  labelled: ['parentId.parentId'],
  refuse: ({ id, parentId }, before, labels) => {
    if (parentId === null || before?.parentId === parentId) return null;
    const isCircle = parentId === id || labels['parentId.parentId'] === id;
    const what = parentId === id ? 'is this account itself' : 'stands below this one';
    return isCircle
      ? { kind: 'invalid', field: 'parentId', message: `${what}: name another account, or null for none` }
      : null;
  },
  events: {
    created: { on: 'create', text: 'An account was created.' },
    updated: { on: 'update', text: 'An account changed.' },
  },
  examples: {
    create: { code: '4000', name: 'Managed services', accountType: 'income' },
    update: { name: 'Managed services and support' },
  },
});
