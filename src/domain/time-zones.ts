/** Moments as clocks on a wall show them. Not for workflows: the rules of zones change with the release of Node. */
import { memoised } from './memoised';

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
const NAME_MAX = 64;

/** Zones come from payloads, too, so not every name that was ever seen is remembered. */
const formatNamed = memoised(CACHED_MAX, (zone: string): Intl.DateTimeFormat | null => {
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
});

/** Null when there is no such zone. */
const formatOf = (zone: string): Intl.DateTimeFormat | null => (zone.length <= NAME_MAX ? formatNamed(zone) : null);

/** True for a name such as `Europe/Berlin`. */
export const isTimeZone = (name: string): boolean => formatOf(name) !== null;

/** The clock in a zone; in UTC when there is no such zone. */
export function wallClock(ms: number, zone: string): WallClock {
  const format = formatOf(zone) ?? formatOf('UTC');
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

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Longer than executions last; behind that the last offset counts. */
const DAYS_AHEAD = 800;

/** How far the clocks of a zone are from UTC, in minutes, since a moment. */
export interface ZoneOffset {
  since: number;
  minutes: number;
}

function minutesAt(ms: number, zone: string): number {
  const [sign, hours = 0, minutes = 0] = wallClock(ms, zone).offset.split(/(?<=[+-])|:/);
  return hours === 0 && minutes === 0 ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

/** The first minute that has the offset of the end: clocks change once in a day. */
function changeBetween(start: number, end: number, zone: string): number {
  const after = minutesAt(end, zone);
  let [before, found] = [start, end];
  while (found - before > MINUTE_MS) {
    const middle = before + Math.floor((found - before) / 2 / MINUTE_MS) * MINUTE_MS;
    if (minutesAt(middle, zone) === after) found = middle;
    else before = middle;
  }
  return found;
}

/** By day and zone, as a zone's name holds no blank: some ten milliseconds of work. */
const tableOf = memoised(CACHED_MAX, (name: `${number} ${string}`): ZoneOffset[] => {
  const [first = '', zone = ''] = name.split(' ');
  const day = Number(first);
  const offsets: ZoneOffset[] = [{ since: day, minutes: minutesAt(day, zone) }];
  for (let at = day; at < day + DAYS_AHEAD * DAY_MS; at += DAY_MS) {
    const minutes = minutesAt(at + DAY_MS, zone);
    if (minutes !== offsets.at(-1)?.minutes) offsets.push({ since: changeBetween(at, at + DAY_MS, zone), minutes });
  }
  return offsets;
});

/** The offsets of a zone from a day on: what workflows are told, who must read the same in every replay. */
export const offsetsOf = (zone: string, now: Date): ZoneOffset[] =>
  tableOf(`${Math.floor(now.getTime() / DAY_MS) * DAY_MS} ${zone}`);
