/**
 * Console: records of tenants, people and roles, and what is kept alike between products. They describe: who may sign
 * in and how much a tenant may use is decided by the platform's own accounts, which no product API writes.
 */
import { field } from './field';
import { resource } from './resource';
import { changesMembers, enters, exampleId, is } from './rules';

const NO_DOOR = 'Describes: accounts that sign in have rights of their own';
const NO_LIMIT = 'Describes: what is in force is told by `GET /console/api/rate-limit` and the credits';

/** True of a report from before the last one, or of the same again: what is known is newer. */
const isOld = (at: unknown, last: string | null): boolean =>
  last !== null && Date.parse(String(at)) <= Date.parse(last);

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
    status: field
      .choice(['trial', 'active', 'suspended'])
      .default('trial')
      .filterable()
      .sortable()
      .described('Describes: a suspended tenant is served like any other'),
    apiTier: field
      .choice(['standard', 'professional', 'enterprise'])
      .default('standard')
      .serverSet()
      .filterable()
      .described(NO_LIMIT),
    rateLimitPerMinute: field.integer(1, 100_000).serverSet().described(NO_LIMIT),
    agentLimit: field.integer(0, 100_000).default(10).serverSet().described(NO_LIMIT),
    creditAllocation: field.integer(0, 100_000_000).default(10_000).serverSet().described(NO_LIMIT),
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
    roleIds: field.strings().required().filterable().described(NO_DOOR),
    status: field
      .choice(['invited', 'active', 'disabled'])
      .default('invited')
      .filterable()
      .sortable()
      .described(NO_DOOR),
    lastLoginAt: field.datetime().serverSet().filterable().sortable().described(`Null. ${NO_DOOR}`),
    mfaEnabled: field.boolean().default(false).filterable(),
    timezone: field.string().default('UTC'),
  },
  label: 'displayName',
  lists: ['email', 'roleIds'],
  events: {
    invited: { on: 'create', text: 'A person was invited.', when: is('status', 'invited') },
    activated: { on: 'update', text: 'A person was activated.', when: enters('status', 'active') },
    disabled: { on: 'update', text: 'A person was disabled.', when: enters('status', 'disabled') },
    role_changed: {
      on: 'update',
      text: 'The roles of a person changed.',
      when: changesMembers('roleIds'),
      fires: { change: { roleIds: [exampleId('rol'), 'rol_oncall'] } },
    },
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
    permissions: field.strings().required().described(NO_DOOR),
    isSystem: field
      .boolean()
      .default(false)
      .serverSet()
      .filterable()
      .described('False: no role of this list ships with the product yet. One that does is not deleted'),
    memberCount: field.integer(0).default(0).serverSet().sortable().described('Users that have this role'),
  },
  label: 'name',
  tally: {
    from: 'users',
    by: 'roleIds',
    where: {},
    change: (_role, memberCount) => ({ memberCount }),
  },
  kept: ({ isSystem }) => (isSystem ? 'This role ships with the product and is kept.' : null),
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
    lastSyncAt: field.datetime().serverSet().filterable().sortable().described('Moved by POST /:id/result'),
    lastError: field.message().serverSet().described('What the last pass said, if it failed'),
  },
  label: 'entityType',
  refuse: ({ sourceProduct, targetProduct }, before) =>
    sourceProduct === targetProduct &&
    (before?.sourceProduct !== sourceProduct || before.targetProduct !== targetProduct)
      ? {
          kind: 'invalid',
          field: 'targetProduct',
          message: 'must be another product than sourceProduct: name the one that follows',
        }
      : null,
  actions: {
    result: {
      verb: 'report',
      summary: 'Report how a pass of a sync ended',
      description:
        'For the integration that copies the records. A pass that failed makes the sync `error`, the next that succeeds makes it `active` again.',
      takes: {
        outcome: field.choice(['succeeded', 'failed']).required(),
        at: field
          .datetime()
          .required()
          .described('When the pass ended; a report that is not later than the last one changes nothing'),
        error: field.message(),
      },
      change: ({ status, lastSyncAt }, { outcome, at, error }) =>
        isOld(at, lastSyncAt)
          ? {}
          : {
              status: outcome === 'failed' ? ('error' as const) : status === 'error' ? ('active' as const) : status,
              lastSyncAt: String(at),
              lastError: outcome === 'failed' ? ((error as string | undefined) ?? 'no reason was given') : null,
            },
      example: { outcome: 'succeeded', at: '2026-11-20T23:12:00.000Z' },
    },
  },
  events: {
    completed: {
      on: 'update',
      text: 'A pass of a sync ended well.',
      when: (before, after) => before.lastSyncAt !== after.lastSyncAt && after.lastError === null,
      fires: { act: 'result' },
    },
    failed: {
      on: 'update',
      text: 'A pass of a sync ended with an error.',
      when: (before, after) =>
        after.lastError === null
          ? before.status !== 'error' && after.status === 'error'
          : before.lastSyncAt !== after.lastSyncAt,
      fires: {
        act: 'result',
        change: { outcome: 'failed', at: '2026-11-20T23:12:00.000Z', error: 'mapping_missing' },
      },
    },
  },
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
    lastRunAt: field.datetime().serverSet().filterable().sortable().described('Moved by POST /:id/result'),
    lastRunError: field.message().serverSet().described('What the last run said, if it failed'),
  },
  label: 'name',
  lists: ['ownerId'],
  actions: {
    result: {
      verb: 'report',
      summary: 'Report how a run of a workflow ended',
      description: 'For the automation that carries these workflows out; agents of this product do not run them.',
      takes: {
        outcome: field.choice(['succeeded', 'failed']).required(),
        at: field
          .datetime()
          .required()
          .described('When the run ended; a report that is not later than the last one changes nothing'),
        error: field.message(),
      },
      change: ({ lastRunAt }, { outcome, at, error }) =>
        isOld(at, lastRunAt)
          ? {}
          : {
              lastRunAt: String(at),
              lastRunError: outcome === 'failed' ? ((error as string | undefined) ?? 'no reason was given') : null,
            },
      example: { outcome: 'failed', at: '2026-11-20T23:12:00.000Z', error: 'The invoice has no lines.' },
    },
  },
  events: {
    activated: { on: 'update', text: 'A workflow was switched on.', when: enters('status', 'active') },
    paused: { on: 'update', text: 'A workflow was paused.', when: enters('status', 'paused') },
    failed: {
      on: 'update',
      text: 'A run of a workflow failed.',
      when: (before, after) => before.lastRunAt !== after.lastRunAt && after.lastRunError !== null,
      fires: { act: 'result' },
    },
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
