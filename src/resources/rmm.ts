/** RMM: the devices the MSP looks after, and what it does to them. */
import { field } from './field';
import { resource } from './resource';
import { enters, exampleId } from './rules';

const HOUR_MS = 60 * 60 * 1_000;

/** Hours with one decimal between two moments; null when the first is not known. */
const hoursBetween = (from: string | null, to: string): number | null =>
  from === null ? null : Math.max(0, Math.round(((Date.parse(to) - Date.parse(from)) / HOUR_MS) * 10) / 10);

/** Silence after which a device that was online counts as offline. */
const OFFLINE_AFTER_MINUTES = 15;
const OFFLINE_AFTER_MS = OFFLINE_AFTER_MINUTES * 60_000;

/** Devices. Their status is what the monitoring agent last said. */
export const devices = resource({
  products: ['rmm'],
  path: 'devices',
  nouns: ['device', 'devices'],
  prefix: 'dev',
  category: 'operations',
  fields: {
    hostname: field.string().required().filterable().sortable(),
    companyId: field.ref('companies').required().filterable(),
    deviceType: field
      .choice(['workstation', 'laptop', 'server', 'network', 'mobile', 'virtual'])
      .default('workstation')
      .filterable(),
    os: field.choice(['windows', 'macos', 'linux', 'ios', 'android', 'other']).default('other').filterable(),
    osVersion: field.string(),
    status: field
      .choice(['online', 'offline', 'maintenance', 'decommissioned'])
      .default('offline')
      .filterable()
      .sortable(),
    ipAddress: field.ipAddress(),
    serialNumber: field.string().filterable(),
    agentVersion: field.string().filterable(),
    lastSeenAt: field
      .datetime()
      .filterable()
      .sortable()
      .described(
        `When its monitoring agent last reported; set by a change to \`online\` that does not name it. ${OFFLINE_AFTER_MINUTES} minutes later an online device becomes offline`,
      ),
    patchStatus: field.choice(['compliant', 'pending', 'failed', 'unknown']).default('unknown').filterable(),
    contactId: field.ref('contacts').filterable(),
  },
  label: 'hostname',
  lists: ['hostname', 'serialNumber', 'contactId', 'companyId', 'status'],
  computed: ({ status, lastSeenAt }, before, now) => ({
    lastSeenAt:
      status === 'online' && before?.status !== 'online' && lastSeenAt === (before?.lastSeenAt ?? null)
        ? now
        : lastSeenAt,
  }),
  timer: {
    fields: ['status', 'lastSeenAt'],
    waits: { status: ['online'] },
    next: ({ lastSeenAt, updatedAt }) => ({
      at: new Date(Date.parse(lastSeenAt ?? updatedAt) + OFFLINE_AFTER_MS).toISOString(),
      change: { status: 'offline' },
    }),
  },
  also: (device) => ({ device_class: device.deviceType }),
  events: {
    created: { on: 'create', text: 'A device was added.' },
    updated: { on: 'update', text: 'A device changed.' },
    online: { on: 'update', text: 'A device answers again.', when: enters('status', 'online') },
    offline: {
      on: 'update',
      text: 'A device was reported offline.',
      when: enters('status', 'offline'),
      fires: { given: { status: 'online' }, change: { status: 'offline' } },
      facts: (_before, after) => ({ hours_offline: hoursBetween(after.lastSeenAt, after.updatedAt) }),
    },
    decommissioned: {
      on: 'update',
      text: 'A device was taken out of service.',
      when: enters('status', 'decommissioned'),
    },
    deleted: { on: 'delete', text: 'A device was deleted.' },
  },
  examples: {
    create: {
      hostname: 'SRV-FILE-01',
      companyId: exampleId('cmp'),
      deviceType: 'server',
      os: 'windows',
      ipAddress: '10.20.0.5',
    },
    update: { status: 'online', agentVersion: '4.2.1' },
  },
});

