/** Events of sales, money and people: CRM, books, HR, contracts. */
import type { EventCatalogEntry } from '../contracts/event';
import * as f from './event-fields';

const STAGES = ['lead', 'qualified', 'proposal', 'negotiation', 'won', 'lost'] as const;
const COMPANY_STATUSES = ['active', 'prospect', 'inactive'] as const;
const AMOUNT: f.Fields = { amount: f.money(189_000), currency: f.text('EUR') };
const INVOICE: f.Fields = { invoice_id: f.id('inv_20418'), invoice_number: f.text('2026-0418') };
const DEAL: f.Fields = { deal_id: f.id('del_fibre'), ...AMOUNT, owner_id: f.id('usr_ben'), ...f.CLIENT };

const CRM: EventCatalogEntry[] = [
  f.event('crm:deal.stage_changed', {
    category: 'client_success',
    name: 'Deal moved on',
    about: 'A deal moved from one stage to another.',
    fields: { ...DEAL, from: f.choice(STAGES, 'proposal'), to: f.choice(STAGES, 'negotiation') },
  }),
  f.event('crm:deal.stalled', {
    category: 'client_success',
    name: 'Deal stalled',
    about: 'Nothing happened on an open deal for a while.',
    fields: { ...DEAL, days_idle: f.whole(21) },
  }),
  f.event('crm:contact.created', {
    category: 'client_success',
    name: 'Contact created',
    about: 'A person was added to a company.',
    fields: { contact_id: f.id('con_maria'), ...f.CLIENT, source: f.text('website') },
  }),
  f.event('crm:company.status_changed', {
    category: 'client_success',
    name: 'Company status changed',
    about: 'A company became a client, or stopped being one.',
    fields: { ...f.CLIENT, from: f.choice(COMPANY_STATUSES, 'prospect'), to: f.choice(COMPANY_STATUSES, 'active') },
  }),
];

const BOOKS: EventCatalogEntry[] = [
  f.event('books:invoice.created', {
    category: 'finance',
    name: 'Invoice created',
    about: 'An invoice was written.',
    fields: { ...INVOICE, ...AMOUNT, ...f.CLIENT, due_at: f.moment('2026-12-20T00:00:00.000Z') },
  }),
  f.event('books:invoice.overdue', {
    category: 'finance',
    name: 'Invoice overdue',
    about: 'An invoice is 1, 3, 10 or 20 days late; a look that comes late tells of the last of these days.',
    fields: {
      ...INVOICE,
      days_overdue: f.whole(10),
      ...AMOUNT,
      ...f.CLIENT,
      contact_email: f.text('accounts@northwind.example'),
    },
  }),
  f.event('books:payment.failed', {
    category: 'finance',
    name: 'Payment failed',
    about: 'A payment was refused by the bank or the card issuer.',
    fields: {
      payment_id: f.id('pay_8841'),
      ...INVOICE,
      ...AMOUNT,
      reason: f.text('card_expired'),
      ...f.CLIENT,
    },
  }),
  f.event('books:payment.recorded', {
    category: 'finance',
    name: 'Payment recorded',
    about: 'Money came in and was booked.',
    fields: {
      payment_id: f.id('pay_8842'),
      ...AMOUNT,
      method: f.choice(['card', 'ach', 'check', 'cash', 'wire'], 'wire'),
      ...f.CLIENT,
    },
  }),
  f.event('books:contract.renewal_upcoming', {
    category: 'finance',
    name: 'Contract ends soon',
    about: 'A contract ends within the notice you asked for.',
    fields: { contract_id: f.id('ctr_managed_it'), days_left: f.whole(60), value: f.money(4_800_000), ...f.CLIENT },
  }),
  f.event('books:credit_note.created', {
    category: 'finance',
    name: 'Credit note created',
    about: 'Part of an invoice was credited.',
    fields: { ...AMOUNT, ...INVOICE, ...f.CLIENT },
  }),
];

const PEOPLE: EventCatalogEntry[] = [
  f.event('people:employee.hired', {
    category: 'onboarding',
    name: 'Employee hired',
    about: 'Someone will start work at a client.',
    fields: {
      employee_id: f.id('emp_310'),
      full_name: f.text('Maria Winter'),
      ...f.CLIENT,
      start_date: f.moment('2026-12-01'),
      department: f.text('Logistics'),
      manager_email: f.text('head.of.logistics@northwind.example'),
    },
  }),
  f.event('people:employee.terminated', {
    category: 'onboarding',
    name: 'Employee leaves',
    about: 'Someone stops working at a client.',
    fields: {
      employee_id: f.id('emp_297'),
      full_name: f.text('Jonas Berg'),
      ...f.CLIENT,
      last_day: f.moment('2026-11-30'),
      manager_id: f.id('con_head_logistics'),
    },
  }),
  f.event('legal:document.signed', {
    category: 'compliance',
    name: 'Document signed',
    about: 'A client signed a document.',
    fields: {
      document_id: f.id('doc_dpa_2026'),
      ...f.CLIENT,
      kind: f.choice(
        ['contract', 'data_processing_agreement', 'nda', 'statement_of_work'],
        'data_processing_agreement',
      ),
    },
  }),
];

export const BUSINESS_EVENTS: EventCatalogEntry[] = [...CRM, ...BOOKS, ...PEOPLE];
