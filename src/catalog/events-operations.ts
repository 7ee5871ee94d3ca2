/** Events of running systems: devices, backups, mail sending, on-call, the platform itself. */
import type { EventCatalogEntry } from '../contracts/event';
import { DISABLED_REASONS } from '../contracts/webhook';
import * as f from './event-fields';

const DEVICE: f.Fields = { device_id: f.id('dev_srv_file_01'), hostname: f.text('SRV-FILE-01'), ...f.CLIENT };
const ALERT: f.Fields = { alert_id: f.id('ral_7710'), ...DEVICE };
const ALERT_SEVERITIES = ['info', 'warning', 'error', 'critical'] as const;

const RMM: EventCatalogEntry[] = [
  f.event('rmm:device.offline', {
    category: 'operations',
    name: 'Device offline',
    about: 'A device has not been heard of for a while.',
    fields: {
      ...DEVICE,
      device_class: f.choice(['workstation', 'laptop', 'server', 'network', 'mobile', 'virtual'], 'server'),
      hours_offline: f.decimal(1.5),
      os: f.choice(['windows', 'macos', 'linux', 'ios', 'android', 'other'], 'windows'),
    },
  }),
  f.event('rmm:device.online', {
    category: 'operations',
    name: 'Device back online',
    about: 'A device that was offline answers again.',
    fields: { ...DEVICE, downtime_minutes: f.whole(96) },
  }),
  f.event('rmm:alert.triggered', {
    category: 'operations',
    name: 'Monitoring alert',
    about: 'A check on a device passed its limit.',
    fields: {
      ...ALERT,
      severity: f.choice(ALERT_SEVERITIES, 'error'),
      check: f.text('cpu_load'),
      value: f.decimal(97.4),
      message: f.text('CPU load above 95 % for 10 minutes'),
    },
  }),
  f.event('rmm:alert.resolved', {
    category: 'operations',
    name: 'Monitoring alert resolved',
    about: 'A check on a device is back within its limits.',
    fields: { ...ALERT, minutes_open: f.whole(34) },
  }),
  f.event('rmm:patch.failed', {
    category: 'operations',
    name: 'Patch failed',
    about: 'A patch could not be installed.',
    fields: {
      ...DEVICE,
      kb: f.text('KB5046617'),
      severity: f.choice(['critical', 'important', 'moderate', 'low'], 'critical'),
      attempts: f.whole(3),
    },
  }),
  f.event('rmm:script.completed', {
    category: 'operations',
    name: 'Script completed',
    about: 'A script ended on a device; exit code 0 means success.',
    fields: { script_id: f.id('scr_cleanup'), exit_code: f.whole(0), ...DEVICE },
  }),
  f.event('rmm:disk.low', {
    category: 'operations',
    name: 'Disk nearly full',
    about: 'A volume has little space left.',
    fields: { ...DEVICE, volume: f.text('D:'), percent_free: f.decimal(4.2) },
  }),
];

const BACKUPS: EventCatalogEntry[] = [
  f.event('backups:job.failed', {
    category: 'operations',
    name: 'Backup failed',
    about: 'A backup job ended without a usable copy.',
    fields: {
      job_id: f.id('bjb_nightly'),
      ...DEVICE,
      error_code: f.text('VSS_TIMEOUT'),
      consecutive_failures: f.whole(2),
    },
  }),
  f.event('backups:job.succeeded', {
    category: 'operations',
    name: 'Backup succeeded',
    about: 'A backup job ended with a usable copy.',
    fields: {
      job_id: f.id('bjb_nightly'),
      ...DEVICE,
      bytes: f.whole(48_318_382_080),
      duration_s: f.whole(1_840, 'Duration (seconds)'),
    },
  }),
  f.event('backups:restore.requested', {
    category: 'operations',
    name: 'Restore requested',
    about: 'Someone asked for data from a backup.',
    fields: {
      restore_point: f.moment('2026-11-19T23:00:00.000Z'),
      requester: f.text('maria.winter@northwind.example'),
      bytes: f.whole(2_147_483_648),
      ...f.CLIENT,
    },
  }),
  f.event('backups:storage.threshold', {
    category: 'operations',
    name: 'Backup storage nearly full',
    about: 'A backup repository used most of its space.',
    fields: { percent: f.whole(90), repository: f.text('vault-eu-1') },
  }),
];

