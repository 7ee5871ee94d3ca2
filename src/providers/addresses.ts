/** Which addresses a request chosen by a tenant may reach: the public internet and what the operator allows. */
import type { LookupAddress } from 'node:dns';
import ipaddr from 'ipaddr.js';
import { ProviderError } from './error';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/** Resolves a name to all its addresses; a test puts its own here. */
export type Lookup = (hostname: string) => Promise<LookupAddress[]>;

/** Answers whether a request may connect to an address. */
export type AddressGuard = (address: string) => boolean;

// Everything ever assigned to public hosts lies inside; what lies outside is reserved or an old transition form.
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
// 6bone, given back in 2006 and reserved since.
const RETURNED_IPV6 = ipaddr.IPv6.parseCIDR('3ffe::/16');

/**
 * What clouds show their own machines under addresses that look public: whoever runs there would reach the platform, and
 * not the internet. Others use link-local, shared or private ranges, which are refused anyway.
 */
const PLATFORM_IPV4: readonly Range[] = [
  // Azure: the host's agent, name service and health probes.
  ipaddr.IPv4.parseCIDR('168.63.129.16/32'),
  // IBM Cloud: services of the infrastructure, and private endpoints of databases and others.
  ipaddr.IPv4.parseCIDR('161.26.0.0/16'),
  ipaddr.IPv4.parseCIDR('166.8.0.0/14'),
];

function parseRange(text: string): Range {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
  if (!isAddress)
    throw new ProviderError('not_configured', `HTTP_ALLOW_ADDRESSES holds "${text}", which is no address and no range`);
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function isInside(address: Address, range: Range): boolean {
  return address.kind() === range[0].kind() && address.match(range);
}

function isGlobal(address: Address): boolean {
  // ipaddr.js calls `unicast` what belongs to none of the special ranges it knows.
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv4') return !PLATFORM_IPV4.some((range) => isInside(address, range));
  return isInside(address, GLOBAL_IPV6) && !isInside(address, RETURNED_IPV6);
}

/** Builds the guard from single addresses and CIDR ranges that are allowed although they are not public. */
export function createAddressGuard(allowAddresses: readonly string[]): AddressGuard {
  const allowed = allowAddresses.map(parseRange);
  return (text) => {
    if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return false;
    const address = ipaddr.parse(text);
    // A mapped address reaches its IPv4 host, so the allow list is asked about that one; it is never public by itself.
    const reached = ipaddr.process(text);
    return allowed.some((range) => isInside(reached, range)) || isGlobal(address);
  };
}

/** The refusal; it names the host as the caller wrote it and not the address it resolved to, which is inside knowledge. */
export const blockedAddress = (host: string): ProviderError =>
  new ProviderError('blocked_address', `"${host}" is not a public address; allow it with HTTP_ALLOW_ADDRESSES`);
