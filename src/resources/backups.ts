/** Backups: what is saved how often, and what can be restored. */
import { field } from './field';
import { resource } from './resource';
import { enters, exampleId } from './rules';

const TYPES = ['image', 'file', 'm365', 'google', 'database'] as const;

/** Jobs: one thing that is saved. Their status is how the last run ended. */
export const jobs = resource({
  products: ['backups'],
  path: 'jobs',
  nouns: ['job', 'jobs'],
  prefix: 'bjb',
  category: 'operations',
  fields: {
    name: field.string().required().sortable(),
    companyId: field.ref('companies').required().filterable(),
    deviceId: field.ref('devices').filterable(),
    scheduleId: field.ref('schedules').filterable(),
    jobType: field.choice(TYPES).required().filterable(),
    status: field.choice(['idle', 'running', 'succeeded', 'warning', 'failed']).default('idle').filterable().sortable(),
    lastRunAt: field.datetime().filterable().sortable(),
    lastDurationSeconds: field.integer().sortable(),
    bytesProtected: field.integer().sortable(),
    retentionDays: field.integer(1, 3_650).default(30),
    enabled: field.boolean().default(true).filterable(),
  },
  label: 'name',
  lists: ['deviceId', 'scheduleId', 'companyId', 'status'],
  labelled: ['deviceId'],
  also: (_job, labels) => ({ hostname: labels['deviceId'] ?? null }),
  events: {
    started: { on: 'update', text: 'A backup began.', when: enters('status', 'running') },
    succeeded: { on: 'update', text: 'A backup ended with a usable copy.', when: enters('status', 'succeeded') },
    warning: {
      on: 'update',
      text: 'A backup ended with a copy that lacks something.',
      when: enters('status', 'warning'),
    },
    failed: { on: 'update', text: 'A backup ended without a usable copy.', when: enters('status', 'failed') },
  },
  examples: {
    create: { name: 'File server, nightly', companyId: exampleId('cmp'), jobType: 'image', retentionDays: 90 },
    update: { status: 'succeeded', lastDurationSeconds: 1_840, bytesProtected: 48_318_382_080 },
  },
});

/** Schedules: when jobs run. */
export const schedules = resource({
  products: ['backups'],
  path: 'schedules',
  nouns: ['schedule', 'schedules'],
  prefix: 'bsc',
  category: 'operations',
  fields: {
    name: field.string().required().sortable(),
    cron: field.string().required(),
    timezone: field.string().default('UTC'),
    jobType: field.choice(TYPES).default('image').filterable(),
    retentionDays: field.integer(1, 3_650).default(30),
    enabled: field.boolean().default(true).filterable(),
  },
  label: 'name',
  events: { updated: { on: 'update', text: 'A backup schedule changed.' } },
  examples: {
    create: { name: 'Nightly', cron: '0 2 * * *', timezone: 'America/New_York' },
    update: { enabled: false },
  },
});

/** Restore points: copies as they were made. Only whether they still can be used changes. */
export const restorePoints = resource({
  products: ['backups'],
  path: 'restore-points',
  nouns: ['restore point', 'restore points'],
  prefix: 'rpt',
  category: 'operations',
  fields: {
    jobId: field.ref('jobs').required().fixed().filterable(),
    deviceId: field.ref('devices').fixed().filterable(),
    pointAt: field.datetime().required().fixed().filterable().sortable(),
    sizeBytes: field.integer().fixed().sortable(),
    location: field.choice(['local', 'cloud', 'both']).default('cloud').fixed().filterable(),
    verificationStatus: field.choice(['pending', 'passed', 'failed']).default('pending').filterable(),
    expiresAt: field.datetime().filterable().sortable(),
  },
  label: 'pointAt',
  lists: ['jobId', 'deviceId'],
  events: {
    created: { on: 'create', text: 'A copy was made that can be restored.' },
    verification_failed: {
      on: 'update',
      text: 'A copy turned out to be unusable.',
      when: enters('verificationStatus', 'failed'),
    },
  },
  examples: {
    create: { jobId: exampleId('bjb'), pointAt: '2026-11-20T02:30:00.000Z', sizeBytes: 48_318_382_080 },
    update: { verificationStatus: 'passed' },
  },
});
