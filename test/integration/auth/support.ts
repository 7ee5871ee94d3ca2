/** What the auth tests share: a database of their own on the running store, orgs with keys and users, fake requests. */
import { randomBytes } from 'node:crypto';
import { systemClock, type Clock } from '../../../src/clock';
import { readConfig, type Config } from '../../../src/config';
import type { Context } from '../../../src/context';
import type { Access, Tier } from '../../../src/contracts/principal';
import { operation, type Operation, type ServiceName } from '../../../src/contracts/operation';
import { Problem } from '../../../src/contracts/problem';
import { hashKey, lastFour, mintKey, type KeyKind } from '../../../src/domain/api-key';
import { newId } from '../../../src/domain/ids';
import type { Role } from '../../../src/domain/permissions';
import { createSealer } from '../../../src/domain/sealed-token';
import { createSecretBox } from '../../../src/domain/secret-box';
import type { Caller } from '../../../src/http/credentials';
import { createGuard, type CredentialGuard } from '../../../src/http/admission';
import { createLog } from '../../../src/log';
import { SESSION_LIFETIME_MS, sessionTokens } from '../../../src/services/console/session-token';
import { openStore, type OpenStore } from '../../../src/store/connect';
import { findKey, insertKey, type KeyRecord } from '../../../src/store/keys';
import { insertSession } from '../../../src/store/sessions';
import { ensureTenant } from '../../../src/store/tenants';
import { insertUser, type UserRecord } from '../../../src/store/users';
import { STACK_VARIABLE, type StackAddress } from '../../support/shared-stack';

const storeUri = (): string => {
  const stack = process.env[STACK_VARIABLE];
  const uri = stack ? (JSON.parse(stack) as StackAddress).env['MONGODB_URI'] : process.env['AUTH_TEST_MONGODB_URI'];
  if (!uri) throw new Error('No store: run through jest’s "system" project, or set AUTH_TEST_MONGODB_URI.');
  const url = new URL(uri);
  url.pathname = `/auth_${randomBytes(6).toString('hex')}`;
  return url.toString();
};

/** The guards of this suite: each writes what it counted a little later, which a closed store would not take. */
const guards: CredentialGuard[] = [];

/** A guard as a process of the deployment has one. */
export function newGuard(context: Context): CredentialGuard {
  const guard = createGuard(context);
  guards.push(guard);
  return guard;
}

export interface TestStore extends OpenStore {
  uri: string;
}

/** A database of its own; `close` removes it. */
export async function openTestStore(): Promise<TestStore> {
  const uri = storeUri();
  const store = openStore(uri);
  await store.ensureIndexes();
  return {
    ...store,
    uri,
    async close() {
      await Promise.all(guards.map((guard) => guard.close()));
      await store.connection.dropDatabase();
      await store.close();
    },
  };
}

/** A configuration with test secrets. */
export const testConfig = (env: Record<string, string> = {}): Config =>
  readConfig({ SIGNALBOX_MODE: 'development', LOG_LEVEL: 'silent', ...env });

/** The parts of a context that authentication uses. */
export function testContext(store: OpenStore, options: { config?: Config; clock?: Clock } = {}): Context {
  const config = options.config ?? testConfig();
  const context = {
    config,
    store,
    clock: options.clock ?? systemClock,
    log: createLog('silent'),
    sealer: createSealer(config.secrets.token),
    secrets: createSecretBox(config.secrets.keyPepper),
  };
  return context as unknown as Context;
}

/** A clock that tests move. */
export function movableClock(start: Date = new Date()): Clock & { advance(milliseconds: number): void } {
  let nowMs = start.getTime();
  return {
    now: () => new Date(nowMs),
    advance(milliseconds) {
      nowMs += milliseconds;
    },
  };
}

/** Creates a tenant and answers its id. */
export async function newTenant(
  store: OpenStore,
  options: { tier?: Tier; rateLimitPerMinute?: number | null } = {},
): Promise<string> {
  const id = newId('org');
  await ensureTenant(store, {
    _id: id,
    name: 'Test org',
    tier: options.tier ?? 'enterprise',
    rateLimitPerMinute: options.rateLimitPerMinute ?? null,
    agentLimit: null,
    creditAllocation: null,
    timezone: 'UTC',
    createdAt: new Date(),
  });
  return id;
}

