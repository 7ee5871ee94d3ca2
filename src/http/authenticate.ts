/** Credentials → principals. What the store said is kept until the tenant's epoch moves. */
import { hash } from 'node:crypto';
import type { Context } from '../context';
import { problem, type Problem } from '../contracts/problem';
import type { Principal } from '../contracts/principal';
import { FIRST_VERSION } from '../contracts/version';
import { hashKey } from '../domain/api-key';
import { permissionsOf } from '../domain/permissions';
import { portalPermissionsOf } from '../domain/portal';
import { sessionTokens, type SessionClaims } from '../services/console/session-token';
import { findClientUserAt, hasCompany, type ClientUser } from '../store/client-users';
import { FENCED_MS_MAX, readGuard } from '../store/guards';
import { findKeyByHash, type KeyRecord } from '../store/keys';
import { findPortalSession, type PortalSessionRecord } from '../store/portal-sessions';
import { findSession, type SessionRecord } from '../store/sessions';
import { readTenant, type TenantRecord } from '../store/tenants';
import { findUser, type UserRecord } from '../store/users';
import { portalTokens, type PortalClaims } from '../tokens/portal-token';
import type { Credential } from './credentials';

const ENTRIES_MAX = 10_000;

interface LoadedKey {
  kind: 'key';
  key: KeyRecord;
  tenant: TenantRecord;
}
export interface LoadedSession {
  kind: 'session';
  session: SessionRecord;
  user: UserRecord;
  tenant: TenantRecord;
}
interface LoadedPortal {
  kind: 'portal';
  session: PortalSessionRecord;
  clientUser: ClientUser;
  /** False once the client's company was deleted. */
  hasCompany: boolean;
  tenant: TenantRecord;
}
/** What the store knows about a credential. */
export type Loaded = LoadedKey | LoadedSession | LoadedPortal;

/** A credential that is genuine as far as arithmetic can tell, and how to ask the store about it. */
export interface Subject {
  /** What this process remembers it by. */
  id: string;
  /**
   * What the store knows a key by. Null where a signature of ours proved the credential, so that asking the store about
   * it is no stranger's doing.
   */
  keyHash: (() => string) | null;
  /** The token's own claims, for console sessions. */
  claims: SessionClaims | null;
  /** The org whose guard fences this credential, or null when nobody has it. */
  locate(): Promise<string | null>;
  load(): Promise<Loaded | null>;
}

/** What was loaded, and the epoch that had been seen before it was read. */
export interface Held {
  loaded: Loaded;
  /** Made once: every request of the credential is answered for the same one. */
  principal: Principal;
  epoch: number;
  loadedAtMs: number;
}

export interface Authenticator {
  /** The subject of a credential; null for a forged or expired token. */
  subjectOf(credential: Extract<Credential, { kind: 'key' | 'session' | 'portal' }>): Promise<Subject | null>;
  isKnown(subject: Subject): boolean;
  /** From memory, or from the store under the epoch read just before; null when nobody has the credential. */
  hold(subject: Subject): Promise<Held | null>;
  /** From the store, whatever is in memory. */
  reload(subject: Subject): Promise<Held | null>;
  /** From the store, under an epoch the caller has just seen. */
  refresh(subject: Subject, epoch: number): Promise<Held | null>;
}

async function loadKey(context: Context, hash: string): Promise<LoadedKey | null> {
  const key = await findKeyByHash(context.store, hash);
  const tenant = key && (await readTenant(context.store, key.orgId));
  return key && tenant ? { kind: 'key', key, tenant } : null;
}

async function loadSession(context: Context, claims: SessionClaims): Promise<LoadedSession | null> {
  const [session, user, tenant] = await Promise.all([
    findSession(context.store, claims.orgId, claims.sessionId),
    findUser(context.store, claims.orgId, claims.userId),
    readTenant(context.store, claims.orgId),
  ]);
  if (!session || !user || !tenant || session.userId !== user._id) return null;
  return { kind: 'session', session, user, tenant };
}

async function loadPortal({ store }: Context, claims: PortalClaims): Promise<LoadedPortal | null> {
  const { orgId, companyId } = claims;
  const [session, clientUser, isCompany, tenant] = await Promise.all([
    findPortalSession(store, orgId, claims.sessionId),
    findClientUserAt(store, orgId, { id: claims.clientUserId, companyId }),
    hasCompany(store, orgId, companyId),
    readTenant(store, orgId),
  ]);
  if (!session || !clientUser || !tenant) return null;
  if (session.clientUserId !== clientUser.id || session.companyId !== companyId) return null;
  return { kind: 'portal', session, clientUser, hasCompany: isCompany, tenant };
}

const subjectId = (...parts: string[]): string => hash('sha256', parts.join(' '), 'base64url');

function keySubject(context: Context, key: string): Subject {
  const keyHash = (): string => hashKey(context.config.secrets.keyPepper, key);
  return {
    // The store's hash costs several times as much, and is of use only there.
    id: subjectId(key),
    keyHash,
    claims: null,
    locate: async () => (await findKeyByHash(context.store, keyHash()))?.orgId ?? null,
    load: () => loadKey(context, keyHash()),
  };
}

const sessionSubject = (context: Context, claims: SessionClaims): Subject => ({
  id: subjectId(claims.orgId, claims.sessionId, claims.userId),
  keyHash: null,
  claims,
  locate: () => Promise.resolve(claims.orgId),
  load: () => loadSession(context, claims),
});

