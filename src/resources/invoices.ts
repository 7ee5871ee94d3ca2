/** Invoices: what the MSP is owed, from the draft to the last payment. */
import { field } from './field';
import { invoiceTotal } from './invoice-lines';
import { lastReminder, nextReminder } from './overdue';
import { resource } from './resource';
import { enters, exampleId } from './rules';

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
  // Also where there was nothing to pay: nobody is reminded of an invoice over nought, or of a credit.
  if (balance <= 0) return 'paid';
  const received = total - balance;
  if (status === 'overdue' && dueDate < today) return status;
  return received > 0 ? 'partially_paid' : 'sent';
}

const closedReasons: Partial<Record<InvoiceStatus, string>> = {
  paid: 'This invoice is paid: nothing of it changes any more. Refund a payment first, or write another invoice.',
  void: 'This invoice is void: nothing of it changes any more. Write another invoice.',
};

/** A draft that left the drafts: one that has its money already is paid when it is sent, and was sent all the same. */
const wasSent = (before: Pick<Amounts, 'status'>, { status }: Pick<Amounts, 'status'>): boolean =>
  before.status === 'draft' && status !== 'draft' && status !== 'void';

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
  lists: ['companyId', 'contactId', 'entityId', 'status'],
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
  refuse: ({ lines, issueDate, dueDate }, before) => {
    if (invoiceTotal(lines) === null)
      return {
        kind: 'invalid',
        field: 'lines',
        message: 'the lines come to more than a record can hold: split the invoice',
      };
    const isMoved = before?.issueDate !== issueDate || before.dueDate !== dueDate;
    return isMoved && dueDate < issueDate
      ? { kind: 'invalid', field: 'dueDate', message: `must not be before the issueDate ${issueDate}` }
      : null;
  },
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
  held: {
    fields: ['currency'],
    from: 'payments',
    by: 'invoiceId',
    where: { status: ['pending', 'settled'] },
    fix: 'fail or refund them first',
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
    sent: { on: 'update', text: 'An invoice was sent.', when: wasSent },
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
