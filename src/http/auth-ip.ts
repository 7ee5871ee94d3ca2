/** The limit of callers we do not know, by network address, in this process's memory. */
import ipaddr from 'ipaddr.js';
import { memoised } from '../domain/memoised';
import { WINDOW_MS, windowState, type PolicyName, type PolicyState } from '../domain/rate-limit';
import type { Caller } from './credentials';

const LIMITS = {
  /** Requests without valid credentials. */
  ip: 60,
  /** Requests to public operations, such as signing in. */
  public: 600,
} as const satisfies Partial<Record<PolicyName, number>>;
export type AddressPolicy = keyof typeof LIMITS;

const ADDRESSES_MAX = 20_000;
const IPV6_BITS = 64;

const NETWORKS_MAX = 10_000;

/** The network a limit is kept for: an IPv4 address, or the /64 that one IPv6 subscriber has. */
export const networkOfAddress = memoised(NETWORKS_MAX, (text) => {
  if (!ipaddr.isValid(text)) return 'unknown';
  const address = ipaddr.process(text);
  if (!(address instanceof ipaddr.IPv6)) return address.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/${IPV6_BITS}`).toString()}/${IPV6_BITS}`;
});

/** The network of whoever sent the request. */
export const networkOf = (request: Caller): string =>
  networkOfAddress(request.ip ?? request.socket.remoteAddress ?? '');

export interface AddressLimiter {
  /** Counts a request and answers whether the limit still held for it. */
  charge(network: string, policy: AddressPolicy, nowMs: number): { state: PolicyState; isAdmitted: boolean };
  /** The state without counting. */
  read(network: string, policy: AddressPolicy, nowMs: number): PolicyState;
}

interface Window {
  startedAtMs: number;
  used: number;
}

/** Builds the limiter of this process. The window of an address starts with its first request. */
export function createAddressLimiter(): AddressLimiter {
  const windows = new Map<string, Window>();

  function windowOf(id: string, nowMs: number): Window {
    const known = windows.get(id);
    if (known && nowMs - known.startedAtMs < WINDOW_MS) return known;
    return { startedAtMs: nowMs, used: 0 };
  }

  function remember(id: string, window: Window): void {
    // Re-inserting keeps the map in order of use, so the first entry is the one to forget.
    windows.delete(id);
    windows.set(id, window);
    const oldest = windows.size > ADDRESSES_MAX ? windows.keys().next().value : undefined;
    if (oldest !== undefined) windows.delete(oldest);
  }

  const stateOf = (policy: AddressPolicy, window: Window, nowMs: number): PolicyState =>
    windowState(policy, { limit: LIMITS[policy], used: window.used, endsAtMs: window.startedAtMs + WINDOW_MS }, nowMs);

  return {
    charge(network, policy, nowMs) {
      const id = `${policy} ${network}`;
      const window = windowOf(id, nowMs);
      const isAdmitted = window.used < LIMITS[policy];
      const counted = isAdmitted ? { ...window, used: window.used + 1 } : window;
      remember(id, counted);
      return { state: stateOf(policy, counted, nowMs), isAdmitted };
    },
    read: (network, policy, nowMs) => stateOf(policy, windowOf(`${policy} ${network}`, nowMs), nowMs),
  };
}
