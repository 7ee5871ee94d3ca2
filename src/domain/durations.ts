/** Lengths of time as authors write them: `30s`, `15m`, `24h`, `7d`. Safe inside workflows. */

const UNITS = [
  { suffix: 'd', ms: 86_400_000 },
  { suffix: 'h', ms: 3_600_000 },
  { suffix: 'm', ms: 60_000 },
  { suffix: 's', ms: 1_000 },
] as const;

const DURATION = /^([1-9][0-9]{0,5})([smhd])$/;

/** Milliseconds of a duration, or `undefined` when the value is not one. */
export function parseDuration(value: unknown): number | undefined {
  const [, count, suffix] = typeof value === 'string' ? (DURATION.exec(value) ?? []) : [];
  const unit = UNITS.find((candidate) => candidate.suffix === suffix);
  return unit && Number(count) * unit.ms;
}

/** Milliseconds of a duration the contracts have validated; anything else is a mistake in our own code. */
export function durationMs(duration: string): number {
  const ms = parseDuration(duration);
  if (ms === undefined) throw new RangeError(`Not a duration: ${duration}`);
  return ms;
}

/** A length of time for people, in its two largest units: `1h 30m`, `2d`, `250ms`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 1_000) return `${Math.max(0, Math.round(ms) || 0)}ms`;
  const first = UNITS.findIndex((unit) => ms >= unit.ms);
  let rest = ms;
  const parts: string[] = [];
  for (const unit of UNITS.slice(first, first + 2)) {
    const count = Math.floor(rest / unit.ms);
    rest -= count * unit.ms;
    if (count > 0) parts.push(`${count}${unit.suffix}`);
  }
  return parts.join(' ');
}