/** Scripts that devices can run. */
export const scripts = resource({
  products: ['rmm'],
  path: 'scripts',
  nouns: ['script', 'scripts'],
  prefix: 'scr',
  category: 'operations',
  fields: {
    name: field.string().required().sortable(),
    description: field.text(),
    language: field.choice(['powershell', 'bash', 'python', 'batch']).required().filterable(),
    content: field.document().required(),
    timeoutSeconds: field.integer(1, 3_600).default(300),
    runAs: field.choice(['system', 'user']).default('system').filterable(),
    category: field.string().filterable(),
    active: field.boolean().default(true).filterable(),
  },
  label: 'name',
  lists: ['category'],
  events: {
    created: { on: 'create', text: 'A script was created.' },
    updated: { on: 'update', text: 'A script changed.' },
    deleted: { on: 'delete', text: 'A script was deleted.' },
  },
  examples: {
    create: { name: 'Clear the print queue', language: 'powershell', content: 'Restart-Service -Name Spooler -Force' },
    update: { timeoutSeconds: 60 },
  },
});

/** Patch policies: which updates devices take, and when. */
export const patchPolicies = resource({
  products: ['rmm'],
  path: 'patch-policies',
  nouns: ['patch policy', 'patch policies'],
  prefix: 'ppl',
  category: 'operations',
  fields: {
    name: field.string().required().sortable(),
    approvalMode: field.choice(['auto', 'manual', 'delayed']).default('manual').filterable(),
    delayDays: field.integer(0, 90).default(7),
    scheduleCron: field.string(),
    rebootPolicy: field.choice(['never', 'prompt', 'force']).default('prompt').filterable(),
    severities: field.choices(['critical', 'important', 'moderate', 'low']).default([]),
    deviceTypes: field.choices(['workstation', 'laptop', 'server']).default([]),
    active: field.boolean().default(true).filterable(),
  },
  label: 'name',
  events: { updated: { on: 'update', text: 'A patch policy changed.' } },
  examples: {
    create: {
      name: 'Servers, Sunday night',
      approvalMode: 'delayed',
      scheduleCron: '0 3 * * 0',
      severities: ['critical', 'important'],
      deviceTypes: ['server'],
    },
    update: { delayDays: 3 },
  },
});

/** Monitoring alerts: a check on a device passed its limit. */
export const deviceAlerts = resource({
  products: ['rmm'],
  path: 'alerts',
  key: 'device-alerts',
  nouns: ['device alert', 'device alerts'],
  eventNoun: 'alert',
  prefix: 'ral',
  category: 'operations',
  fields: {
    deviceId: field.ref('devices').required().filterable(),
    companyId: field.ref('companies').filterable(),
    severity: field.choice(['info', 'warning', 'error', 'critical']).required().filterable().sortable(),
    status: field.choice(['open', 'acknowledged', 'resolved', 'suppressed']).default('open').filterable().sortable(),
    alertType: field
      .choice(['cpu', 'memory', 'disk', 'service', 'offline', 'patch', 'custom'])
      .default('custom')
      .filterable(),
    message: field.string().required(),
    triggeredAt: field.datetime().filterable().sortable(),
    resolvedAt: field.datetime().serverSet().sortable(),
    ticketId: field.ref('tickets').filterable(),
  },
  label: 'message',
  lists: ['ticketId', 'deviceId', 'companyId', 'status'],
  clientThrough: 'deviceId',
  computed: ({ status, resolvedAt }, _before, now) => ({
    resolvedAt: status === 'resolved' ? (resolvedAt ?? now) : null,
  }),
  labelled: ['deviceId'],
  also: (_alert, labels) => ({ hostname: labels['deviceId'] ?? null }),
  events: {
    created: { on: 'create', text: 'A check on a device passed its limit.' },
    acknowledged: {
      on: 'update',
      text: 'Somebody looks after a monitoring alert.',
      when: enters('status', 'acknowledged'),
    },
    resolved: { on: 'update', text: 'A monitoring alert was resolved.', when: enters('status', 'resolved') },
  },
  examples: {
    create: {
      deviceId: exampleId('dev'),
      severity: 'error',
      alertType: 'cpu',
      message: 'CPU load above 95 % for 10 minutes',
    },
    update: { status: 'acknowledged' },
  },
});
