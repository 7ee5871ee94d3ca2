/** What an endpoint's settings are checked for when they are saved: its address, its event types and its filters. */
import type { EventCatalogEntry } from '../../contracts/event';
import type { Finding } from '../../contracts/problem';
import type { WebhookFilter } from '../../contracts/webhook';
import { Findings } from '../definition/findings';
import { checkCondition, checkPatternSize } from '../definition/rules';
import { payloadShape } from '../definition/shapes';
import { addressOf, isGlobal } from '../public-address';
import { nearest } from '../suggest';
import { matchesPattern, ruleOf } from './patterns';

const PORTS: ReadonlySet<string> = new Set(['', '443', '8443']);
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const PATTERN = /^(\*|[a-z][a-z0-9_-]{1,40}:(\*|[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*){0,4}(\.\*)?))$/;
/** Events of the org's own kinds are not in the catalog. */
const CUSTOM = /^[a-z][a-z0-9_-]{1,40}:custom\./;

/** True for the names and literals of this very machine. */
export const isLoopback = (url: URL): boolean => LOOPBACK.test(url.hostname);

/** What is wrong with an address, or null. Where a name leads is checked anew at every delivery. */
export function urlFlaw(text: string, allowLoopback: boolean): string | null {
  if (!URL.canParse(text)) return 'must be a complete address such as https://hooks.example.com/signalbox';
  const url = new URL(text);
  if (url.username || url.password) return 'must not hold credentials; verify the signature instead';
  if (url.hash) return 'must not have a fragment';
  if (allowLoopback && isLoopback(url) && /^https?:$/.test(url.protocol)) return null;
  if (url.protocol !== 'https:') return 'must begin with https://';
  if (!PORTS.has(url.port)) return 'must use port 443 or 8443';
  return null;
}

/** Every delivery to such a host would be refused: a number that is not public, however it is written, or this machine. */
function hostFlaw(text: string, allowLoopback: boolean): string | null {
  const url = new URL(text);
  if (isLoopback(url)) return allowLoopback ? null : 'must not lead to this machine';
  const address = addressOf(url.hostname.replace(/^\[|\]$/g, ''));
  return address && !isGlobal(address) ? 'must be on the public internet, which this host is not' : null;
}

function urlFinding(url: string | undefined, allowLoopback: boolean): Finding[] {
  const message = url === undefined ? null : (urlFlaw(url, allowLoopback) ?? hostFlaw(url, allowLoopback));
  return message === null ? [] : [{ path: '/url', code: 'url', message }];
}

const groupsOf = (id: string): string[] => {
  const [product = '', type = ''] = id.split(':');
  return [`${product}:*`, `${product}:${type.split('.')[0] ?? ''}.*`];
};

function patternFinding(pattern: string, index: number, catalog: readonly EventCatalogEntry[]): Finding[] {
  const ids = catalog.map(({ id }) => id);
  const isKnown = PATTERN.test(pattern) && (CUSTOM.test(pattern) || ids.some((id) => matchesPattern(pattern, id)));
  if (isKnown) return [];
  const candidates = pattern.endsWith('*') ? [...new Set(ids.flatMap(groupsOf))] : ids;
  const suggestion = nearest(pattern.replace('*', ''), candidates);
  return [
    {
      path: `/eventTypes/${index}`,
      code: 'unknown_event_type',
      message: `no event type is called ${pattern}; GET /console/api/event-types lists them, types of your own are <product>:custom.<name>`,
      ...(suggestion ? { suggestion } : {}),
    },
  ];
}

/** A filter suits when at least one of the events asked for has its field, with its operator and value. */
function filterFindings(filters: readonly WebhookFilter[], entries: readonly EventCatalogEntry[]): Finding[] {
  if (entries.length === 0) return [];
  return filters.flatMap((filter, index) => {
    const perEvent = entries.map((entry) => {
      const findings = new Findings();
      checkCondition(ruleOf(filter), `/filters/${index}`, payloadShape(entry), findings);
      return findings.all;
    });
    if (perEvent.some((findings) => findings.length === 0)) return [];
    const closest = perEvent.find(([first]) => first?.code !== 'unknown_field');
    return closest ?? perEvent[0] ?? [];
  });
}

/** Whatever the events hold: their patterns are counted together. */
function patternFindings(filters: readonly WebhookFilter[]): Finding[] {
  const findings = new Findings();
  filters.forEach((filter, index) => checkPatternSize(ruleOf(filter), `/filters/${index}`, findings));
  return findings.all;
}

interface Checked {
  url?: string | undefined;
  eventTypes: readonly string[];
  filters: readonly WebhookFilter[];
}

/** Everything wrong with the settings, each with its place and, where near, what was meant. */
export function checkWebhook(
  { url, eventTypes, filters }: Checked,
  { catalog, allowLoopback }: { catalog: readonly EventCatalogEntry[]; allowLoopback: boolean },
): Finding[] {
  const asked = catalog.filter(({ id }) => eventTypes.some((pattern) => matchesPattern(pattern, id)));
  const hasCustom = eventTypes.some((pattern) => pattern === '*' || CUSTOM.test(pattern));
  // What an org's own events carry is not known beforehand, so any field may be theirs.
  const unsuited = hasCustom ? [] : filterFindings(filters, asked);
  return [
    ...urlFinding(url, allowLoopback),
    ...eventTypes.flatMap((pattern, index) => patternFinding(pattern, index, catalog)),
    ...(unsuited.length > 0 ? unsuited : patternFindings(filters)),
  ];
}
