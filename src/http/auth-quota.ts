/** The daily number of idempotency keys of a tenant: exact over all processes, without a store operation per request. */
import type { Context } from '../context';
import { problem, type Problem } from '../contracts/problem';
import { madePer } from '../domain/memoised';
import type { Store } from '../store/collection';
import { drawShare } from '../store/idempotency-quota';

/** Keys that a tenant may use on one day of UTC. */
export const KEYS_PER_DAY = 10_000;
const DAY_MS = 86_400_000;
const TENANTS_MAX = 10_000;

interface Share {
  day: number;
  left: number;
  /** Nothing more is to be had on this day. */
  isSpent: boolean;
  drawing: Promise<void> | null;
}

const sharesOf = madePer((_store: Store) => new Map<string, Share>());

const dayOf = (at: Date): number => Math.floor(at.getTime() / DAY_MS);

function shareOf({ store, clock }: Context, orgId: string): Share {
  const known = sharesOf(store);
  const day = dayOf(clock.now());
  const held = known.get(orgId);
  if (held?.day === day) return held;
  const fresh: Share = { day, left: 0, isSpent: false, drawing: null };
  const oldest = known.size >= TENANTS_MAX ? known.keys().next().value : undefined;
  if (oldest !== undefined) known.delete(oldest);
  known.set(orgId, fresh);
  return fresh;
}

async function draw(context: Context, orgId: string, share: Share): Promise<void> {
  try {
    const drawn = await drawShare(context.store, { orgId, at: new Date(share.day * DAY_MS), limit: KEYS_PER_DAY });
    share.left += drawn;
    share.isSpent = drawn === 0;
  } finally {
    share.drawing = null;
  }
}

/** Counts one new key; false when the tenant's day is spent. Requests that arrive together share one draw. */
export async function countKey(context: Context, orgId: string): Promise<boolean> {
  const share = shareOf(context, orgId);
  for (let attempt = 0; attempt < KEYS_PER_DAY; attempt += 1) {
    if (share.left > 0) {
      share.left -= 1;
      return true;
    }
    if (share.isSpent) return false;
    share.drawing ??= draw(context, orgId, share);
    await share.drawing;
  }
  return false;
}

/** Gives a counted key back: it turned out to be in use already. */
export function uncountKey(context: Context, orgId: string): void {
  shareOf(context, orgId).left += 1;
}

/** The refusal of a new key on a spent day. */
export function quotaSpent(now: Date): Problem {
  const retryAfter = Math.ceil(((dayOf(now) + 1) * DAY_MS - now.getTime()) / 1_000);
  return problem('idempotency_quota_exceeded', {
    message: `Idempotency-Key: this tenant has used ${KEYS_PER_DAY} keys today (UTC). Requests without the header still work, and keys used before get their answers. Retry in ${retryAfter} s.`,
    facts: { limit: KEYS_PER_DAY, window: '1d', retryAfter, policy: 'idempotency' },
    headers: { 'Retry-After': String(retryAfter) },
  });
}
