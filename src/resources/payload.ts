/** What events tell of a record. */
import { snakeCase } from './names';
import type { AnyRecord, Labels, Resource } from './resource';

export type Payload = (record: AnyRecord, labels: Labels) => Record<string, unknown>;

/** Every field of the row, for rows that say nothing else. */
export function defaultPayload(row: Pick<Resource, 'singular' | 'fields' | 'clientId'>, also: Payload): Payload {
  return (record, labels) => ({
    [`${row.singular}_id`]: record.id,
    client_id: row.clientId(record, labels),
    ...Object.fromEntries(Object.keys(row.fields).map((name) => [snakeCase(name), record[name]])),
    ...also(record, labels),
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  });
}

/** What every record has is told with it: whose it is, who made it, what other systems call it and what tenants keep with it. */
export const withCommonFields =
  (payload: Payload, clientName: Resource['clientName']): Payload =>
  (record, labels) => ({
    ...payload(record, labels),
    ...(clientName ? { client_name: clientName(record, labels) } : {}),
    external_refs: record.externalRefs,
    custom_fields: record.customFields,
    created_by: record.createdBy,
  });