const MAIL: EventCatalogEntry[] = [
  f.event('email:message.bounced', {
    category: 'communications',
    name: 'Mail bounced',
    about: 'A message we sent could not be delivered.',
    fields: {
      message_id: f.id('msg_01K0ZT'),
      bounce_type: f.choice(['hard', 'soft', 'blocked'], 'hard'),
      recipient_domain: f.text('northwind.example'),
      domain: f.text('mail.msp.example', 'Sending domain'),
    },
  }),
  f.event('email:message.complained', {
    category: 'communications',
    name: 'Mail marked as spam',
    about: 'A recipient marked a message of ours as spam.',
    fields: { message_id: f.id('msg_01K0ZV'), recipient_domain: f.text('northwind.example') },
  }),
  f.event('email:domain.verification_failed', {
    category: 'communications',
    name: 'Sending domain not verified',
    about: 'A DNS record of a sending domain is missing or wrong.',
    fields: {
      domain: f.text('mail.msp.example'),
      record: f.choice(['spf', 'dkim', 'dmarc', 'return_path'], 'dkim'),
    },
  }),
  f.event('email:reputation.threshold', {
    category: 'communications',
    name: 'Mail reputation at risk',
    about: 'The bounce or complaint rate of a sending domain is too high.',
    fields: {
      domain: f.text('mail.msp.example'),
      metric: f.choice(['bounce_rate', 'complaint_rate'], 'bounce_rate'),
      rate: f.decimal(0.061),
    },
  }),
];

const ON_CALL: EventCatalogEntry[] = [
  f.event('oncall:shift.started', {
    category: 'operations',
    name: 'On-call shift started',
    about: 'Someone took over the on-call duty.',
    fields: { user_id: f.id('usr_ben'), schedule_id: f.id('sch_nights') },
  }),
  f.event('oncall:page.unacknowledged', {
    category: 'operations',
    name: 'Page not acknowledged',
    about: 'Nobody reacted to a page in time.',
    fields: { page_id: f.id('pag_551'), minutes: f.whole(15), level: f.whole(1) },
  }),
  f.event('cmdb:asset.warranty_expiring', {
    category: 'operations',
    name: 'Warranty ends soon',
    about: 'The warranty of an asset ends in a few days.',
    fields: { asset_id: f.id('ast_220'), days_left: f.whole(30), model: f.text('ThinkPad T14'), ...f.CLIENT },
  }),
];

const PLATFORM: EventCatalogEntry[] = [
  f.event('console:user.created', {
    category: 'onboarding',
    name: 'User created',
    about: 'Someone was given access to the platform.',
    fields: { user_id: f.id('usr_cleo'), roles: f.listOf(['technician']), tenant_id: f.id('org_demo') },
  }),
  f.event('console:user.deactivated', {
    category: 'compliance',
    name: 'User deactivated',
    about: 'Someone lost access to the platform.',
    fields: { user_id: f.id('usr_cleo'), reason: f.text('left_company') },
  }),
  f.event('console:sync.failed', {
    category: 'operations',
    name: 'Entity sync failed',
    about: 'Records of two products could not be kept in step.',
    fields: {
      entity: f.choice(['company', 'contact', 'user', 'device'], 'company'),
      source: f.text('crm'),
      error_code: f.text('mapping_missing'),
    },
  }),
  f.event('console:webhook.disabled', {
    category: 'operations',
    name: 'Webhook disabled',
    about: 'A webhook endpoint was switched off: it took nothing for days, it answered 410, or somebody did so.',
    fields: {
      webhook_id: f.id('whk_01K0ZW'),
      host: f.text('hooks.example.com'),
      reason: f.choice(DISABLED_REASONS, 'failing'),
      failing_since: f.moment('2026-11-15T22:40:00.000Z'),
      failures: f.whole(24),
    },
  }),
  f.event('agents:credits.threshold', {
    category: 'finance',
    name: 'Credits nearly used',
    about: 'The org used 80 percent of its AI credits of the month, or all of them: `percent` is 80 or 100.',
    fields: {
      percent: f.whole(80),
      remaining: f.whole(200),
      total_used: f.whole(800),
      allocation: f.whole(1_000),
      month: f.text('2026-11'),
    },
  }),
];

export const OPERATIONS_EVENTS: EventCatalogEntry[] = [...RMM, ...BACKUPS, ...MAIL, ...ON_CALL, ...PLATFORM];
