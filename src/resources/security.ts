/** Security: what the rules found, and what was made of it. */
import { field } from './field';
import { resource } from './resource';
import { changes, enters, exampleId, fromTo, moves } from './rules';

const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;
const TACTICS = [
  'reconnaissance',
  'resource_development',
  'initial_access',
  'execution',
  'persistence',
  'privilege_escalation',
  'defense_evasion',
  'credential_access',
  'discovery',
  'lateral_movement',
  'collection',
  'command_and_control',
  'exfiltration',
  'impact',
] as const;

/** Security alerts: a rule fired. */
export const securityAlerts = resource({
  products: ['security'],
  path: 'alerts',
  key: 'security-alerts',
  nouns: ['security alert', 'security alerts'],
  eventNoun: 'alert',
  prefix: 'sal',
  category: 'security',
  fields: {
    title: field.string().required().sortable(),
    severity: field.choice(SEVERITIES).required().filterable().sortable(),
    status: field
      .choice(['new', 'triaged', 'escalated', 'closed', 'false_positive'])
      .default('new')
      .filterable()
      .sortable(),
    ruleId: field.ref('rules').filterable(),
    incidentId: field.ref('incidents').filterable(),
    deviceId: field.ref('devices').filterable(),
    companyId: field.ref('companies').filterable(),
    userPrincipal: field.string().filterable(),
    sourceIp: field.ipAddress().filterable(),
    detectedAt: field.datetime().filterable().sortable(),
    techniqueIds: field.strings().default([]).filterable(),
  },
  label: 'title',
  lists: ['incidentId', 'deviceId', 'ruleId', 'companyId', 'status'],
  clientThrough: 'deviceId',
  events: {
    created: { on: 'create', text: 'A detection rule fired.' },
    escalated: { on: 'update', text: 'A security alert was escalated.', when: enters('status', 'escalated') },
    closed: { on: 'update', text: 'A security alert was closed.', when: enters('status', 'closed') },
  },
  examples: {
    create: {
      title: 'Many failed sign-ins followed by a success',
      severity: 'high',
      userPrincipal: 'ana@northwind.example',
      sourceIp: '203.0.113.9',
      techniqueIds: ['T1110.003'],
    },
    update: { status: 'escalated', severity: 'critical' },
  },
});

/** Detection rules. */
export const rules = resource({
  products: ['security'],
  path: 'rules',
  nouns: ['rule', 'rules'],
  prefix: 'rul',
  category: 'security',
  fields: {
    name: field.string().required().sortable(),
    description: field.text(),
    severity: field.choice(SEVERITIES).required().filterable().sortable(),
    query: field.document().required(),
    queryLanguage: field.choice(['kql', 'sigma', 'lucene']).default('sigma').filterable(),
    enabled: field.boolean().default(true).filterable(),
    lookbackMinutes: field.integer(1, 43_200).default(60),
    throttleMinutes: field.integer(0, 43_200).default(0),
    techniqueIds: field.strings().default([]).filterable(),
  },
  label: 'name',
  events: {
    created: { on: 'create', text: 'A detection rule was created.' },
    updated: { on: 'update', text: 'A detection rule changed.' },
    disabled: { on: 'update', text: 'A detection rule was switched off.', when: enters('enabled', false) },
  },
  examples: {
    create: {
      name: 'Sign-in after a spray',
      severity: 'high',
      query: 'SigninLogs | where ResultType == 0',
      queryLanguage: 'kql',
      techniqueIds: ['T1110.003'],
    },
    update: { throttleMinutes: 30 },
  },
});

/** Incidents: alerts that belong together. An incident only moves forward. */
export const incidents = resource({
  products: ['security'],
  path: 'incidents',
  nouns: ['incident', 'incidents'],
  prefix: 'inc',
  category: 'security',
  fields: {
    title: field.string().required().sortable(),
    severity: field.choice(SEVERITIES).required().filterable().sortable(),
    status: field
      .choice(['open', 'investigating', 'contained', 'resolved', 'closed'])
      .default('open')
      .filterable()
      .sortable(),
    companyId: field.ref('companies').filterable(),
    assigneeId: field.id().filterable(),
    alertIds: field.strings().default([]),
    containedAt: field.datetime().serverSet().sortable(),
    closedAt: field.datetime().serverSet().filterable().sortable(),
    rootCause: field.text(),
  },
  label: 'title',
  lists: ['assigneeId', 'companyId', 'status'],
  states: moves('status', {
    open: ['investigating', 'contained', 'resolved', 'closed'],
    investigating: ['contained', 'resolved', 'closed'],
    contained: ['resolved', 'closed'],
    resolved: ['closed'],
    closed: [],
  }),
  computed: ({ status, containedAt, closedAt }, _before, now) => ({
    containedAt: status === 'contained' ? (containedAt ?? now) : containedAt,
    closedAt: status === 'closed' ? (closedAt ?? now) : null,
  }),
  events: {
    created: { on: 'create', text: 'An incident was opened.' },
    severity_changed: {
      on: 'update',
      text: 'The severity of an incident changed.',
      when: changes('severity'),
      facts: fromTo('severity'),
    },
    contained: { on: 'update', text: 'An incident was contained.', when: enters('status', 'contained') },
    resolved: { on: 'update', text: 'An incident was resolved.', when: enters('status', 'resolved') },
    closed: { on: 'update', text: 'An incident was closed.', when: enters('status', 'closed') },
  },
  examples: {
    create: { title: 'Account of Ana Reyes taken over', severity: 'high', alertIds: [exampleId('sal')] },
    update: { status: 'contained', severity: 'critical' },
  },
});

/** Coverage of the MITRE ATT&CK techniques by the rules. */
export const mitreMappings = resource({
  products: ['security'],
  path: 'mitre-mappings',
  nouns: ['MITRE mapping', 'MITRE mappings'],
  prefix: 'mit',
  category: 'security',
  fields: {
    techniqueId: field.technique().required().filterable().sortable(),
    tactic: field.choice(TACTICS).required().filterable().sortable(),
    name: field.string().required().sortable(),
    ruleIds: field.strings().default([]),
    coverage: field.choice(['none', 'partial', 'full']).default('none').filterable().sortable(),
    notes: field.text(),
  },
  label: 'name',
  lists: ['techniqueId'],
  events: { updated: { on: 'update', text: 'The coverage of a technique changed.' } },
  examples: {
    create: {
      techniqueId: 'T1110.003',
      tactic: 'credential_access',
      name: 'Password spraying',
      ruleIds: [exampleId('rul')],
    },
    update: { coverage: 'partial' },
  },
});
