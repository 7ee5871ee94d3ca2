/** The catalog of bus events: what products emit and agents can be triggered by. */
import type { EventCatalogEntry } from '../contracts/event';
import { resourceEvents } from '../resources/events';
import { BUSINESS_EVENTS } from './events-business';
import { DESK_EVENTS } from './events-desk';
import { OPERATIONS_EVENTS } from './events-operations';
import { SECURITY_EVENTS } from './events-security';

const written: EventCatalogEntry[] = [...DESK_EVENTS, ...OPERATIONS_EVENTS, ...SECURITY_EVENTS, ...BUSINESS_EVENTS];

/**
 * An entry written by hand says it better, and knows what systems outside add to the event; what the product's own
 * record carries is offered beside it, so that every field of an event that was emitted can be filtered by.
 */
function joined(ours: EventCatalogEntry | undefined, byHand: EventCatalogEntry): EventCatalogEntry {
  if (!ours) return byHand;
  const named = new Set(byHand.filterable_fields.map(({ path }) => path));
  return {
    ...byHand,
    filterable_fields: [...byHand.filterable_fields, ...ours.filterable_fields.filter(({ path }) => !named.has(path))],
    sample_payload: { ...ours.sample_payload, ...byHand.sample_payload },
  };
}

const byId = new Map(resourceEvents.map((entry) => [entry.id, entry]));
for (const entry of written) byId.set(entry.id, joined(byId.get(entry.id), entry));
const all: EventCatalogEntry[] = [...byId.values()].sort((one, other) => (one.id < other.id ? -1 : 1));

/** Every known event, and the one of a product and type. */
export const eventCatalog = {
  all,
  find: (product: string, type: string): EventCatalogEntry | undefined => byId.get(`${product}:${type}`),
};
