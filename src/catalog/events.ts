/** The catalog of bus events: what products emit and agents can be triggered by. */
import type { EventCatalogEntry } from '../contracts/event';
import { resourceEvents } from '../resources/events';
import { BUSINESS_EVENTS } from './events-business';
import { DESK_EVENTS } from './events-desk';
import { OPERATIONS_EVENTS } from './events-operations';
import { SECURITY_EVENTS } from './events-security';

const written: EventCatalogEntry[] = [...DESK_EVENTS, ...OPERATIONS_EVENTS, ...SECURITY_EVENTS, ...BUSINESS_EVENTS];

/** Made by no record's change, and yet by the platform itself. */
const OWN_WORK: ReadonlySet<string> = new Set(['console:webhook.disabled', 'agents:credits.threshold']);

/** An agent for such an event would wait for ever where nobody sends it. */
const fromOutside = (entry: EventCatalogEntry): EventCatalogEntry => ({
  ...entry,
  description: `${entry.description} Comes from systems outside alone, which send it to the event intake.`,
});

/**
 * An entry written by hand says it better, and knows what systems outside add to the event; what the product's own
 * record carries is offered beside it, so that every field of an event that was emitted can be filtered by. What only
 * systems outside add says so: a filter on it keeps the product's own events away.
 */
function joined(ours: EventCatalogEntry | undefined, byHand: EventCatalogEntry): EventCatalogEntry {
  if (!ours) return OWN_WORK.has(byHand.id) ? byHand : fromOutside(byHand);
  const named = new Set(byHand.filterable_fields.map(({ path }) => path));
  const carries = (path: string): boolean => Object.hasOwn(ours.sample_payload, path);
  return {
    ...byHand,
    filterable_fields: [
      ...byHand.filterable_fields.map((field) =>
        carries(field.path) ? field : { ...field, label: `${field.label} (from outside)` },
      ),
      ...ours.filterable_fields.filter(({ path }) => !named.has(path)),
    ],
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
