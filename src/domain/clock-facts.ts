/** What rules can ask about the moment at which they are held against something. Safe inside workflows. */
import type { ZoneOffset } from './time-zones';

const MINUTE_MS = 60_000;
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;

/** Where a scope has the offsets of the org's zone. */
export const OFFSETS = 'org.offsets';

/** The days `now.weekday` can name, Monday first. */
export const WEEKDAY_NAMES = [...WEEKDAYS.slice(1), WEEKDAYS[0]];

/** The clock on the wall of an org, by the offsets it is told; in UTC without any. */
function localClock(now: Date, offsets: unknown): Date {
  const known = Array.isArray(offsets) ? (offsets as ZoneOffset[]) : [];
  const { minutes = 0 } = known.findLast(({ since }) => since <= now.getTime()) ?? known[0] ?? {};
  return new Date(now.getTime() + minutes * MINUTE_MS);
}

/** What conditions can ask about the moment of their evaluation: in UTC and, as `local_…`, by the clock of the org. */
export const clockFacts = (now: Date, offsets?: unknown) => {
  const local = localClock(now, offsets);
  return {
    hour: now.getUTCHours(),
    weekday: WEEKDAYS[now.getUTCDay()] ?? '',
    local_hour: local.getUTCHours(),
    local_weekday: WEEKDAYS[local.getUTCDay()] ?? '',
    iso: now.toISOString(),
  };
};
