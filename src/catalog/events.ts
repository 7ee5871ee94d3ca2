/** The catalog of bus events: what products emit and agents can be triggered by. */
import type { EventCatalogEntry } from '../contracts/event';
import { resourceEvents } from '../resources/events';
import { BUSINESS_EVENTS } from './events-business';
import { DESK_EVENTS } from './events-desk';
import { OPERATIONS_EVENTS } from './events-operations';
import { SECURITY_EVENTS } from './events-security';

const written: EventCatalogEntry[] = [...DESK_EVENTS, ...OPERATIONS_EVENTS, ...SECURITY_EVENTS, ...BUSINESS_EVENTS];

// What the product APIs emit is known from their resources; an entry written by hand says it better and wins.
const byId = new Map([...resourceEvents, ...written].map((entry) => [entry.id, entry]));
const all: EventCatalogEntry[] = [...byId.values()].sort((one, other) => (one.id < other.id ? -1 : 1));

/** Every known event, and the one of a product and type. */
export const eventCatalog = {
  all,
  find: (product: string, type: string): EventCatalogEntry | undefined => byId.get(`${product}:${type}`),
};
