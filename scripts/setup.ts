/** Prepares a production store: an org, its owner and its API keys. Runs inside the image; safe to run again. */
import { parseArgs } from 'node:util';
import { readConfig } from '../src/config';
import { MAIL_SCOPES, PRODUCT_SCOPES, TIERS, type Tier } from '../src/contracts/principal';
import { LATEST_VERSION } from '../src/contracts/version';
import { hashKey, lastFour, maskedKey, mintKey, type KeyKind } from '../src/domain/api-key';
import { newId } from '../src/domain/ids';
import type { Store } from '../src/store/collection';
import { openStore } from '../src/store/connect';
import { findKey, insertKey, listKeys, revokeKey } from '../src/store/keys';
import { ensureTenant } from '../src/store/tenants';
import { findUserByEmail, insertUser } from '../src/store/users';

const USAGE = `node dist/scripts/setup.js --org <id> [options]

  --org <id>         the org, for example org_acme; made unless it exists
  --name <text>      its name; the id unless named
  --tier <tier>      ${TIERS.join(', ')}; standard unless named
  --timezone <zone>  for example Europe/Berlin; UTC unless named
  --owner <email>    a user with the role owner, made unless the address is known
  --key <text>       name of a new API key, which is printed once and never again
  --scopes <list>    its scopes, separated by commas: ${PRODUCT_SCOPES.join(', ')}
                     or, for a mail key: ${MAIL_SCOPES.join(', ')}
  --list             show the org's keys that are not revoked
  --revoke <id>      revoke the key with this id (key_…), at once and for good`;

const LISTED_MAX = 200;

const OPTIONS = {
  org: { type: 'string' },
  name: { type: 'string' },
  tier: { type: 'string', default: 'standard' },
  timezone: { type: 'string', default: 'UTC' },
  owner: { type: 'string' },
  key: { type: 'string' },
  scopes: { type: 'string', default: 'Agents,PSA' },
  list: { type: 'boolean', default: false },
  revoke: { type: 'string' },
} as const;

const SETUP = 'setup';

/** Said to the operator without a stack. */
class SetupError extends Error {}

const isTier = (text: string): text is Tier => (TIERS as readonly string[]).includes(text);

function readOrg(values: { org?: string; name?: string; tier: string; timezone: string }) {
  const { org: id, tier, timezone } = values;
  if (!id || !/^org_[A-Za-z0-9_-]{1,60}$/.test(id)) throw new SetupError(`--org must look like org_acme\n\n${USAGE}`);
  if (!isTier(tier)) throw new SetupError(`--tier must be one of ${TIERS.join(', ')}`);
  return { _id: id, name: values.name ?? id, tier, timezone };
}

/** The scopes and the kind of key they make; the two kinds do not mix. */
function readScopes(list: string): { kind: KeyKind; scopes: string[] } {
  const scopes = list
    .split(',')
    .map((scope) => scope.trim())
    .filter(Boolean);
  const kinds = { platform: PRODUCT_SCOPES, mail: MAIL_SCOPES } as const satisfies Record<KeyKind, readonly string[]>;
  for (const kind of ['platform', 'mail'] as const) {
    const known: readonly string[] = kinds[kind];
    if (scopes.length > 0 && scopes.every((scope) => known.includes(scope))) return { kind, scopes };
  }
  throw new SetupError(`--scopes must be from one of the two lists\n\n${USAGE}`);
}

async function addOwner(store: Store, orgId: string, email: string, now: Date): Promise<string> {
  const found = await findUserByEmail(store, email);
  if (found && found.orgId !== orgId) throw new SetupError(`${email} is a user of another org`);
  if (found) return `user ${found._id} ${email} was there`;
  const id = newId('usr', now);
  const displayName = email.split('@', 1)[0] ?? email;
  await insertUser(store, {
    _id: id,
    orgId,
    email,
    displayName,
    role: 'owner',
    passwordHash: null,
    disabledAt: null,
    createdAt: now,
  });
  return `user ${id} ${email}, role owner`;
}

interface NewKey {
  name: string;
  pepper: string;
  kind: KeyKind;
  scopes: string[];
}

async function addKey(store: Store, orgId: string, { pepper, ...wanted }: NewKey, now: Date): Promise<string[]> {
  const key = mintKey(wanted.kind);
  const id = newId('key', now);
  await insertKey(store, {
    _id: id,
    orgId,
    ...wanted,
    hash: hashKey(pepper, key),
    last4: lastFour(key),
    tier: null,
    expiresAt: null,
    createdAt: now,
    createdBy: SETUP,
    revokedAt: null,
    revokedBy: null,
    rotatedFrom: null,
    version: 1,
    apiVersion: LATEST_VERSION,
  });
  return [`key ${id}, shown this once:`, key];
}

async function revoke(store: Store, orgId: string, id: string, now: Date): Promise<string> {
  const key = await findKey(store, orgId, id);
  if (!key) throw new SetupError(`${orgId} has no key ${id}`);
  await revokeKey(store, key, { id: SETUP, at: now });
  return `key ${id} ${key.name} revoked`;
}

async function shownKeys(store: Store, orgId: string, now: Date): Promise<string[]> {
  const keys = await listKeys(store, { orgId, status: 'active', now, limit: LISTED_MAX });
  return keys.map(
    ({ _id: id, kind, last4, name, scopes }) => `key ${id} ${maskedKey(kind, last4)} ${name}: ${scopes.join(', ')}`,
  );
}

type Values = ReturnType<typeof readValues>;
const readValues = () => parseArgs({ options: OPTIONS }).values;

/** Does what the options ask for, in an order in which each part can count on those before it. */
async function apply(store: Store, values: Values, pepper: string): Promise<string[]> {
  const org = readOrg(values);
  const wanted = values.key === undefined ? null : { name: values.key, pepper, ...readScopes(values.scopes) };
  const now = new Date();
  await ensureTenant(store, {
    ...org,
    rateLimitPerMinute: null,
    agentLimit: null,
    creditAllocation: null,
    createdAt: now,
  });
  const lines = [`org ${org._id}`];
  if (values.owner) lines.push(await addOwner(store, org._id, values.owner, now));
  if (values.revoke) lines.push(await revoke(store, org._id, values.revoke, now));
  if (wanted) lines.push(...(await addKey(store, org._id, wanted, now)));
  if (values.list) lines.push(...(await shownKeys(store, org._id, now)));
  return lines;
}

async function main(): Promise<void> {
  const values = readValues();
  const config = readConfig();
  const store = openStore(config.mongodbUri);
  try {
    await store.ensureIndexes();
    for (const line of await apply(store, values, config.secrets.keyPepper)) console.log(line);
  } finally {
    await store.close();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
