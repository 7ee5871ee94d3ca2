/** Tokens that this deployment signs and it alone accepts: one Ed25519 key per purpose, and no header chooses another. */
import { hash, createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';

const ALGORITHM = 'EdDSA';
const VERIFIED_MAX = 10_000;
/** PKCS #8 wrapping of a bare Ed25519 seed. */
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** One kind of token: who makes it, for whom, and what it must say. */
export interface TokenKind<Claims> {
  /** The deployment's secret; the key pair follows from it and the purpose. */
  secret: string;
  purpose: string;
  issuer: string;
  /** The first one is asked for when a token is verified. */
  audiences: readonly [string, ...string[]];
  /** The `typ` claim, so that a token of another kind never passes for one of this. */
  type: string;
  required: readonly string[];
  /** Reads the claims of a token whose signature and times are right; null when they are not what they should be. */
  read(payload: Record<string, unknown>): Claims | null;
}

export interface SignedTokens<Claims> {
  /** A token of this subject and further claims; times in whole seconds, as JWT has them. */
  sign(
    subject: string,
    claims: Record<string, unknown>,
    times: { issuedAt: number; expiresAt: number },
  ): Promise<string>;
  /** The claims of a genuine token that has not expired, or null. */
  verify(token: string, now: Date): Promise<Claims | null>;
}

/** Key material for one purpose, the same in every process of the deployment. */
export const derivedSecret = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));

/** One key pair for the deployment: every process derives the same one, none has to fetch it. */
function keyPair(secret: string, purpose: string) {
  const seed = derivedSecret(secret, purpose);
  const privateKey = createPrivateKey({ key: Buffer.concat([ED25519_PKCS8, seed]), format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

const digestOf = (token: string): string => hash('sha256', token, 'base64');

/** Verifying costs far more than hashing, so genuine tokens are remembered until they expire. */
function remembering<Claims extends { expiresAtMs: number }>(verify: SignedTokens<Claims>['verify']) {
  const verified = new Map<string, Claims>();
  return async (token: string, now: Date): Promise<Claims | null> => {
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

/** Builds the signing and verifying of one kind of token. */
export function signedTokens<Claims extends { expiresAtMs: number }>(kind: TokenKind<Claims>): SignedTokens<Claims> {
  const { privateKey, publicKey } = keyPair(kind.secret, kind.purpose);
  return {
    sign: (subject, claims, { issuedAt, expiresAt }) =>
      new SignJWT({ ...claims, typ: kind.type })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setIssuer(kind.issuer)
        .setAudience(kind.audiences.length === 1 ? kind.audiences[0] : [...kind.audiences])
        .setSubject(subject)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiresAt)
        .sign(privateKey),
    verify: remembering(async (token, now) => {
      try {
        const { payload } = await jwtVerify(token, publicKey, {
          algorithms: [ALGORITHM],
          issuer: kind.issuer,
          audience: kind.audiences[0],
          requiredClaims: [...kind.required],
          currentDate: now,
        });
        return payload['typ'] === kind.type ? kind.read(payload) : null;
      } catch {
        return null;
      }
    }),
  };
}
