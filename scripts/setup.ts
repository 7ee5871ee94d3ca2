/** Prepares a production store: an org, its owner and its API keys. Runs inside the image; safe to run again. */
import { parseArgs } from 'node:util';
import { systemClock, type Clock } from '../src/clock';
import { readConfig } from '../src/config';
import { MAIL_SCOPES, PRODUCT_SCOPES, TIERS, type Tier } from '../src/contracts/principal';
import { KEY_NAME_MAX } from '../src/contracts/key';
import { LATEST_VERSION } from '../src/contracts/version';
import { hashKey, lastFour, maskedKey, mintKey, type KeyKind } from '../src/domain/api-key';
import { GENESIS } from '../src/domain/audit';
import { isMailAddress } from '../src/domain/mail-address';
import { newId } from '../src/domain/ids';
import { isTimeZone } from '../src/domain/time-zones';
import { createLog, type Log } from '../src/log';
import { pageOfAudit, walkAudit } from '../src/store/audit';
import { auditSetup, SETUP_ACTOR } from '../src/store/audit-trail';
import type { Store } from '../src/store/collection';
import { openStore } from '../src/store/connect';
import { findKey, insertKey, listKeys, revokeKey } from '../src/store/keys';
import { changeTenant, ensureTenant, listTenantIds, readTenant, type TenantRecord } from '../src/store/tenants';
import { findUserByEmail, insertUser } from '../src/store/users';

const USAGE = `node dist/scripts/setup.js --org <id> [options]

  --org <id>         the org, for example org_acme; made unless it exists
  --name <text>      its name; that of a new org is its id unless named
  --tier <tier>      ${TIERS.join(', ')}; a new org is standard unless named
  --timezone <zone>  for example Europe/Berlin; a new org has UTC unless named
  --owner <email>    a user with the role owner, made unless the address is known
  --key <text>       name of a new API key, which is printed once and never again
  --scopes <list>    its scopes, separated by commas: ${PRODUCT_SCOPES.join(', ')}
                     or, for a mail key: ${MAIL_SCOPES.join(', ')}
  --list             show the org's keys that are not revoked
  --revoke <id>      revoke the key with this id (key_…), at once and for good
  --audit            show the end of the org's audit trail and check that all of it is whole
  --help             show this

--list, --revoke and --audit are for an org that exists; name, tier and timezone change one that does.`;

const LISTED_MAX = 200;
const ORGS_NAMED = 20;
const WALKS_MAX = 100;

