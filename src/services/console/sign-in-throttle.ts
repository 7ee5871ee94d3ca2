/** Slows down guessing: wrong passwords are counted per network address and e-mail, in this process's memory. */
const FAILURES_MAX = 10;
const WINDOW_MS = 15 * 60_000;
const ENTRIES_MAX = 10_000;

interface Failures {
  count: number;
  sinceMs: number;
}

export interface SignInThrottle {
  /** Seconds to wait before the next attempt is looked at; 0 when it may be made. */
  waitSeconds(id: string, now: Date): number;
  failed(id: string, now: Date): void;
  succeeded(id: string): void;
}

/** The figure the refusal names. */
export const SIGN_IN_FAILURES_MAX = FAILURES_MAX;

/** Builds the throttle of this process. */
export function createSignInThrottle(): SignInThrottle {
  const failures = new Map<string, Failures>();
  const current = (id: string, now: Date): Failures => {
    const known = failures.get(id);
    return known && now.getTime() - known.sinceMs < WINDOW_MS ? known : { count: 0, sinceMs: now.getTime() };
  };
  return {
    waitSeconds(id, now) {
      const { count, sinceMs } = current(id, now);
      return count < FAILURES_MAX ? 0 : Math.max(1, Math.ceil((sinceMs + WINDOW_MS - now.getTime()) / 1_000));
    },
    failed(id, now) {
      const { count, sinceMs } = current(id, now);
      failures.delete(id);
      failures.set(id, { count: count + 1, sinceMs });
      const oldest = failures.size > ENTRIES_MAX ? failures.keys().next().value : undefined;
      if (oldest !== undefined) failures.delete(oldest);
    },
    succeeded: (id) => void failures.delete(id),
  };
}