/** Creates a key and answers it with its record. */
export async function newKey(
  context: Context,
  orgId: string,
  fields: Partial<Pick<KeyRecord, 'scopes' | 'expiresAt' | 'name' | 'apiVersion'>> & { kind?: KeyKind } = {},
): Promise<{ key: string; record: KeyRecord }> {
  const kind = fields.kind ?? 'platform';
  const key = mintKey(kind);
  const record: KeyRecord = {
    _id: newId('key'),
    orgId,
    kind,
    name: fields.name ?? 'test key',
    hash: hashKey(context.config.secrets.keyPepper, key),
    last4: lastFour(key),
    scopes: fields.scopes ?? ['PSA'],
    tier: null,
    expiresAt: fields.expiresAt ?? null,
    createdAt: new Date(),
    createdBy: 'test',
    revokedAt: null,
    revokedBy: null,
    rotatedFrom: null,
    version: 1,
    ...(fields.apiVersion ? { apiVersion: fields.apiVersion } : {}),
  };
  await insertKey(context.store, record);
  return { key, record };
}

/** The record as it is now. */
export async function currentKey(context: Context, { orgId, _id }: KeyRecord): Promise<KeyRecord> {
  const key = await findKey(context.store, orgId, _id);
  if (!key) throw new Error('the key is gone');
  return key;
}

/** Creates a user of the org. */
export async function newUser(
  store: OpenStore,
  orgId: string,
  options: { role?: Role; passwordHash?: string } = {},
): Promise<UserRecord> {
  const id = newId('usr');
  const user: UserRecord = {
    _id: id,
    orgId,
    email: `${id.toLowerCase()}@test.example`,
    displayName: 'Test User',
    role: options.role ?? 'owner',
    passwordHash: options.passwordHash ?? null,
    disabledAt: null,
    createdAt: new Date(),
  };
  await insertUser(store, user);
  return user;
}

export interface SignedIn {
  user: UserRecord;
  sessionId: string;
  /** `name=token`, ready for a Cookie header. */
  cookie: string;
  csrfToken: string;
}

/** A user with an open session. */
export async function signIn(
  context: Context,
  orgId: string,
  role: Role = 'owner',
  passwordHash?: string,
): Promise<SignedIn> {
  const store = context.store as OpenStore;
  const user = await newUser(store, orgId, { role, ...(passwordHash ? { passwordHash } : {}) });
  const createdAt = context.clock.now();
  const sessionId = newId('ses');
  const endsAt = new Date(createdAt.getTime() + SESSION_LIFETIME_MS);
  await insertSession(store, {
    _id: sessionId,
    orgId,
    userId: user._id,
    createdAt,
    expiresAt: endsAt,
    revokedAt: null,
  });
  const tokens = sessionTokens(context.config);
  const cookie = await tokens.cookieFor({ userId: user._id, orgId, sessionId, endsAt }, createdAt);
  return { user, sessionId, cookie: cookie.split(';', 1)[0] ?? '', csrfToken: tokens.csrfTokenFor(sessionId) };
}

/** A request as far as the guard looks. */
export const fakeRequest = (
  headers: Record<string, string> = {},
  more: { method?: string; url?: string; address?: string } = {},
): Caller => ({
  headers,
  method: more.method ?? 'GET',
  url: more.url ?? '/api/things',
  socket: { remoteAddress: more.address ?? '127.0.0.1' },
});

/** A request with a bearer key. */
export const withKey = (
  key: string,
  more: Parameters<typeof fakeRequest>[1] & { headers?: Record<string, string> } = {},
) => fakeRequest({ authorization: `Bearer ${key}`, ...more.headers }, more);

/** An operation with nothing but its access. */
export const testOperation = (
  access: Access,
  more: { service?: ServiceName; unmetered?: boolean; method?: Operation['method'] } = {},
): Operation =>
  operation({
    id: 'testOperation',
    service: more.service ?? 'psa',
    method: more.method ?? 'GET',
    path: '/api/things',
    tag: 'Test',
    summary: 'Test',
    access,
    responses: { 200: null },
    ...(more.unmetered ? { unmetered: true } : {}),
  });

/** An operation that reads PSA. */
export const readPsa = testOperation({ kind: 'product', scopes: ['PSA'], permission: 'products:read' });

/** The refusal of a request; fails when it was let in. */
export async function refusalOf(
  guard: CredentialGuard,
  request: Caller,
  called: Operation = readPsa,
): Promise<Problem> {
  const outcome = await guard.enter(request, called).then(
    () => new Error('the request was admitted'),
    (error: unknown) => error,
  );
  if (outcome instanceof Problem) return outcome;
  throw outcome;
}
