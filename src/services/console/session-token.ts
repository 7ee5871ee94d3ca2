/** The session token and what belongs to it: signing, verifying, the cookie that carries it and its CSRF token. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Config } from '../../config';
import { madePer } from '../../domain/memoised';
import { derivedSecret, signedTokens } from '../../tokens/signed-token';

const TOKEN_LIFETIME_MS = 15 * 60_000;
/** A token older than this is replaced by the next reply. */
const RENEW_AFTER_MS = 5 * 60_000;

/** How long a session lasts however busy it is. */
export const SESSION_LIFETIME_MS = 12 * 60 * 60_000;

/** What a verified token says; whether the session still stands is the store's to know. */
export interface SessionClaims {
  userId: string;
  orgId: string;
  sessionId: string;
  issuedAtMs: number;
  expiresAtMs: number;
}

export interface SessionTokens {
  /** `__Host-session` where the console is served by https. */
  cookieName: string;
  /** The whole Set-Cookie value of a fresh token; never longer-lived than the session. */
  cookieFor(session: { userId: string; orgId: string; sessionId: string; endsAt: Date }, now: Date): Promise<string>;
  /** The Set-Cookie value that removes the cookie. */
  endedCookie(): string;
  /** The claims of a genuine token of this deployment that has not expired, or null. */
  verify(token: string, now: Date): Promise<SessionClaims | null>;
  isDueForRenewal(claims: SessionClaims, now: Date): boolean;
  csrfTokenFor(sessionId: string): string;
  isCsrfToken(sessionId: string, given: string): boolean;
}

function read({ sub, tid, sid, iat, exp }: Record<string, unknown>): SessionClaims | null {
  if (typeof sub !== 'string' || typeof tid !== 'string' || typeof sid !== 'string') return null;
  return { userId: sub, orgId: tid, sessionId: sid, issuedAtMs: Number(iat) * 1_000, expiresAtMs: Number(exp) * 1_000 };
}

/** Builds the session tokens of a deployment from its secret. */
export function createSessionTokens(config: Config): SessionTokens {
  const tokens = signedTokens<SessionClaims>({
    secret: config.secrets.session,
    purpose: 'signalbox session signing key',
    issuer: 'console',
    audiences: ['console', 'products', 'agents'],
    type: 'session',
    required: ['sub', 'tid', 'sid', 'iat', 'exp'],
    read,
  });
  const csrfKey = derivedSecret(config.secrets.session, 'signalbox csrf token');
  const isSecure = config.publicUrl.startsWith('https:');
  const cookieName = isSecure ? '__Host-session' : 'session';
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  const csrfTokenFor = (sessionId: string) => createHmac('sha256', csrfKey).update(sessionId).digest('base64url');

  return {
    cookieName,
    async cookieFor(session, now) {
      const lifetimeMs = Math.min(TOKEN_LIFETIME_MS, session.endsAt.getTime() - now.getTime());
      const issuedAt = Math.floor(now.getTime() / 1_000);
      const seconds = Math.max(0, Math.floor(lifetimeMs / 1_000));
      const claims = { tid: session.orgId, sid: session.sessionId };
      const token = await tokens.sign(session.userId, claims, { issuedAt, expiresAt: issuedAt + seconds });
      return `${cookieName}=${token}; Max-Age=${seconds}; ${attributes}`;
    },
    endedCookie: () => `${cookieName}=; Max-Age=0; ${attributes}`,
    verify: (token, now) => tokens.verify(token, now),
    isDueForRenewal: (claims, now) => now.getTime() - claims.issuedAtMs > RENEW_AFTER_MS,
    csrfTokenFor,
    isCsrfToken(sessionId, given) {
      const expected = Buffer.from(csrfTokenFor(sessionId));
      const actual = Buffer.from(given);
      return expected.length === actual.length && timingSafeEqual(expected, actual);
    },
  };
}

/** The session tokens of this configuration, built once. */
export const sessionTokens = madePer(createSessionTokens);
