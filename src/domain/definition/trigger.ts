/** Checks what starts an agent: the event exists, and the filters suit its payload. */
import type { Trigger } from '../../contracts/agent';
import type { EventCatalogEntry } from '../../contracts/event';
import { nearest } from '../suggest';
import { below, type Findings } from './findings';
import { checkCondition } from './rules';
import { ANY, payloadShape, type Shape } from './shapes';

/** The events that can be asked for. */
export interface Catalog {
  all: readonly EventCatalogEntry[];
  find: (product: string, type: string) => EventCatalogEntry | undefined;
}

/** Events of this kind belong to the org; their payload is not known beforehand. */
const isCustom = (type: string): boolean => type.startsWith('custom.');

function reportUnknown(
  { source_product: product, event_type: type }: Trigger,
  catalog: Catalog,
  findings: Findings,
): void {
  const code = 'unknown_event_type';
  const products = [...new Set(catalog.all.map((entry) => entry.source_product))];
  const elsewhere = catalog.all.find((entry) => entry.event_type === type);
  if (!products.includes(product) || elsewhere) {
    const message = products.includes(product)
      ? `${product} has no event "${type}".`
      : `No events of a product "${product}" are known; event types of your own begin with "custom.".`;
    const suggestion = elsewhere?.source_product ?? nearest(product, products);
    findings.add({ path: '/trigger/source_product', code, message, suggestion });
    return;
  }
  const types = catalog.all.filter((entry) => entry.source_product === product).map((entry) => entry.event_type);
  const message = `${product} has no event "${type}"; event types of your own begin with "custom.".`;
  findings.add({ path: '/trigger/event_type', code, message, suggestion: nearest(type, types) });
}

/** Checks the trigger and answers what is known about the payload. */
export function checkTrigger(trigger: Trigger, catalog: Catalog, findings: Findings): Shape {
  const entry = catalog.find(trigger.source_product, trigger.event_type);
  if (!entry && !isCustom(trigger.event_type)) reportUnknown(trigger, catalog, findings);
  const payload = entry ? payloadShape(entry) : ANY;
  trigger.filters?.forEach((filter, index) =>
    checkCondition(filter, below('/trigger/filters', index), payload, findings),
  );
  return payload;
}
