/** The arithmetic of the limits: fixed windows per tenant, GCRA per key, and how both are told to the client. */
import { hash } from 'node:crypto';
import type { Tier } from '../contracts/principal';
import { problem, type Problem } from '../contracts/problem';
import { memoised } from './memoised';

export const WINDOW_MS = 60_000;
const WINDOW_TEXT = '1m';

/** Sustained requests per minute and burst of each tier; the burst is also the tenant's window. */
export const TIER_RATES = {
  standard: { sustained: 60, burst: 100 },
  professional: { sustained: 300, burst: 500 },
  enterprise: { sustained: 1_000, burst: 2_000 },
} as const satisfies Record<Tier, { sustained: number; burst: number }>;

/** How many times the window a client may poll with `If-None-Match` once the window is spent. */
export const CONDITIONAL_FACTOR = 10;
/** Requests per minute of all mail keys of a tenant. */
export const MAIL_PER_MINUTE = 600;

/** What a limit counts, and for whom it is named in messages. */
export type PolicyName = 'tenant' | 'key' | 'mail' | 'conditional' | 'ip' | 'public';

const HOLDERS: Record<PolicyName, string> = {
  tenant: 'this tenant',
  key: 'this key',
  mail: 'the mail keys of this tenant',
  conditional: 'conditional requests of this tenant',
  ip: 'unauthenticated requests from this address',
  public: 'public requests from this address',
};

/** One limit as it stands after a request. */
export interface PolicyState {
  name: PolicyName;
  /** Requests the policy admits at once. */
  limit: number;
  remaining: number;
  /** When the policy next admits a full window. */
  resetAtMs: number;
  /** Until when further quota comes: the structured header's `t`. */
  renewsInMs: number;
  /** Set when the policy refused the request: how long until it would admit one. */
  retryInMs: number | null;
  /** GCRA policies only: requests per minute in the long run. */
  sustained?: number;
}

/** The tenant's window: an override arranged with support, a flat figure for all, or the burst of the tier. */
export const windowLimit = (tenant: { tier: Tier; rateLimitPerMinute: number | null }, flat: number): number =>
  tenant.rateLimitPerMinute ?? (flat > 0 ? flat : TIER_RATES[tenant.tier].burst);

const PHASES_MAX = 10_000;

/** Where in the minute a tenant's window begins, so that not all tenants start again at once. */
export const phaseOf = memoised(
  PHASES_MAX,
  (tenantId) => hash('sha256', tenantId, 'buffer').readUInt32BE(0) % WINDOW_MS,
);

/** Milliseconds between two requests of a key in the long run. */
export const emissionInterval = (tier: Tier): number => WINDOW_MS / TIER_RATES[tier].sustained;

/** The state of a fixed window of which `used` requests are spent. */
export function windowState(
  name: PolicyName,
  window: { limit: number; used: number; endsAtMs: number },
  nowMs: number,
): PolicyState {
  const left = Math.max(0, window.endsAtMs - nowMs);
  return {
    name,
    limit: window.limit,
    remaining: Math.max(0, window.limit - window.used),
    resetAtMs: window.endsAtMs,
    renewsInMs: left,
    retryInMs: null,
  };
}

/** The state of a key's bucket; `tatMs` is the theoretical arrival time GCRA keeps. */
export function bucketState(tier: Tier, tatMs: number, nowMs: number): PolicyState {
  const { burst, sustained } = TIER_RATES[tier];
  const interval = emissionInterval(tier);
  const ahead = Math.max(0, tatMs - nowMs);
  const remaining = Math.max(0, Math.floor((burst * interval - ahead) / interval));
  return {
    name: 'key',
    limit: burst,
    remaining,
    resetAtMs: nowMs + ahead,
    renewsInMs: ahead === 0 ? 0 : Math.max(1, ahead - (burst - remaining - 1) * interval),
    retryInMs: null,
    sustained,
  };
}

/** The same state, marked as the one that refused: a window renews as a whole, a bucket one request at a time. */
export const refusing = (state: PolicyState): PolicyState => ({ ...state, remaining: 0, retryInMs: state.renewsInMs });

const seconds = (milliseconds: number): number => Math.ceil(milliseconds / 1_000);

const order = (a: PolicyState, b: PolicyState): number =>
  Number(b.retryInMs !== null) - Number(a.retryInMs !== null) ||
  (b.retryInMs ?? 0) - (a.retryInMs ?? 0) ||
  a.remaining - b.remaining ||
  b.resetAtMs - a.resetAtMs;

/** The policy the three `X-RateLimit-*` headers describe: one that refused, else the one with least left. */
function foremost([first, ...others]: readonly PolicyState[]): PolicyState | undefined {
  return first && others.reduce((best, state) => (order(state, best) < 0 ? state : best), first);
}

const policyItem = (state: PolicyState): string =>
  `"${state.name}";q=${state.limit};w=${WINDOW_MS / 1_000}${state.sustained ? `;plat-sustained=${state.sustained}` : ''}`;

/** The rate-limit headers of a reply: three that describe one policy, two that list all. */
export function rateHeaders(states: readonly PolicyState[]): Record<string, string> {
  const shown = foremost(states);
  if (!shown) return {};
  return {
    'X-RateLimit-Limit': String(shown.limit),
    'X-RateLimit-Remaining': String(shown.remaining),
    'X-RateLimit-Reset': String(seconds(shown.resetAtMs)),
    'RateLimit-Policy': states.map(policyItem).join(', '),
    RateLimit: states.map((state) => `"${state.name}";r=${state.remaining};t=${seconds(state.renewsInMs)}`).join(', '),
  };
}

const amount = (state: PolicyState): string =>
  state.sustained
    ? `bursts of ${state.limit} requests and ${state.sustained} per ${WINDOW_TEXT}`
    : `${state.limit} requests per ${WINDOW_TEXT}`;

/** The 429: it names the violated policies, and its headers describe the one that takes longest. */
export function rateProblem(states: readonly PolicyState[]): Problem {
  const violated = states.filter((state) => state.retryInMs !== null);
  const worst = foremost(violated) ?? foremost(states);
  if (!worst) return problem('rate_limited');
  const retryAfter = Math.max(1, seconds(worst.retryInMs ?? WINDOW_MS));
  return problem('rate_limited', {
    message: `Rate limit exceeded: ${amount(worst)} for ${HOLDERS[worst.name]}. Retry in ${retryAfter} s.`,
    facts: {
      limit: worst.limit,
      window: WINDOW_TEXT,
      retryAfter,
      policy: worst.name,
      violated: violated.map((state) => state.name),
    },
    headers: { ...rateHeaders(states), 'Retry-After': String(retryAfter) },
  });
}
