/** Defend: protected endpoints, what was found on them, and the answer to it. */
import { field } from './field';
import { resource } from './resource';
import { enters, exampleId, leaves, moves } from './rules';

/** Endpoints: devices with protection. */
export const endpoints = resource({
  products: ['defend'],
  path: 'endpoints',
  nouns: ['endpoint', 'endpoints'],
  prefix: 'edp',
  category: 'security',
  fields: {
    hostname: field.string().required().filterable().sortable(),
    companyId: field.ref('companies').required().filterable(),
    deviceId: field.ref('devices').filterable(),
    os: field.choice(['windows', 'macos', 'linux', 'other']).default('other').filterable(),
    agentVersion: field.string().filterable(),
    status: field.choice(['protected', 'at_risk', 'isolated', 'offline']).default('protected').filterable().sortable(),
    policyName: field.string().filterable(),
    lastSeenAt: field.datetime().filterable().sortable(),
    openDetections: field
      .integer(0)
      .default(0)
      .serverSet()
      .sortable()
      .described('Detections of this endpoint that are neither remediated nor a false positive'),
  },
  label: 'hostname',
  tally: {
    from: 'detections',
    by: 'endpointId',
    where: { status: ['new', 'investigating', 'contained'] },
    change: (_endpoint, openDetections) => ({ openDetections }),
  },
  lists: ['deviceId', 'companyId', 'status'],
  events: {
    created: { on: 'create', text: 'An endpoint was put under protection.' },
    at_risk: { on: 'update', text: 'An endpoint is at risk.', when: enters('status', 'at_risk') },
    isolated: { on: 'update', text: 'An endpoint was cut off from the network.', when: enters('status', 'isolated') },
    released: {
      on: 'update',
      text: 'An endpoint may use the network again.',
      when: leaves('status', 'isolated'),
      fires: { given: { status: 'isolated' }, change: { status: 'protected' } },
    },
    offline: { on: 'update', text: 'An endpoint was reported offline.', when: enters('status', 'offline') },
  },
  examples: {
    create: { hostname: 'SRV-FILE-01', companyId: exampleId('cmp'), os: 'windows', policyName: 'Servers' },
    update: { status: 'isolated' },
  },
});

/** Detections: what protection found on an endpoint. */
export const detections = resource({
  products: ['defend'],
  path: 'detections',
  nouns: ['detection', 'detections'],
  prefix: 'det',
  category: 'security',
  fields: {
    endpointId: field.ref('endpoints').required().filterable(),
    threatName: field.string().required().sortable(),
    severity: field.choice(['low', 'medium', 'high', 'critical']).required().filterable().sortable(),
    category: field
      .choice(['malware', 'ransomware', 'pup', 'exploit', 'behavior', 'credential_theft'])
      .default('malware')
      .filterable(),
    status: field
      .choice(['new', 'investigating', 'contained', 'remediated', 'false_positive'])
      .default('new')
      .filterable()
      .sortable(),
    filePath: field.string(),
    sha256: field.sha256().filterable(),
    processName: field.string(),
    detectedAt: field.datetime().filterable().sortable(),
    techniqueIds: field.strings().default([]).filterable(),
  },
  label: 'threatName',
  lists: ['sha256', 'endpointId', 'status'],
  clientThrough: 'endpointId',
  labelled: ['endpointId'],
  also: ({ status }, labels) => ({
    hostname: labels['endpointId'] ?? null,
    action_taken: status === 'contained' || status === 'remediated' ? 'quarantined' : 'none',
  }),
  events: {
    created: { on: 'create', text: 'Endpoint protection found something.' },
    contained: { on: 'update', text: 'A threat was contained.', when: enters('status', 'contained') },
    remediated: { on: 'update', text: 'A threat was removed.', when: enters('status', 'remediated') },
  },
  examples: {
    create: {
      endpointId: exampleId('edp'),
      threatName: 'Ransom.Generic',
      severity: 'critical',
      category: 'ransomware',
      filePath: 'C:\\Users\\ana\\Downloads\\invoice.exe',
      techniqueIds: ['T1486'],
    },
    update: { status: 'contained' },
  },
});

const isOver = (status: string): boolean => ['succeeded', 'failed', 'cancelled'].includes(status);

/** Response actions: what an endpoint was asked to do, and what the system that did it reported. */
export const responseActions = resource({
  products: ['defend'],
  path: 'response-actions',
  nouns: ['response action', 'response actions'],
  prefix: 'rsp',
  category: 'security',
  fields: {
    endpointId: field.ref('endpoints').required().filterable(),
    detectionId: field.ref('detections').filterable(),
    action: field
      .choice(['isolate', 'release', 'kill_process', 'quarantine_file', 'scan', 'collect_evidence'])
      .required()
      .filterable(),
    parameters: field.object(),
    status: field
      .choice(['pending', 'running', 'succeeded', 'failed', 'cancelled'])
      .default('pending')
      .serverSet()
      .filterable()
      .sortable()
      .described('Moved by POST /:id/result'),
    result: field.text().serverSet().described('What the system that ran it said'),
    completedAt: field.datetime().serverSet().sortable(),
  },
  label: 'action',
  lists: ['detectionId', 'endpointId'],
  states: moves('status', {
    pending: ['running', 'succeeded', 'failed', 'cancelled'],
    running: ['succeeded', 'failed', 'cancelled'],
    succeeded: [],
    failed: [],
    cancelled: [],
  }),
  frozen: ({ status }) => (isOver(status) ? `This response action has ${status}: it does not change any more.` : null),
  computed: ({ status, completedAt }, _before, now) => ({ completedAt: isOver(status) ? (completedAt ?? now) : null }),
  actions: {
    result: {
      verb: 'report',
      summary: 'Report what became of a response action',
      description:
        'For the endpoint protection or monitoring system that carries it out: `running` when it has begun, then how it ended. Also cancels an action nobody has carried out.',
      takes: {
        status: field.choice(['running', 'succeeded', 'failed', 'cancelled']).required(),
        result: field.text(),
      },
      change: (action, { status, result }) => ({
        status: status as typeof action.status,
        result: typeof result === 'string' ? result : action.result,
      }),
      example: { status: 'succeeded', result: 'Process 4312 ended.' },
    },
  },
  clientThrough: 'endpointId',
  labelled: ['endpointId'],
  also: (_action, labels) => ({ hostname: labels['endpointId'] ?? null }),
  events: {
    requested: { on: 'create', text: 'An endpoint was asked to do something.' },
    succeeded: {
      on: 'update',
      text: 'An endpoint did what it was asked to do.',
      when: enters('status', 'succeeded'),
      fires: { act: 'result' },
    },
    failed: {
      on: 'update',
      text: 'An endpoint could not do what it was asked to do.',
      when: enters('status', 'failed'),
      fires: { act: 'result', change: { status: 'failed', result: 'No such process.' } },
    },
  },
  examples: {
    create: { endpointId: exampleId('edp'), action: 'kill_process', parameters: { processName: 'invoice.exe' } },
    update: { parameters: { processName: 'invoice.exe', reason: 'Ransomware behaviour' } },
  },
});
