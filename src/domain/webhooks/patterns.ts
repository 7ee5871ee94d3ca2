/** Which events an endpoint asks for: exact types, groups ending in `*`, and filters over the payload. */
import type { Filter } from '../../contracts/condition';
import type { WebhookFilter } from '../../contracts/webhook';
import { matchesFilters } from '../conditions';

/** True when a pattern such as `psa:ticket.*` names the event type `psa:ticket.created`. */
export function matchesPattern(pattern: string, eventType: string): boolean {
  return pattern.endsWith('*') ? eventType.startsWith(pattern.slice(0, -1)) : pattern === eventType;
}

/** True when a pattern could name an event of this product. */
export const mayConcern = (pattern: string, product: string): boolean =>
  pattern === '*' || pattern.startsWith(`${product}:`);

/** The text as part of an expression. Queries take none with a NUL in it, so that one is written as its number. */
export const literal = (text: string): string =>
  text.replace(/[^A-Za-z0-9_-]/gu, (character) => (character === '\0' ? String.raw`\x00` : `\\${character}`));

/** The same patterns as one expression for a query. */
export const patternsToRegex = (patterns: readonly string[]): RegExp =>
  new RegExp(
    `^(${patterns.map((pattern) => (pattern.endsWith('*') ? `${literal(pattern.slice(0, -1))}.*` : literal(pattern))).join('|')})$`,
  );

/** The filter as conditions are written everywhere else. */
export const ruleOf = ({ caseSensitive, ...filter }: WebhookFilter): Filter => ({
  ...filter,
  ...(caseSensitive === undefined ? {} : { case_sensitive: caseSensitive }),
});

interface Asking {
  eventTypes: readonly string[];
  filters: readonly WebhookFilter[];
}

interface Happened {
  source_product: string;
  event_type: string;
  payload: Record<string, unknown>;
}

/** True when the endpoint asks for the event and every filter holds. */
export function asksFor({ eventTypes, filters }: Asking, event: Happened, now: Date): boolean {
  const type = `${event.source_product}:${event.event_type}`;
  if (!eventTypes.some((pattern) => matchesPattern(pattern, type))) return false;
  return matchesFilters(filters.map(ruleOf), event.payload, now).holds;
}
