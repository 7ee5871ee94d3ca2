/** The two demo orgs with their users and keys. Running it again changes nothing that still works. */
import { randomBytes } from 'node:crypto';
import type { Config } from '../../src/config';
import { MAIL_SCOPES, PRODUCT_SCOPES, type Tier } from '../../src/contracts/principal';
import { LATEST_VERSION } from '../../src/contracts/version';
import { hashKey, lastFour, mintKey, parseKey, type KeyKind } from '../../src/domain/api-key';
import { derivedId, newId } from '../../src/domain/ids';
import { hashPassword, verifyPassword } from '../../src/domain/password';
import type { Role } from '../../src/domain/permissions';
import type { Store } from '../../src/store/collection';
import { findKeyByHash, insertKey } from '../../src/store/keys';
import { ensureTenant } from '../../src/store/tenants';
import { changeUser, findUserByEmail, insertUser, normalEmail } from '../../src/store/users';

export const DEMO_ORG = 'org_demo';
export const SECOND_ORG = 'org_second';
const SEEDED_BY = 'seed';

const ORGS: readonly { id: string; name: string; tier: Tier; timezone: string }[] = [
  { id: DEMO_ORG, name: 'Demo MSP', tier: 'enterprise', timezone: 'UTC' },
  { id: SECOND_ORG, name: 'Second MSP', tier: 'standard', timezone: 'UTC' },
];

const USERS: readonly { orgId: string; email: string; displayName: string; role: Role }[] = [
  { orgId: DEMO_ORG, email: 'owner@demo.test', displayName: 'Olive Owner', role: 'owner' },
  { orgId: DEMO_ORG, email: 'admin@demo.test', displayName: 'Adam Admin', role: 'admin' },
  { orgId: DEMO_ORG, email: 'tech@demo.test', displayName: 'Tess Technician', role: 'technician' },
  { orgId: DEMO_ORG, email: 'approver@demo.test', displayName: 'April Approver', role: 'approver' },
  { orgId: DEMO_ORG, email: 'viewer@demo.test', displayName: 'Vic Viewer', role: 'viewer' },
  { orgId: SECOND_ORG, email: 'owner@second.test', displayName: 'Sam Second', role: 'owner' },
];

interface SeededKey {
  orgId: string;
  kind: KeyKind;
  name: string;
  scopes: readonly string[];
}

const KEYS = {
  mail_admin: { orgId: DEMO_ORG, kind: 'mail', name: 'Mail administration (demo)', scopes: ['admin'] },
  mail_send: { orgId: DEMO_ORG, kind: 'mail', name: 'Mail sending (demo)', scopes: MAIL_SCOPES.slice(0, 2) },
  plat_all: { orgId: DEMO_ORG, kind: 'platform', name: 'All products (demo)', scopes: PRODUCT_SCOPES },
  plat_no_scopes: { orgId: DEMO_ORG, kind: 'platform', name: 'No scopes (demo)', scopes: [] },
  second_org_plat_all: { orgId: SECOND_ORG, kind: 'platform', name: 'All products (demo)', scopes: PRODUCT_SCOPES },
} as const satisfies Record<string, SeededKey>;

export type SeededKeyName = keyof typeof KEYS;
const KEY_NAMES = Object.keys(KEYS) as SeededKeyName[];

/** What an earlier run issued; keys and passwords that are passed in go on working. */
export interface KnownIdentity {
  keys?: Partial<Record<SeededKeyName, string>>;
  passwords?: Record<string, string>;
}

export interface SeededIdentity {
  org_id: string;
  second_org_id: string;
  users: { email: string; password: string; role: Role }[];
  keys: Record<SeededKeyName, string>;
}

async function seedUser(store: Store, user: (typeof USERS)[number], known: string | undefined): Promise<string> {
  const password = known ?? randomBytes(12).toString('base64url');
  const found = await findUserByEmail(store, user.email);
  if (!found) {
    const id = derivedId('usr', user.orgId, normalEmail(user.email));
    const passwordHash = await hashPassword(password);
    await insertUser(store, { ...user, _id: id, passwordHash, disabledAt: null, createdAt: new Date() });
  } else if (!(await verifyPassword(password, found.passwordHash))) {
    await changeUser(store, found, { passwordHash: await hashPassword(password) });
  }
  return password;
}

/** Keeps a key that still works. One that was revoked in the console, or is not known any more, gets a successor. */
async function seedKey(
  store: Store,
  key: SeededKey,
  issued: { known: string | undefined; pepper: string },
): Promise<string> {
  const known = issued.known !== undefined && parseKey(issued.known) === key.kind ? issued.known : undefined;
  const record = known === undefined ? null : await findKeyByHash(store, hashKey(issued.pepper, known));
  if (known !== undefined && record && !record.revokedAt) return known;
  const value = known !== undefined && !record ? known : mintKey(key.kind);
  const at = new Date();
  await insertKey(store, {
    _id: newId('key', at),
    orgId: key.orgId,
    kind: key.kind,
    name: key.name,
    hash: hashKey(issued.pepper, value),
    last4: lastFour(value),
    scopes: [...key.scopes],
    tier: null,
    expiresAt: null,
    createdAt: at,
    createdBy: SEEDED_BY,
    revokedAt: null,
    revokedBy: null,
    rotatedFrom: null,
    version: 1,
    apiVersion: LATEST_VERSION,
  });
  return value;
}

/** Makes sure both orgs, their users and their keys exist, and answers every password and key in plain text. */
export async function seedIdentity(store: Store, config: Config, known: KnownIdentity = {}): Promise<SeededIdentity> {
  for (const { id, ...org } of ORGS) {
    const limits = { rateLimitPerMinute: null, agentLimit: null, creditAllocation: null };
    await ensureTenant(store, { _id: id, ...org, ...limits, createdAt: new Date() });
  }
  const users = await Promise.all(
    USERS.map(async (user) => {
      const password = await seedUser(store, user, known.passwords?.[user.email]);
      return { email: user.email, password, role: user.role };
    }),
  );
  const pepper = config.secrets.keyPepper;
  const keys = await Promise.all(
    KEY_NAMES.map(
      async (name) => [name, await seedKey(store, KEYS[name], { known: known.keys?.[name], pepper })] as const,
    ),
  );
  return {
    org_id: DEMO_ORG,
    second_org_id: SECOND_ORG,
    users,
    keys: Object.fromEntries(keys) as Record<SeededKeyName, string>,
  };
}
