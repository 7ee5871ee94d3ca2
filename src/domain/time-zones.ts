/** Moments as clocks on a wall show them. Not for workflows: the rules of zones change with the release of Node. */

/** Everything of a moment that a date is written with, and how far the clock is from UTC. */
export interface WallClock {
  YYYY: string;
  MM: string;
  DD: string;
  HH: string;
  mm: string;
  ss: string;
  offset: string;
}

const CACHED_MAX = 100;
const formats = new Map<string, Intl.DateTimeFormat | null>();

function formatOf(zone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      calendar: 'gregory',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'longOffset',
    });
  } catch {
    return null;
  }
}

/** Zones come from payloads, too, so not every name that was ever seen is remembered. */
function known(zone: string): Intl.DateTimeFormat | null {
  const before = formats.get(zone);
  if (before !== undefined) return before;
  if (formats.size >= CACHED_MAX) formats.clear();
  const format = formatOf(zone);
  formats.set(zone, format);
  return format;
}

/** True for a name such as `Europe/Berlin`. */
export const isTimeZone = (name: string): boolean => name.length <= 64 && known(name) !== null;

/** The clock in a zone; in UTC when there is no such zone. */
export function wallClock(ms: number, zone: string): WallClock {
  const format = isTimeZone(zone) ? known(zone) : known('UTC');
  const parts = new Map(format?.formatToParts(ms).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  const offset = part('timeZoneName').replace('GMT', '');
  return {
    YYYY: part('year').padStart(4, '0'),
    MM: part('month'),
    DD: part('day'),
    HH: part('hour'),
    mm: part('minute'),
    ss: part('second'),
    offset: offset === '' || offset === '+00:00' ? 'UTC' : offset,
  };
}
