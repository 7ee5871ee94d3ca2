/** Checks what starts an agent: the event exists, and the filters suit its payload. */
import type { Trigger } from '../../contracts/agent';
import type { EventCatalogEntry } from '../../contracts/event';
import { EVENT_TYPE_PATTERN, PRODUCT_PATTERN, wordsOf } from '../../contracts/patterns';
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

const NAMES = [
  { field: 'event_type', pattern: EVENT_TYPE_PATTERN },
  { field: 'source_product', pattern: PRODUCT_PATTERN },
] as const;

/** Names that no event can have: the agent would wait for ever. */
function reportImpossible(trigger: Trigger, findings: Findings): void {
  for (const { field, pattern } of NAMES) {
    if (new RegExp(pattern).test(trigger[field])) continue;
    findings.add({
      path: below('/trigger', field),
      code: `invalid_${field}`,
      message: `No event can be sent with ${field} "${trigger[field]}": it ${wordsOf(pattern)}.`,
    });
  }
}

/** Checks the trigger and answers what is known about the payload. */
export function checkTrigger(trigger: Trigger, catalog: Catalog, findings: Findings): Shape {
  const entry = catalog.find(trigger.source_product, trigger.event_type);
  if (!entry && isCustom(trigger.event_type)) reportImpossible(trigger, findings);
  else if (!entry) reportUnknown(trigger, catalog, findings);
  const payload = entry ? payloadShape(entry) : ANY;
  trigger.filters?.forEach((filter, index) =>
    checkCondition(filter, below('/trigger/filters', index), payload, findings),
  );
  return payload;
}
