/** CRM: who the MSP works for. Companies and contacts are shared with PSA. */
import { field } from './field';
import { resource } from './resource';

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
    lastName: field.string().sortable(),
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
});