const OPTIONS = {
  org: { type: 'string' },
  name: { type: 'string' },
  tier: { type: 'string' },
  timezone: { type: 'string' },
  owner: { type: 'string' },
  key: { type: 'string' },
  scopes: { type: 'string', default: 'Agents,PSA' },
  list: { type: 'boolean', default: false },
  revoke: { type: 'string' },
  audit: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

/** Said to the operator without a stack. */
class SetupError extends Error {}

const isTier = (text: string): text is Tier => (TIERS as readonly string[]).includes(text);

function readValues() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    throw new SetupError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`, { cause: error });
  }
}
type Values = ReturnType<typeof readValues>;

/** The API would refuse them, too; nothing behind it can do anything with them. */
function assertUsable({ name, timezone, owner, key }: Values): void {
  for (const [option, text] of Object.entries({ name, key })) {
    if (text !== undefined && (text.trim() === '' || text.length > KEY_NAME_MAX))
      throw new SetupError(`--${option} must be 1 to ${KEY_NAME_MAX} characters, not all blank`);
  }
  if (timezone !== undefined && !isTimeZone(timezone))
    throw new SetupError('--timezone must be one of the names of time zones, such as Europe/Berlin');
  if (owner !== undefined && !isMailAddress(owner)) throw new SetupError('--owner must be one mail address');
}

type OrgFacts = Partial<Pick<TenantRecord, 'name' | 'tier' | 'timezone'>>;

/** The org that is meant, and what is asked for it. */
function readOrg({ org: id, name, tier, timezone }: Values): { id: string; asked: OrgFacts } {
  if (!id || !/^org_[A-Za-z0-9_-]{1,60}$/.test(id)) throw new SetupError(`--org must look like org_acme\n\n${USAGE}`);
  if (tier !== undefined && !isTier(tier)) throw new SetupError(`--tier must be one of ${TIERS.join(', ')}`);
  return { id, asked: { ...(name ? { name } : {}), ...(tier ? { tier } : {}), ...(timezone ? { timezone } : {}) } };
}

/** Makes the org, or changes it to what is asked. */
async function settleOrg(work: Work, id: string, asked: OrgFacts, mayMake: boolean): Promise<string[]> {
  const { store, now } = work;
  const found = await readTenant(store, id);
  if (!found && !mayMake) {
    const others = await listTenantIds(store, ORGS_NAMED);
    const known = others.length > 0 ? `there are ${others.join(', ')}` : 'there is none yet';
    throw new SetupError(`there is no org ${id}; ${known}. Without --list, --revoke and --audit it is made.`);
  }
  const limits = { rateLimitPerMinute: null, agentLimit: null, creditAllocation: null };
  const fresh = { _id: id, name: id, tier: 'standard' as Tier, timezone: 'UTC', ...asked, ...limits, createdAt: now };
  // One that is there keeps what it has, and gets its guard when an earlier run died before that.
  await ensureTenant(store, fresh);
  if (!found) {
    const { name, tier, timezone } = fresh;
    const target = { kind: 'org', id, name } as const;
    await auditSetup(work, id, { action: 'org.created', target, details: { tier, timezone }, cause: [] });
    return [`org ${id} made: ${name}, ${tier}, ${timezone}`];
  }
  const fields = (['name', 'tier', 'timezone'] as const).filter(
    (field) => asked[field] !== undefined && asked[field] !== found[field],
  );
  if (fields.length === 0) return [`org ${id}`];
  await changeTenant(store, id, Object.fromEntries(fields.map((field) => [field, asked[field]])));
  await auditSetup(work, id, {
    action: 'org.updated',
    target: { kind: 'org', id, name: asked.name ?? found.name },
    details: Object.fromEntries(fields.map((field) => [field, { from: found[field], to: asked[field] }])),
  });
  return [`org ${id} changed: ${fields.map((field) => `${field} ${found[field]} → ${asked[field] ?? ''}`).join(', ')}`];
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

async function assertFree({ store }: Work, orgId: string, email: string): Promise<void> {
  const found = await findUserByEmail(store, email);
  if (found && found.orgId !== orgId) throw new SetupError(`${email} is a user of another org`);
}

async function addOwner(work: Work, orgId: string, email: string): Promise<string> {
  const { store, now } = work;
  const found = await findUserByEmail(store, email);
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
  await auditSetup(work, orgId, {
    action: 'user.created',
    target: { kind: 'user', id, name: email },
    details: { role: 'owner' },
    cause: [],
  });
  return `user ${id} ${email}, role owner`;
}

interface NewKey {
  name: string;
  pepper: string;
  kind: KeyKind;
  scopes: string[];
}

async function addKey(work: Work, orgId: string, { pepper, ...wanted }: NewKey): Promise<string[]> {
  const { store, now } = work;
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
    createdBy: SETUP_ACTOR,
    revokedAt: null,
    revokedBy: null,
    rotatedFrom: null,
    version: 1,
    apiVersion: LATEST_VERSION,
  });
  await auditSetup(work, orgId, {
    action: 'api_key.created',
    target: { kind: 'api_key', id, name: wanted.name },
    details: { kind: wanted.kind, scopes: wanted.scopes, expiresAt: null },
    cause: [],
  });
  return [`key ${id}, shown this once:`, key];
}

async function revoke(work: Work, orgId: string, id: string): Promise<string> {
  const { store, now } = work;
  const key = await findKey(store, orgId, id);
  if (!key) throw new SetupError(`${orgId} has no key ${id}`);
  await revokeKey(store, key, { id: SETUP_ACTOR, at: now });
  // The entry belongs to whoever came first; a run that died before it wrote its own is made good.
  if (key.revokedBy !== null && key.revokedBy !== SETUP_ACTOR) return `key ${id} ${key.name} was revoked before`;
  const target = { kind: 'api_key', id, name: key.name } as const;
  await auditSetup(work, orgId, { action: 'api_key.revoked', target, cause: [] });
  return `key ${id} ${key.name} revoked`;
}

async function shownKeys({ store, now }: Work, orgId: string): Promise<string[]> {
  const keys = await listKeys(store, { orgId, status: 'active', now, limit: LISTED_MAX });
  return keys.map(
    ({ _id: id, kind, last4, name, scopes }) => `key ${id} ${maskedKey(kind, last4)} ${name}: ${scopes.join(', ')}`,
  );
}

/** Walks the whole trail; the end of it is what to keep elsewhere. */
async function checkedTrail(store: Store, orgId: string): Promise<string> {
  let head = GENESIS;
  for (let walk = 0; walk < WALKS_MAX; walk += 1) {
    const { head: reached, fault, ended } = await walkAudit(store, orgId, head);
    head = reached;
    if (fault)
      throw new SetupError(`the audit trail of ${orgId} is broken: entry ${fault.sequence} is ${fault.reason}`);
    if (ended) return `the audit trail is whole: ${head.sequence} entries, the last has the hash ${head.hash}`;
  }
  return `the first ${head.sequence} entries of the audit trail are right; there are more`;
}

async function shownTrail({ store }: Work, orgId: string): Promise<string[]> {
  const entries = await pageOfAudit(store, orgId, {}, { limit: LISTED_MAX, before: null });
  const lines = entries
    .toReversed()
    .map(({ sequence, at, actor, action, target }) =>
      [sequence, at, actor.label ?? actor.id, action, target.id, target.name ?? ''].join(' ').trimEnd(),
    );
  for (const line of lines) console.log(line);
  return [await checkedTrail(store, orgId)];
}

interface Work {
  store: Store;
  log: Log;
  clock: Clock;
  now: Date;
}

/** Does what the options ask for, in an order in which each part can count on those before it. */
async function apply(work: Work, values: Values, pepper: string): Promise<void> {
  const { id, asked } = readOrg(values);
  assertUsable(values);
  const wanted = values.key === undefined ? null : { name: values.key, pepper, ...readScopes(values.scopes) };
  if (values.owner) await assertFree(work, id, values.owner);
  const mayMake = !values.list && !values.audit && values.revoke === undefined;
  const say = (lines: string[]): void => lines.forEach((line) => console.log(line));
  say(await settleOrg(work, id, asked, mayMake));
  if (values.owner) say([await addOwner(work, id, values.owner)]);
  if (values.revoke !== undefined) say([await revoke(work, id, values.revoke)]);
  if (wanted) say(await addKey(work, id, wanted));
  if (values.list) say(await shownKeys(work, id));
  if (values.audit) say(await shownTrail(work, id));
}

async function main(): Promise<void> {
  const values = readValues();
  if (values.help) return console.log(USAGE);
  const config = readConfig();
  const store = openStore(config.mongodbUri);
  // Beside what is meant for people and scripts.
  const log = createLog(config.logLevel, (line) => process.stderr.write(line));
  try {
    await store.ensureIndexes();
    await apply({ store, log, clock: systemClock, now: systemClock.now() }, values, config.secrets.keyPepper);
  } finally {
    await store.close();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
