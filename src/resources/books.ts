/** Books: what the MSP is owed, what it was paid, and the accounts both are kept in. */
import { field } from './field';
import { invoiceTotal } from './invoice-lines';
import { lastReminder, nextReminder } from './overdue';
import { resource } from './resource';
import { enters, exampleId, moves } from './rules';

const DATE_LENGTH = 10;

const INVOICE_STATUSES = ['draft', 'sent', 'partially_paid', 'paid', 'overdue', 'void'] as const;
type InvoiceStatus = (typeof INVOICE_STATUSES)[number];

interface Amounts {
  status: InvoiceStatus;
  total: number;
  balance: number;
  dueDate: string;
}

/** What the money that came in, and the day, make of an invoice. Drafts and voided invoices stay what they are. */
function statusAfter({ status, total, balance, dueDate }: Amounts, today: string): InvoiceStatus {
  if (status === 'draft' || status === 'void') return status;
  const received = total - balance;
  if (received > 0 && balance <= 0) return 'paid';
  if (status === 'overdue' && dueDate < today) return status;
  return received > 0 ? 'partially_paid' : 'sent';
}

const closedReasons: Partial<Record<InvoiceStatus, string>> = {
  paid: 'This invoice is paid: nothing of it changes any more. Refund a payment first, or write another invoice.',
  void: 'This invoice is void: nothing of it changes any more. Write another invoice.',
};

/** Unpaid means that no money is booked for it: a refund makes an invoice unpaid again. */
const voidWhileUnpaid = ({ total, balance }: Pick<Amounts, 'total' | 'balance'>): string[] =>
  total === balance ? ['void'] : [];

/**
 * Invoices. The total follows from the lines, the balance and the statuses of payment from the settled payments, and
 * `overdue` from the day: clients send and void.
 */
