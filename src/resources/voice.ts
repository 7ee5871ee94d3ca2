/** Voice: who called whom, and what was recorded. */
import { field } from './field';
import { resource } from './resource';
import { enters, exampleId, is } from './rules';

/** Calls, written down when they ended: what happened is not changed, what it was about is added. */
export const calls = resource({
  products: ['voice'],
  path: 'call-logs',
  nouns: ['call', 'calls'],
  prefix: 'cal',
  category: 'communications',
  fields: {
    direction: field.choice(['inbound', 'outbound', 'internal']).required().fixed().filterable(),
    fromNumber: field.phone().required().fixed().filterable(),
    toNumber: field.phone().required().fixed().filterable(),
    status: field
      .choice(['completed', 'missed', 'voicemail', 'busy', 'failed'])
      .required()
      .fixed()
      .filterable()
      .sortable(),
    startedAt: field.datetime().required().fixed().filterable().sortable(),
    durationSeconds: field.integer(0, 86_400).default(0).fixed().sortable(),
    userId: field.id().filterable(),
    contactId: field.ref('voice-contacts').filterable(),
    companyId: field.ref('companies').filterable(),
    recordingId: field.id(),
    ticketId: field.ref('tickets').filterable(),
  },
  label: 'fromNumber',
  lists: ['ticketId', 'fromNumber', 'toNumber', 'contactId', 'userId', 'companyId'],
  events: {
    completed: { on: 'create', text: 'A call ended.', when: is('status', 'completed') },
    missed: { on: 'create', text: 'A caller hung up before anyone answered.', when: is('status', 'missed') },
    voicemail: { on: 'create', text: 'A caller left a message.', when: is('status', 'voicemail') },
  },
  examples: {
    create: {
      direction: 'inbound',
      fromNumber: '+1 555 0100',
      toNumber: '+1 555 0199',
      status: 'completed',
      startedAt: '2026-11-20T13:00:00.000Z',
      durationSeconds: 312,
    },
    update: { userId: exampleId('usr') },
  },
});

/** Recordings of calls. */
export const recordings = resource({
  products: ['voice'],
  path: 'recordings',
  nouns: ['recording', 'recordings'],
  prefix: 'rec',
  category: 'communications',
  fields: {
    callId: field.ref('call-logs').required().filterable(),
    durationSeconds: field.integer(0, 86_400).default(0).sortable(),
    sizeBytes: field.integer(0).sortable(),
    format: field.choice(['mp3', 'wav', 'ogg']).default('mp3').filterable(),
    transcript: field.document(),
    transcriptStatus: field.choice(['none', 'pending', 'ready', 'failed']).default('none').filterable(),
    expiresAt: field.datetime().filterable().sortable(),
  },
  label: 'callId',
  lists: ['callId'],
  clientThrough: 'callId',
  events: {
    created: { on: 'create', text: 'A call was recorded.' },
    transcript_ready: {
      on: 'update',
      text: 'What was said in a recording can be read.',
      when: enters('transcriptStatus', 'ready'),
    },
    deleted: { on: 'delete', text: 'A recording was deleted.' },
  },
  examples: {
    create: { callId: exampleId('cal'), durationSeconds: 312, sizeBytes: 2_500_000, transcriptStatus: 'pending' },
    update: { transcriptStatus: 'ready', transcript: 'Hello, the whole office is offline.' },
  },
});

/** Contacts of the telephone system; people at companies are contacts of the CRM. */
export const voiceContacts = resource({
  products: ['voice'],
  path: 'contacts',
  key: 'voice-contacts',
  nouns: ['voice contact', 'voice contacts'],
  eventNoun: 'contact',
  prefix: 'vct',
  category: 'communications',
  fields: {
    displayName: field.string().required().sortable(),
    phoneNumber: field.phone().required().filterable(),
    email: field.email().filterable(),
    companyId: field.ref('companies').filterable(),
    speedDial: field.string(),
    blocked: field.boolean().default(false).filterable(),
  },
  label: 'displayName',
  lists: ['phoneNumber', 'companyId'],
  events: {
    created: { on: 'create', text: 'A contact was added to the telephone system.' },
    updated: { on: 'update', text: 'A contact of the telephone system changed.' },
    deleted: { on: 'delete', text: 'A contact was removed from the telephone system.' },
  },
  examples: {
    create: { displayName: 'Northwind Dental, front desk', phoneNumber: '+1 555 0100' },
    update: { speedDial: '12' },
  },
});
