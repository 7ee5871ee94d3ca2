/** Prepares a production store: an org, its owner and a first API key. Runs inside the image; safe to run again. */
import { parseArgs } from 'node:util';
import { readConfig } from '../src/config';
import { MAIL_SCOPES, PRODUCT_SCOPES, TIERS, type Tier } from '../src/contracts/principal';
import { hashKey, lastFour, mintKey, type KeyKind } from '../src/domain/api-key';
import { newId } from '../src/domain/ids';
import type { Store } from '../src/store/collection';
import { openStore } from '../src/store/connect';
import { insertKey } from '../src/store/keys';
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
                     or, for a mail key: ${MAIL_SCOPES.join(', ')}`;

const OPTIONS = {
  org: { type: 'string' },
  name: { type: 'string' },
  tier: { type: 'string', default: 'standard' },
  timezone: { type: 'string', default: 'UTC' },
  owner: { type: 'string' },
  key: { type: 'string' },
  scopes: { type: 'string', default: 'Agents,PSA' },
} as const;

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
  orgId: string;
  name: string;
  pepper: string;
  kind: KeyKind;
  scopes: string[];
}

async function addKey(store: Store, { orgId, name, pepper, kind, scopes }: NewKey, now: Date): Promise<string> {
  const key = mintKey(kind);
  await insertKey(store, {
    _id: newId('key', now),
    orgId,
    kind,
    name,
    hash: hashKey(pepper, key),
    last4: lastFour(key),
    scopes,
    tier: null,
    expiresAt: null,
    createdAt: now,
    createdBy: 'setup',
    revokedAt: null,
    revokedBy: null,
    rotatedFrom: null,
    version: 1,
  });
  return key;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  const org = readOrg(values);
  const wanted = values.key === undefined ? null : { name: values.key, ...readScopes(values.scopes) };
  const config = readConfig();
  const store = openStore(config.mongodbUri);
  const now = new Date();
  try {
    await store.ensureIndexes();
    await ensureTenant(store, {
      ...org,
      rateLimitPerMinute: null,
      agentLimit: null,
      creditAllocation: null,
      createdAt: now,
    });
    console.log(`org ${org._id}`);
    if (values.owner) console.log(await addOwner(store, org._id, values.owner, now));
    if (!wanted) return;
    console.log(await addKey(store, { ...wanted, orgId: org._id, pepper: config.secrets.keyPepper }, now));
    console.error('The key is shown this once; store it now.');
  } finally {
    await store.close();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