export const invoices = resource({
  products: ['books'],
  path: 'invoices',
  nouns: ['invoice', 'invoices'],
  prefix: 'inv',
  category: 'finance',
  fields: {
    number: field.string().counted(1, 'INV-').filterable().sortable(),
    companyId: field.ref('companies').required().filterable(),
    contactId: field.ref('contacts').filterable().described('Who is written to about it'),
    entityId: field.ref('entities').filterable(),
    status: field.choice(INVOICE_STATUSES).default('draft').filterable().sortable(),
    issueDate: field.date().required().filterable().sortable(),
    dueDate: field.date().required().filterable().sortable(),
    currency: field.currency().default('USD').filterable(),
    lines: field.lines().required(),
    total: field.money().default(0).serverSet().sortable().described('Sum of the lines with their tax, in minor units'),
    balance: field
      .money()
      .default(0)
      .serverSet()
      .sortable()
      .described('Total less the settled payments, in minor units; below zero when too much was paid'),
    daysOverdue: field
      .integer(0)
      .default(0)
      .serverSet()
      .filterable()
      .sortable()
      .described('The last of the days 1, 3, 10 and 20 after the due date that it was late on; 0 while not overdue'),
    notes: field.text(),
  },
  label: 'number',
  lists: ['number', 'companyId', 'contactId', 'entityId', 'status'],
  states: {
    field: 'status',
    initial: ['draft', 'sent'],
    hint: 'Payments make an invoice partially_paid or paid, its due date makes it overdue.',
    from: {
      draft: (invoice) => ['sent', ...voidWhileUnpaid(invoice)],
      sent: voidWhileUnpaid,
      partially_paid: () => [],
      overdue: voidWhileUnpaid,
      paid: () => [],
      void: () => [],
    },
  },
  refuse: ({ lines }) =>
    invoiceTotal(lines) === null
      ? { kind: 'invalid', field: 'lines', message: 'the lines come to more than a record can hold: split the invoice' }
      : null,
  frozen: ({ status }) => closedReasons[status] ?? null,
  isKeptWhileReferenced: true,
  computed: (after, before, now) => {
    const total = invoiceTotal(after.lines) ?? 0;
    const balance = before ? after.balance + total - before.total : total;
    const status = statusAfter({ ...after, total, balance }, now.slice(0, DATE_LENGTH));
    // Of a due date that moved, only the days that count from there have been told.
    const daysOverdue = status === 'overdue' ? Math.min(after.daysOverdue, lastReminder(after.dueDate, now)) : 0;
    return { total, balance, status, daysOverdue };
  },
  tally: {
    from: 'payments',
    by: 'invoiceId',
    where: { status: ['settled'] },
    sum: 'amount',
    change: ({ total }, received) => ({ balance: total - received }),
  },
  timer: {
    fields: ['status', 'dueDate', 'daysOverdue'],
    waits: { status: ['sent', 'partially_paid', 'overdue'] },
    next: (invoice, _related, now) => nextReminder(invoice, now),
  },
  labelled: ['contactId.email'],
  also: ({ number, total, dueDate }, labels) => ({
    contact_email: labels['contactId.email'] ?? null,
    invoice_number: number,
    amount: total,
    due_at: `${dueDate}T00:00:00.000Z`,
  }),
  events: {
    created: { on: 'create', text: 'An invoice was written.' },
    sent: { on: 'update', text: 'An invoice was sent.', when: enters('status', 'sent') },
    paid: {
      on: 'update',
      text: 'An invoice was paid in full.',
      when: enters('status', 'paid'),
      fires: { by: 'tally', given: { status: 'sent' }, change: { balance: 0, status: 'paid' } },
    },
    overdue: {
      on: 'update',
      text: 'An invoice is 1, 3, 10 or 20 days late.',
      when: (before, after) => after.daysOverdue > before.daysOverdue,
      fires: {
        by: 'timer',
        given: { status: 'sent', issueDate: '2026-10-18', dueDate: '2026-11-17' },
        change: { status: 'overdue', daysOverdue: 3 },
      },
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
  portal: {
    actions: { list: 'invoices:read', get: 'invoices:read' },
    shows: ['number', 'companyId', 'status', 'issueDate', 'dueDate', 'currency', 'lines', 'total', 'balance'],
    belongs: 'companyId',
    hides: { field: 'status', values: ['draft'] },
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
    amount: field.money(1).required().fixed().sortable().described('In minor units; what is paid back is a refund'),
    currency: field.currency().default('USD').fixed().filterable(),
    method: field.choice(['card', 'ach', 'check', 'cash', 'wire']).required().filterable(),
    status: field.choice(['pending', 'settled', 'failed', 'refunded']).default('pending').filterable().sortable(),
    receivedAt: field.datetime().filterable().sortable(),
    reference: field.string().filterable(),
    failureReason: field.string().serverSet().described('Why it failed, as POST /:id/fail said'),
  },
  label: 'reference',
  lists: ['reference', 'invoiceId', 'status'],
  states: moves(
    'status',
    { pending: ['settled', 'failed'], settled: ['refunded'], failed: [], refunded: [] },
    { initial: ['pending', 'settled'], hint: 'Another attempt is another payment.' },
  ),
  refuse: (after, before, labels) => {
    const books = before?.invoiceId !== after.invoiceId || before?.status !== after.status;
    const currency = labels['invoiceId.currency'] ?? after.currency;
    if (books && currency !== after.currency)
      return { kind: 'invalid', field: 'currency', message: `must be ${currency}, the currency of the invoice` };
    return books && after.status !== 'refunded' && after.status !== 'failed' && labels['invoiceId.status'] === 'void'
      ? {
          kind: 'conflict',
          field: 'invoiceId',
          message: 'The invoice is void: it takes no payments. Name another invoice.',
        }
      : null;
  },
  kept: ({ status }) =>
    status === 'settled' ? 'This payment is settled and part of its invoice: refund it instead of deleting it.' : null,
  actions: {
    fail: {
      verb: 'fail',
      summary: 'Report that a payment failed, and why',
      description: 'For the bank or card processor. The payment becomes `failed` with this reason.',
      takes: { reason: field.string().required() },
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
  events: {
    created: { on: 'create', text: 'An account was created.' },
    updated: { on: 'update', text: 'An account changed.' },
  },
  examples: {
    create: { code: '4000', name: 'Managed services', accountType: 'income' },
    update: { name: 'Managed services and support' },
  },
});