const portalSubject = (context: Context, claims: PortalClaims): Subject => ({
  id: subjectId('portal', claims.orgId, claims.sessionId, claims.clientUserId, claims.companyId),
  keyHash: null,
  claims: null,
  locate: () => Promise.resolve(claims.orgId),
  load: () => loadPortal(context, claims),
});

/** Builds the authenticator of this process. */
export function createAuthenticator(context: Context): Authenticator {
  const { config, store, clock } = context;
  const tokens = sessionTokens(config);
  const entries = new Map<string, Held>();
  const underWay = new Map<string, Promise<Held | null>>();

  /** Requests that arrive together share one read; each still compares epochs for itself. */
  function once(id: string, read: () => Promise<Held | null>): Promise<Held | null> {
    const running = underWay.get(id);
    if (running) return running;
    const started = read().finally(() => underWay.delete(id));
    underWay.set(id, started);
    return started;
  }

  async function loadUnder(subject: Subject, epoch: number): Promise<Held | null> {
    const loaded = await subject.load();
    entries.delete(subject.id);
    if (!loaded) return null;
    const held = { loaded, principal: principalOf(loaded), epoch, loadedAtMs: clock.now().getTime() };
    const oldest = entries.size >= ENTRIES_MAX ? entries.keys().next().value : undefined;
    if (oldest !== undefined) entries.delete(oldest);
    entries.set(subject.id, held);
    return held;
  }

  async function firstLoad(subject: Subject): Promise<Held | null> {
    const orgId = await subject.locate();
    if (orgId === null) return null;
    // The epoch is read before the record: a change in between then shows as a moved epoch.
    const { epoch } = await readGuard(store, orgId, { nowMs: clock.now().getTime() });
    return loadUnder(subject, epoch);
  }

  const remembered = (subject: Subject): Held | null => {
    const held = entries.get(subject.id);
    return held && clock.now().getTime() - held.loadedAtMs < FENCED_MS_MAX ? held : null;
  };

  return {
    async subjectOf(credential) {
      if (credential.kind === 'key') return keySubject(context, credential.key);
      if (credential.kind === 'portal') {
        const claims = await portalTokens(config).verify(credential.token, clock.now());
        return claims && portalSubject(context, claims);
      }
      const claims = await tokens.verify(credential.token, clock.now());
      return claims && sessionSubject(context, claims);
    },
    isKnown: (subject) => entries.has(subject.id),
    hold: async (subject) => remembered(subject) ?? (await once(subject.id, () => firstLoad(subject))),
    reload: (subject) => firstLoad(subject),
    refresh: (subject, epoch) => once(`${subject.id} ${epoch}`, () => loadUnder(subject, epoch)),
  };
}

const hasPassed = (moment: Date | null, now: Date): boolean => moment !== null && moment.getTime() <= now.getTime();

/** Whether the person behind a session still has the access it was opened for. */
function mayStillEnter(loaded: LoadedSession | LoadedPortal): boolean {
  if (loaded.kind === 'session') return loaded.user.disabledAt === null;
  const { clientUser, session } = loaded;
  return clientUser.status !== 'suspended' && clientUser.companyId === session.companyId && loaded.hasCompany;
}

/** Why the credential is refused, or null while it stands. */
export function refusalOf(loaded: Loaded, now: Date): 'revoked' | 'expired' | null {
  if (loaded.kind === 'key') {
    if (loaded.key.revokedAt) return 'revoked';
    return hasPassed(loaded.key.expiresAt, now) ? 'expired' : null;
  }
  if (loaded.session.revokedAt || !mayStillEnter(loaded)) return 'revoked';
  return hasPassed(loaded.session.expiresAt, now) ? 'expired' : null;
}

const REFUSAL_TEXTS = {
  key: { revoked: 'This API key was revoked.', expired: 'This API key has expired.' },
  session: { revoked: 'This session was ended.', expired: 'This session has expired.' },
  portal: { revoked: 'This portal session was ended.', expired: 'This portal session has expired.' },
};

/** True when no later change can make the refusal wrong. */
export const isFinal = (loaded: Loaded): boolean => loaded.kind === 'key' && loaded.key.revokedAt !== null;

/** The 401 that says why: only somebody who holds the whole credential ever sees it. */
export const refusedCredential = (kind: Loaded['kind'], reason: 'revoked' | 'expired'): Problem =>
  problem('unauthorized', { message: REFUSAL_TEXTS[kind][reason], facts: { reason } });

/** The principal that handlers see. */
function principalOf(loaded: Loaded): Principal {
  const { tenant } = loaded;
  const shared = { orgId: tenant._id, tier: tenant.tier };
  if (loaded.kind === 'key') {
    const { key } = loaded;
    return {
      ...shared,
      kind: 'key',
      id: key._id,
      keyId: key._id,
      name: key.name,
      keyTier: key.tier ?? tenant.tier,
      scopes: key.scopes,
      apiVersion: key.apiVersion ?? FIRST_VERSION,
    };
  }
  if (loaded.kind === 'portal') {
    const { clientUser, session } = loaded;
    return {
      ...shared,
      kind: 'portal',
      id: clientUser.id,
      sessionId: session._id,
      email: clientUser.email,
      companyId: session.companyId,
      contactId: clientUser.contactId,
      role: clientUser.role,
      permissions: portalPermissionsOf(clientUser.role),
    };
  }
  const { user, session } = loaded;
  return {
    ...shared,
    kind: 'session',
    id: user._id,
    sessionId: session._id,
    email: user.email,
    permissions: permissionsOf(user.role),
  };
}
