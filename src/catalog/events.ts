/** The catalog of bus events: what products emit and agents can be triggered by. */
import type { EventCatalogEntry } from '../contracts/event';
import { BUSINESS_EVENTS } from './events-business';
import { DESK_EVENTS } from './events-desk';
import { OPERATIONS_EVENTS } from './events-operations';
import { SECURITY_EVENTS } from './events-security';

const all: EventCatalogEntry[] = [...DESK_EVENTS, ...OPERATIONS_EVENTS, ...SECURITY_EVENTS, ...BUSINESS_EVENTS];
const byId = new Map(all.map((entry) => [entry.id, entry]));

/** Every known event, and the one of a product and type. */
export const eventCatalog = {
  all,
  find: (product: string, type: string): EventCatalogEntry | undefined => byId.get(`${product}:${type}`),
};
