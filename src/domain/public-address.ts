/** Which IP addresses are hosts of the public internet. */
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Range = [Address, number];

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

export function isInside(address: Address, range: Range): boolean {
  return address.kind() === range[0].kind() && address.match(range);
}

/** True for what anybody can reach from anywhere. */
export function isGlobal(address: Address): boolean {
  // ipaddr.js calls `unicast` what belongs to none of the special ranges it knows.
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv4') return !PLATFORM_IPV4.some((range) => isInside(address, range));
  return isInside(address, GLOBAL_IPV6) && !isInside(address, RETURNED_IPV6);
}

/** The address a text stands for, or null: names, and numbers in any other form, stand for none. */
export const addressOf = (text: string): Address | null =>
  ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text) ? ipaddr.parse(text) : null;
