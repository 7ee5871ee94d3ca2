/** The portal token: what somebody at a client shows with every request. */
import type { Config } from '../config';
import type { PortalPermission, PortalRole } from '../contracts/principal';
import { signedTokens, type SignedTokens } from './signed-token';

const TOKEN_LIFETIME_MS = 30 * 60_000;

/** How long a portal session lasts however often its token is renewed. */
export const PORTAL_SESSION_LIFETIME_MS = 12 * 60 * 60_000;

/** What a verified token says; whether its session still stands is the store's to know. */
export interface PortalClaims {
  clientUserId: string;
  orgId: string;
  companyId: string;
  sessionId: string;
  expiresAtMs: number;
}

/** What a token is made of. `role` and `permissions` tell the client's own pages what to show; nothing trusts them. */
export interface PortalSubject {
  clientUserId: string;
  orgId: string;
  companyId: string;
  contactId: string | null;
  role: PortalRole;
  permissions: Iterable<PortalPermission>;
  sessionId: string;
  /** The session's absolute end. */
  endsAt: Date;
}

export interface PortalTokens {
  /** A fresh token and its end; never longer-lived than the session. */
  issue(subject: PortalSubject, now: Date): Promise<{ token: string; expiresAt: Date }>;
  verify(token: string, now: Date): Promise<PortalClaims | null>;
}

function read({ sub, tid, cid, sid, exp }: Record<string, unknown>): PortalClaims | null {
  const texts = [sub, tid, cid, sid].filter((claim) => typeof claim === 'string');
  const [clientUserId, orgId, companyId, sessionId] = texts;
  if (!clientUserId || !orgId || !companyId || !sessionId) return null;
  return { clientUserId, orgId, companyId, sessionId, expiresAtMs: Number(exp) * 1_000 };
}

const kindOf = (config: Config): SignedTokens<PortalClaims> =>
  signedTokens<PortalClaims>({
    secret: config.secrets.session,
    purpose: 'signalbox portal signing key',
    issuer: 'portal',
    audiences: ['portal'],
    type: 'portal',
    required: ['sub', 'tid', 'cid', 'sid', 'iat', 'exp'],
    read,
  });

function createPortalTokens(config: Config): PortalTokens {
  const tokens = kindOf(config);
  return {
    verify: (token, now) => tokens.verify(token, now),
    async issue(subject, now) {
      const issuedAt = Math.floor(now.getTime() / 1_000);
      const lifetimeMs = Math.min(TOKEN_LIFETIME_MS, subject.endsAt.getTime() - now.getTime());
      const expiresAt = issuedAt + Math.max(0, Math.floor(lifetimeMs / 1_000));
      const claims = {
        tid: subject.orgId,
        cid: subject.companyId,
        ...(subject.contactId ? { contactId: subject.contactId } : {}),
        role: subject.role,
        perms: [...subject.permissions],
        sid: subject.sessionId,
      };
      const token = await tokens.sign(subject.clientUserId, claims, { issuedAt, expiresAt });
      return { token, expiresAt: new Date(expiresAt * 1_000) };
    },
  };
}

const built = new WeakMap<Config, PortalTokens>();

/** The portal tokens of this configuration, built once. */
export function portalTokens(config: Config): PortalTokens {
  const tokens = built.get(config) ?? createPortalTokens(config);
  built.set(config, tokens);
  return tokens;
}
