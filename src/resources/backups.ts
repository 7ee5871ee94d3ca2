/** Backups: what is saved how often, and what can be restored. */
import { field } from './field';
import { resource } from './resource';
import { enters, exampleId } from './rules';

interface Run {
  status: string;
  lastRunAt: string | null;
}

/** A job that had failed and names another `lastRunAt` has run, and failed, again: not every system reports that it began. */
const isFailure = (after: Run, before: Run | null): boolean =>
  after.status === 'failed' && (before?.status !== 'failed' || before.lastRunAt !== after.lastRunAt);

function failuresAfter(after: Run & { consecutiveFailures: number }, before: Run | null): number {
  if (isFailure(after, before)) return after.consecutiveFailures + 1;
  return after.status === 'succeeded' || after.status === 'warning' ? 0 : after.consecutiveFailures;
}

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
    lastDurationSeconds: field.integer(0).sortable(),
    bytesProtected: field.integer(0).sortable(),
    lastErrorCode: field
      .string()
      .filterable()
      .described(
        'Why the last run failed or warned, in the words of the backup system; null while one runs or succeeded',
      ),
    consecutiveFailures: field
      .integer(0)
      .default(0)
      .serverSet()
      .sortable()
      .described('Runs that failed since the last one that left a copy'),
    retentionDays: field.integer(1, 3_650).default(30),
    enabled: field.boolean().default(true).filterable(),
  },
  label: 'name',
  lists: ['deviceId', 'scheduleId', 'companyId', 'status'],
  labelled: ['deviceId'],
  computed: (after, before) => ({
    consecutiveFailures: failuresAfter(after, before),
    lastErrorCode: after.status === 'running' || after.status === 'succeeded' ? null : after.lastErrorCode,
  }),
  also: ({ lastErrorCode }, labels) => ({ hostname: labels['deviceId'] ?? null, error_code: lastErrorCode }),
  events: {
    started: { on: 'update', text: 'A backup began.', when: enters('status', 'running') },
    succeeded: { on: 'update', text: 'A backup ended with a usable copy.', when: enters('status', 'succeeded') },
    warning: {
      on: 'update',
      text: 'A backup ended with a copy that lacks something.',
      when: enters('status', 'warning'),
    },
    failed: {
      on: 'update',
      text: 'A backup ended without a usable copy.',
      when: (before, after) => isFailure(after, before),
      fires: { change: { status: 'failed', lastErrorCode: 'VSS_TIMEOUT', lastRunAt: '2026-11-20T02:30:00.000Z' } },
    },
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
    sizeBytes: field.integer(0).fixed().sortable(),
    location: field.choice(['local', 'cloud', 'both']).default('cloud').fixed().filterable(),
    verificationStatus: field.choice(['pending', 'passed', 'failed']).default('pending').filterable(),
    expiresAt: field.datetime().filterable().sortable(),
    expiredAt: field
      .datetime()
      .serverSet()
      .described('`expiresAt`, once it was noticed that it has passed; null before'),
  },
  label: 'pointAt',
  lists: ['jobId', 'deviceId'],
  clientThrough: 'jobId',
  computed: ({ expiresAt, expiredAt }, before) => ({
    expiredAt: before && before.expiresAt !== expiresAt ? null : expiredAt,
  }),
  timer: {
    fields: ['expiresAt', 'expiredAt'],
    waits: {},
    next: ({ expiresAt, expiredAt }) =>
      expiresAt === null || expiredAt !== null ? null : { at: expiresAt, change: { expiredAt: expiresAt } },
  },
  events: {
    created: { on: 'create', text: 'A copy was made that can be restored.' },
    verification_failed: {
      on: 'update',
      text: 'A copy turned out to be unusable.',
      when: enters('verificationStatus', 'failed'),
    },
    expired: {
      on: 'update',
      text: 'A copy is older than it is kept.',
      when: (before, after) => before.expiredAt === null && after.expiredAt !== null,
      fires: {
        by: 'timer',
        given: { expiresAt: '2026-11-20T23:00:00.000Z' },
        change: { expiredAt: '2026-11-20T23:00:00.000Z' },
      },
    },
  },
  examples: {
    create: { jobId: exampleId('bjb'), pointAt: '2026-11-20T02:30:00.000Z', sizeBytes: 48_318_382_080 },
    update: { verificationStatus: 'passed' },
  },
});
