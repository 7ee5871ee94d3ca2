/**
 * Console: records of tenants, people and roles, and what is kept alike between products. They describe: who may sign
 * in and how much a tenant may use is decided by the platform's own accounts, which no product API writes.
 */
import { field } from './field';
import { resource } from './resource';
import { changes, enters, exampleId, is } from './rules';

/** Tenants. What one may use is set by the platform's operator, never by a client. */
export const tenants = resource({
  products: ['console'],
  path: 'tenants',
  nouns: ['tenant', 'tenants'],
  prefix: 'ten',
  category: 'operations',
  fields: {
    name: field.string().required().sortable(),
    slug: field.slug().required().filterable().sortable(),
    status: field.choice(['trial', 'active', 'suspended']).default('trial').filterable().sortable(),
    apiTier: field.choice(['standard', 'professional', 'enterprise']).default('standard').serverSet().filterable(),
    rateLimitPerMinute: field.integer(1, 100_000).serverSet(),
    agentLimit: field.integer(0, 100_000).default(10).serverSet(),
    creditAllocation: field.integer(0, 100_000_000).default(10_000).serverSet(),
    timezone: field.string().default('UTC'),
  },
  label: 'name',
  lists: ['slug'],
  events: {
    updated: { on: 'update', text: 'A tenant changed.' },
    suspended: { on: 'update', text: 'A tenant was suspended.', when: enters('status', 'suspended') },
  },
  examples: {
    create: { name: 'Signal Services West', slug: 'signal-west', timezone: 'America/Los_Angeles' },
    update: { status: 'active' },
  },
});

/** People of the MSP. */
export const users = resource({
  products: ['console'],
  path: 'users',
  nouns: ['user', 'users'],
  prefix: 'usr',
  category: 'operations',
  fields: {
    email: field.email().required().filterable().sortable(),
    displayName: field.string().required().sortable(),
    roleIds: field.strings().required().filterable(),
    status: field.choice(['invited', 'active', 'disabled']).default('invited').filterable().sortable(),
    mfaEnabled: field.boolean().default(false).filterable(),
    timezone: field.string().default('UTC'),
  },
  label: 'displayName',
  lists: ['email'],
  events: {
    invited: { on: 'create', text: 'A person was invited.', when: is('status', 'invited') },
    activated: { on: 'update', text: 'A person was activated.', when: enters('status', 'active') },
    disabled: { on: 'update', text: 'A person was disabled.', when: enters('status', 'disabled') },
    role_changed: { on: 'update', text: 'The roles of a person changed.', when: changes('roleIds') },
    deleted: { on: 'delete', text: 'A person was deleted.' },
  },
  examples: {
    create: { email: 'ada@signal.example', displayName: 'Ada Winter', roleIds: [exampleId('rol')] },
    update: { status: 'active', timezone: 'America/New_York' },
  },
});

/** Roles: sets of permissions by name. */
export const roles = resource({
  products: ['console'],
  path: 'roles',
  nouns: ['role', 'roles'],
  prefix: 'rol',
  category: 'operations',
  fields: {
    name: field.string().required().sortable(),
    description: field.text(),
    permissions: field.strings().required(),
  },
  label: 'name',
  events: {
    created: { on: 'create', text: 'A role was created.' },
    updated: { on: 'update', text: 'A role changed.' },
    deleted: { on: 'delete', text: 'A role was deleted.' },
  },
  examples: {
    create: { name: 'Dispatcher', permissions: ['psa.tickets.read', 'psa.tickets.write'] },
    update: { description: 'Assigns tickets to technicians.' },
  },
});

/** Entity syncs: which product follows which. */
export const entitySyncs = resource({
  products: ['console'],
  path: 'entity-sync',
  nouns: ['entity sync', 'entity syncs'],
  prefix: 'syn',
  category: 'operations',
  fields: {
    entityType: field.choice(['company', 'contact', 'user', 'device']).required().filterable(),
    sourceProduct: field.product().required().filterable(),
    targetProduct: field.product().required().filterable(),
    direction: field.choice(['one_way', 'two_way']).default('one_way').filterable(),
    conflictPolicy: field.choice(['source_wins', 'target_wins', 'newest_wins']).default('source_wins').filterable(),
    fieldMap: field.object(),
    status: field.choice(['active', 'paused', 'error']).default('active').filterable().sortable(),
  },
  label: 'entityType',
  events: { failed: { on: 'update', text: 'A sync stopped with an error.', when: enters('status', 'error') } },
  examples: {
    create: { entityType: 'company', sourceProduct: 'psa', targetProduct: 'books', fieldMap: { name: 'legalName' } },
    update: { status: 'paused' },
  },
});

/** Workflows: what happens across products when an event arrives. */
export const workflows = resource({
  products: ['console'],
  path: 'workflows',
  nouns: ['workflow', 'workflows'],
  prefix: 'wfl',
  category: 'operations',
  fields: {
    name: field.string().required().sortable(),
    description: field.text(),
    status: field.choice(['draft', 'active', 'paused']).default('draft').filterable().sortable(),
    triggerEventType: field.string().filterable(),
    triggerSourceProduct: field.product().filterable(),
    definition: field.object().required(),
    ownerId: field.id().filterable(),
  },
  label: 'name',
  lists: ['ownerId'],
  events: {
    activated: { on: 'update', text: 'A workflow was switched on.', when: enters('status', 'active') },
    paused: { on: 'update', text: 'A workflow was paused.', when: enters('status', 'paused') },
  },
  examples: {
    create: {
      name: 'Invoice what was won',
      triggerEventType: 'deal.won',
      triggerSourceProduct: 'crm',
      definition: { action: 'create_invoice' },
    },
    update: { status: 'active' },
  },
});
