/** The events a change of a record emits: by the predicates of its row, with ids that a repeat gives again. */
import type { BusEvent } from '../contracts/event';
import { derivedId } from '../domain/ids';
import { difference } from '../resources/difference';
import type { AnyRecord, Labels, Resource } from '../resources/resource';

/** Labels of the references of a record, before and after a change. */
export interface ChangeLabels {
  before: Labels;
  after: Labels;
}

/** Who made a change. `system` is the product itself: a timer, or a figure that follows from other records. */
export interface Actor {
  type: 'api_key' | 'user' | 'client_user' | 'system';
  id: string;
}

/** A change of one record, complete enough to tell the world. */
export interface Change {
  kind: 'create' | 'update' | 'delete' | 'restore';
  tenantId: string;
  before: AnyRecord | null;
  after: AnyRecord;
  actor: Actor;
  labels: ChangeLabels;
}

function payloadOf(row: Resource, { kind, before, after, actor, labels }: Change): Record<string, unknown> {
  const payload = row.payload(after, labels.after);
  if (kind !== 'update' || !before) return { ...payload, actor };
  return { ...payload, ...difference(row.payload(before, labels.before), payload), actor };
}

/** Every event of a change. Their ids follow from record, version and type: a repeated hand-over changes nothing. */
export function eventsOf(row: Resource, change: Change): BusEvent[] {
  const { kind, before, after, labels, tenantId } = change;
  const from = before ?? after;
  const rules = Object.entries(row.events).filter(([, rule]) => rule.on === kind && (rule.when?.(from, after) ?? true));
  if (rules.length === 0) return [];
  const payload = payloadOf(row, change);
  return rules.map(([name, rule]) => {
    const type = `${row.singular}.${name}`;
    return {
      id: derivedId('evt', after.id, after.version, type),
      org_id: tenantId,
      event_type: type,
      source_product: row.eventProduct,
      occurred_at: after.updatedAt,
      client_id: row.clientId(after, labels.after),
      sequence: after.version,
      subject: `${row.path}/${after.id}`,
      payload: { ...payload, ...rule.facts?.(from, after, labels.after) },
    };
  });
}
