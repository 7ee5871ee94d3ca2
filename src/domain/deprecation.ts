/** What clients are told about an operation that will go, and how long before. */
import type { Deprecation } from '../contracts/operation';

const NOTICE_YEARS = 1;

const instantOf = (date: string): number => Date.parse(`${date}T00:00:00.000Z`);

/** Null when the declaration can stand; otherwise what is wrong with it. */
export function deprecationFault({ since, sunset }: Deprecation): string | null {
  if (Number.isNaN(instantOf(since)) || Number.isNaN(instantOf(sunset)))
    return 'since and sunset must be dates, YYYY-MM-DD';
  const earliest = new Date(instantOf(since));
  earliest.setUTCFullYear(earliest.getUTCFullYear() + NOTICE_YEARS);
  if (instantOf(sunset) >= earliest.getTime()) return null;
  return `sunset must be 12 months after since or later: ${earliest.toISOString().slice(0, 10)}`;
}

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and where to read more. */
export function deprecationHeaders(
  deprecated: Deprecation,
  place: { docs: string; id: string },
): Record<string, string> {
  const links = [`<${place.docs}#${place.id}>; rel="deprecation"; type="text/html"`];
  if (deprecated.successor)
    links.push(`<${place.docs}#${deprecated.successor}>; rel="successor-version"; type="text/html"`);
  return {
    Deprecation: `@${instantOf(deprecated.since) / 1_000}`,
    Sunset: new Date(instantOf(deprecated.sunset)).toUTCString(),
    Link: links.join(', '),
  };
}
