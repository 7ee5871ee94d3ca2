/** Which addresses a request chosen by a tenant may reach: the public internet and what the operator allows. */
import type { LookupAddress } from 'node:dns';
import ipaddr from 'ipaddr.js';
import { addressOf, isGlobal, isInside, type Range } from '../domain/public-address';
import { ProviderError } from './error';

/** Resolves a name to all its addresses; a test puts its own here. */
export type Lookup = (hostname: string) => Promise<LookupAddress[]>;

/** Answers whether a request may connect to an address. */
export type AddressGuard = (address: string) => boolean;

function parseRange(text: string): Range {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  const address = addressOf(text);
  if (!address)
    throw new ProviderError('not_configured', `HTTP_ALLOW_ADDRESSES holds "${text}", which is no address and no range`);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** Builds the guard from single addresses and CIDR ranges that are allowed although they are not public. */
export function createAddressGuard(allowAddresses: readonly string[]): AddressGuard {
  const allowed = allowAddresses.map(parseRange);
  return (text) => {
    const address = addressOf(text);
    if (!address) return false;
    // A mapped address reaches its IPv4 host, so the allow list is asked about that one; it is never public by itself.
    const reached = ipaddr.process(text);
    return allowed.some((range) => isInside(reached, range)) || isGlobal(address);
  };
}

/** The refusal; it names the host as the caller wrote it and not the address it resolved to, which is inside knowledge. */
export const blockedAddress = (host: string): ProviderError =>
  new ProviderError('blocked_address', `"${host}" is not a public address; allow it with HTTP_ALLOW_ADDRESSES`);
