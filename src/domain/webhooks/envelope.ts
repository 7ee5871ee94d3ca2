/** An event as receivers get it: our own envelope, or CloudEvents 1.0. */
import { API_VERSIONS, type ApiVersion, type EventContent } from '../../contracts/version';
import type { WebhookSettings } from '../../contracts/webhook';
import { contentFor } from '../versioning';

/** An event as the log holds it. */
export interface LoggedEvent {
  org_id: string;
  event_id: string;
  event_type: string;
  source_product: string;
  occurred_at: string;
  payload: Record<string, unknown>;
  /** Version of the resource; null for events that came from outside. */
  sequence: number | null;
  /** `tickets/tkt_…`; null for events that came from outside. */
  subject: string | null;
}

/** Id of the resource an event is about. */
export const resourceIdOf = (subject: string | null | undefined): string | null => subject?.split('/').at(-1) ?? null;

const camelCase = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Only the names of fields are ours to spell; what stands inside a field is the record's own. */
const renamed = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [camelCase(name), value]));

function changesOf({ payload }: LoggedEvent): Record<string, { from: unknown; to: unknown }> | null {
  const { changed, previous } = payload;
  if (!Array.isArray(changed) || !isRecord(previous)) return null;
  return Object.fromEntries(
    changed.map((name) => [
      camelCase(String(name)),
      { from: previous[String(name)] ?? null, to: payload[String(name)] ?? null },
    ]),
  );
}

function fullData(event: LoggedEvent): Record<string, unknown> {
  if (event.subject === null) return event.payload;
  const { changed: _changed, previous: _previous, ...fields } = event.payload;
  return { id: resourceIdOf(event.subject), version: event.sequence, ...renamed(fields) };
}

/** What the event tells: the resource in the API's spelling, or what was sent in from outside, as it was sent. */
export function contentOf(event: LoggedEvent): EventContent {
  const changes = event.subject === null ? null : changesOf(event);
  return { data: fullData(event), ...(changes ? { changes } : {}) };
}

const thinContent = ({ subject, event_id: id }: LoggedEvent): EventContent => ({
  data: { id: resourceIdOf(subject) ?? id },
});

/** What the event tells in an earlier version; what was sent in from outside has the sender's shape in all of them. */
function contentIn(event: LoggedEvent, to: string, versions: readonly ApiVersion[]): EventContent {
  const content = contentOf(event);
  if (event.subject === null) return content;
  const [noun] = event.event_type.split('.', 1);
  return contentFor(versions, `${event.source_product}:${noun}`, { content, to });
}

type Shape = Pick<WebhookSettings, 'payload' | 'format' | 'apiVersion'>;

/** The body of a delivery in the endpoint's version, and its media type. */
export function bodyOf(
  event: LoggedEvent,
  { payload, format, apiVersion }: Shape,
  versions: readonly ApiVersion[] = API_VERSIONS,
): { body: string; contentType: string } {
  const content = payload === 'thin' ? thinContent(event) : contentIn(event, apiVersion, versions);
  if (format === 'cloudevents') {
    const cloudEvent = {
      specversion: '1.0',
      id: event.event_id,
      source: `/${event.source_product}`,
      type: `${event.source_product}.${event.event_type}`,
      time: event.occurred_at,
      datacontenttype: 'application/json',
      ...(event.subject === null ? {} : { subject: event.subject }),
      tenantid: event.org_id,
      ...(event.sequence === null ? {} : { sequence: String(event.sequence) }),
      data: 'changes' in content ? { ...content.data, changes: content.changes } : content.data,
    };
    return { body: JSON.stringify(cloudEvent), contentType: 'application/cloudevents+json' };
  }
  const envelope = {
    id: event.event_id,
    type: event.event_type,
    sourceProduct: event.source_product,
    timestamp: event.occurred_at,
    apiVersion,
    tenantId: event.org_id,
    sequence: event.sequence,
    ...content,
  };
  return { body: JSON.stringify(envelope), contentType: 'application/json' };
}
