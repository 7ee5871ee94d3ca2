/** Portal: who of the MSP's clients is invited, and what they see. */
import { PORTAL_ROLES } from '../contracts/principal';
import { field } from './field';
import { resource } from './resource';
import { enters, exampleId, is } from './rules';

const TICKETS = 'While false, portal tokens make no tickets (403)';
const PAYMENT = 'For your pages: portal tokens make no payments';
const SSO = 'While true, sign-in by mail is refused (403); sessions are opened by your key';

const NO_SECOND_FACTOR = 'Null: the portal knows no second factor yet';

/** People at companies who are invited to the portal. */
export const clientUsers = resource({
  products: ['portal'],
  path: 'client-users',
  nouns: ['client user', 'client users'],
  prefix: 'pcu',
  category: 'onboarding',
  fields: {
    email: field.email().required().filterable().sortable().lowerCased(),
    firstName: field.string(),
    lastName: field.string().sortable(),
    companyId: field.ref('companies').required().filterable(),
    contactId: field.ref('contacts').filterable(),
    role: field.choice(PORTAL_ROLES).default('requester').filterable(),
    status: field.choice(['invited', 'active', 'suspended']).default('invited').filterable().sortable(),
    lastLoginAt: field.datetime().serverSet().filterable().sortable(),
    mfaEnabled: field.boolean().serverSet().filterable().described(NO_SECOND_FACTOR),
  },
  label: 'email',
  lists: ['email', 'contactId', 'companyId'],
  // One spelling per address: people sign in by it.
  computed: ({ email }) => ({ email: email.toLowerCase() }),
  events: {
    invited: { on: 'create', text: 'A person was invited to the portal.', when: is('status', 'invited') },
    activated: { on: 'update', text: 'A person was activated for the portal.', when: enters('status', 'active') },
    suspended: { on: 'update', text: 'A person was suspended from the portal.', when: enters('status', 'suspended') },
    deleted: { on: 'delete', text: 'A person was removed from the portal.' },
  },
  examples: {
    create: { email: 'ana@northwind.example', firstName: 'Ana', lastName: 'Reyes', companyId: exampleId('cmp') },
    update: { status: 'active' },
  },
  portal: {
    actions: { list: 'people:read', get: 'people:read', create: 'people:invite', update: 'profile:write' },
    shows: ['email', 'firstName', 'lastName', 'companyId', 'contactId', 'role', 'status', 'lastLoginAt'],
    belongs: 'companyId',
    // Only admins invite, and no role is above theirs. Which contact somebody is, staff say: approvals go by it.
    create: {
      takes: { email: 'any', firstName: 'any', lastName: 'any', companyId: 'any', role: 'any' },
      sets: { status: 'invited' },
    },
    update: { takes: { firstName: 'any', lastName: 'any' }, own: 'client user' },
  },
});

/** How the portal looks and what it offers. */
export const portalSettings = resource({
  products: ['portal'],
  path: 'portal-settings',
  nouns: ['set of portal settings', 'sets of portal settings'],
  eventNoun: 'portal settings',
  prefix: 'pst',
  category: 'client_success',
  fields: {
    brandName: field.string().required(),
    supportEmail: field.email(),
    primaryColor: field.color(),
    logoUrl: field.uri(),
    allowTicketCreation: field.boolean().default(true).described(TICKETS),
    allowInvoicePayment: field.boolean().default(false).described(PAYMENT),
    ssoRequired: field.boolean().default(false).described(SSO),
    announcement: field.text(),
  },
  label: 'brandName',
  isSingleton: true,
  events: { updated: { on: 'update', text: 'The settings of the portal changed.' } },
  examples: {
    create: { brandName: 'Signal Services', supportEmail: 'help@signal.example', primaryColor: '#1a73e8' },
    update: { announcement: 'The service desk is closed on Thursday.' },
  },
  portal: {
    actions: { list: 'settings:read', get: 'settings:read', getCurrent: 'settings:read' },
    shows: [
      'brandName',
      'supportEmail',
      'primaryColor',
      'logoUrl',
      'allowTicketCreation',
      'allowInvoicePayment',
      'ssoRequired',
      'announcement',
    ],
    belongs: 'everybody',
  },
});
