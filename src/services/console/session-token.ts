/** The session token and what belongs to it: signing, verifying, the cookie that carries it and its CSRF token. */
import { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import type { Config } from '../../config';

const ALGORITHM = 'EdDSA';
const ISSUER = 'console';
const AUDIENCES = ['console', 'products', 'agents'];
const TYPE = 'session';
const TOKEN_LIFETIME_MS = 15 * 60_000;
/** A token older than this is replaced by the next reply. */
const RENEW_AFTER_MS = 5 * 60_000;
const VERIFIED_MAX = 10_000;
/** PKCS #8 wrapping of a bare Ed25519 seed. */
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

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

const derived = (secret: string, purpose: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));

/** One key pair for the deployment: every process derives the same one, none has to fetch it. */
function keyPair(secret: string) {
  const seed = derived(secret, 'signalbox session signing key');
  const privateKey = createPrivateKey({ key: Buffer.concat([ED25519_PKCS8, seed]), format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

function claimsOf(payload: Record<string, unknown>): SessionClaims | null {
  const { sub, tid, sid, iat, exp, typ } = payload;
  if (typ !== TYPE || typeof sub !== 'string' || typeof tid !== 'string' || typeof sid !== 'string') return null;
  return { userId: sub, orgId: tid, sessionId: sid, issuedAtMs: Number(iat) * 1_000, expiresAtMs: Number(exp) * 1_000 };
}

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64');

/** Verifying costs far more than hashing, so genuine tokens are remembered until they expire. */
function remembering(verify: (token: string, now: Date) => Promise<SessionClaims | null>) {
  const verified = new Map<string, SessionClaims>();
  return async (token: string, now: Date): Promise<SessionClaims | null> => {
    const digest = digestOf(token);
    const known = verified.get(digest);
    if (known) {
      if (known.expiresAtMs > now.getTime()) return known;
      verified.delete(digest);
      return null;
    }
    const claims = await verify(token, now);
    if (claims) {
      const oldest = verified.size >= VERIFIED_MAX ? verified.keys().next().value : undefined;
      if (oldest !== undefined) verified.delete(oldest);
      verified.set(digest, claims);
    }
    return claims;
  };
}

/** Builds the session tokens of a deployment from its secret. */
export function createSessionTokens(config: Config): SessionTokens {
  const { privateKey, publicKey } = keyPair(config.secrets.session);
  const csrfKey = derived(config.secrets.session, 'signalbox csrf token');
  const isSecure = config.publicUrl.startsWith('https:');
  const cookieName = isSecure ? '__Host-session' : 'session';
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  const csrfTokenFor = (sessionId: string) => createHmac('sha256', csrfKey).update(sessionId).digest('base64url');

  const verify = remembering(async (token, now) => {
    try {
      const { payload } = await jwtVerify(token, publicKey, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: 'console',
        requiredClaims: ['sub', 'tid', 'sid', 'iat', 'exp'],
        currentDate: now,
      });
      return claimsOf(payload);
    } catch {
      return null;
    }
  });

  return {
    cookieName,
    async cookieFor(session, now) {
      const lifetimeMs = Math.min(TOKEN_LIFETIME_MS, session.endsAt.getTime() - now.getTime());
      const issuedAt = Math.floor(now.getTime() / 1_000);
      const seconds = Math.max(0, Math.floor(lifetimeMs / 1_000));
      const token = await new SignJWT({ typ: TYPE, tid: session.orgId, sid: session.sessionId })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCES)
        .setSubject(session.userId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + seconds)
        .sign(privateKey);
      return `${cookieName}=${token}; Max-Age=${seconds}; ${attributes}`;
    },
    endedCookie: () => `${cookieName}=; Max-Age=0; ${attributes}`,
    verify,
    isDueForRenewal: (claims, now) => now.getTime() - claims.issuedAtMs > RENEW_AFTER_MS,
    csrfTokenFor,
    isCsrfToken(sessionId, given) {
      const expected = Buffer.from(csrfTokenFor(sessionId));
      const actual = Buffer.from(given);
      return expected.length === actual.length && timingSafeEqual(expected, actual);
    },
  };
}

const built = new WeakMap<Config, SessionTokens>();

/** The session tokens of this configuration, built once. */
export function sessionTokens(config: Config): SessionTokens {
  const tokens = built.get(config) ?? createSessionTokens(config);
  built.set(config, tokens);
  return tokens;
}
