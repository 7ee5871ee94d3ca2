/** Fills a store with the demo orgs, and remembers the keys and passwords it issued so that they survive restarts. */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readConfig } from '../src/config';
import { openStore } from '../src/store/connect';
import { seedDemoData } from './seed/demo-data';
import { seedDesk } from './seed/demo-desk';
import { seedIdentity, type KnownIdentity, type SeededIdentity } from './seed/identity';

const OWNER_ONLY = 0o600;

interface SeedOptions {
  mongodbUri: string;
  /** The environment the processes will run with: its secrets decide the key hashes. */
  env: Record<string, string | undefined>;
  /** Where issued keys and passwords are kept; `.signalbox/keys.json` unless named. */
  keysFile?: string;
}

export interface SeedResult extends SeededIdentity {
  /** A first request to copy; `$BASE` stands for the base address. */
  curl: string;
}

/** Those entries of an object that are texts; none where it is not an object. */
const textsOf = (value: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(value ?? {}).filter((entry) => typeof entry[1] === 'string' && entry[1] !== ''));

/** A file that cannot be read, or holds other things, is no reason to stop: new keys are issued instead. */
function readKnown(file: string): KnownIdentity {
  if (!existsSync(file)) return {};
  try {
    const { keys, passwords } = JSON.parse(readFileSync(file, 'utf8')) as { keys?: unknown; passwords?: unknown };
    return { keys: textsOf(keys), passwords: textsOf(passwords) };
  } catch {
    return {};
  }
}

function writeKnown(file: string, { keys, users }: SeededIdentity): void {
  mkdirSync(dirname(file), { recursive: true });
  const passwords = Object.fromEntries(users.map(({ email, password }) => [email, password]));
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify({ keys, passwords }, null, 2)}\n`, { mode: OWNER_ONLY });
  chmodSync(draft, OWNER_ONLY);
  renameSync(draft, file);
}

const TICKET = { subject: 'Mail server is down', description: 'Nobody can send since 09:40.', priority: 'critical' };

const curlLine = (key: string): string =>
  [
    'curl -sS -X POST "$BASE/psa/api/tickets"',
    `-H "Authorization: Bearer ${key}"`,
    '-H "Content-Type: application/json"',
    `-d '${JSON.stringify(TICKET)}'`,
  ].join(' ');

/** Seeds both demo orgs, and the first one with data. Safe to run again: what is there stays. */
export async function seedDemo({ mongodbUri, env, keysFile }: SeedOptions): Promise<SeedResult> {
  const file = keysFile ?? join('.signalbox', 'keys.json');
  const store = openStore(mongodbUri);
  try {
    await store.ensureIndexes();
    const identity = await seedIdentity(store, readConfig(env), readKnown(file));
    writeKnown(file, identity);
    const demo = { store, orgId: identity.org_id, now: new Date() };
    await seedDesk(demo);
    await seedDemoData(demo);
    return { ...identity, curl: curlLine(identity.keys.plat_all) };
  } finally {
    await store.close();
  }
}
