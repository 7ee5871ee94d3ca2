/** `.signalbox/dev.json`: where the running development system is and how to get in, for scripts. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { SeedResult } from './seed-data';

const PRODUCTS = ['psa', 'crm', 'books', 'rmm', 'security', 'defend', 'backups', 'voice', 'portal', 'console'] as const;

export interface DevFile extends Omit<SeedResult, 'curl'> {
  base_url: string;
  mail_base_url: string;
  agents_base_url: string;
  product_base_urls: Record<(typeof PRODUCTS)[number], string>;
  console_url: string;
  temporal_ui_url: string;
  inbox_url: string;
}

export interface Addresses {
  baseUrl: string;
  temporalUiUrl: string;
  inboxUrl: string;
}

export function createDevFile(addresses: Addresses, seed: SeedResult): DevFile {
  const { baseUrl } = addresses;
  const productUrls = PRODUCTS.map((product) => [product, `${baseUrl}/${product}`]);
  return {
    base_url: baseUrl,
    mail_base_url: `${baseUrl}/mail`,
    agents_base_url: `${baseUrl}/agents`,
    product_base_urls: Object.fromEntries(productUrls) as DevFile['product_base_urls'],
    console_url: `${baseUrl}/`,
    temporal_ui_url: addresses.temporalUiUrl,
    inbox_url: addresses.inboxUrl,
    org_id: seed.org_id,
    second_org_id: seed.second_org_id,
    users: seed.users,
    keys: seed.keys,
  };
}

/** Appears whole: a script waiting for the file never reads half of it. Holds keys, so only its owner may read it. */
export function writeDevFile(path: string, content: DevFile): void {
  rmSync(`${path}.draft`, { force: true });
  writeFileSync(`${path}.draft`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.draft`, path);
}

export function removeDevFile(path: string): void {
  rmSync(path, { force: true });
}

/** Base address of the system the file describes, if there is one. */
export function runningBaseUrl(path: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as DevFile).base_url;
  } catch {
    return undefined;
  }
}
