/** What a forger can do with a signed token, whatever it is for: keys, signatures and the forgeries that suites share. */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  sign,
  type KeyObject,
} from 'node:crypto';

type Claims = Readonly<Record<string, unknown>>;
/** Forged tokens by what is wrong with them. */
export type Forgeries = Record<string, () => string>;

/** What comes before the seed of an Ed25519 key in PKCS #8. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The key that a process derives from the deployment's secret, here for whoever has stolen that. */
export function signingKey(secret: string, purpose: string): KeyObject {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
  return createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' });
}

export const strangersKeys = () => generateKeyPairSync('ed25519');

export const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Seconds since 1970, as tokens count. */
export const seconds = (offset = 0): number => Math.floor(Date.now() / 1_000) + offset;

export const goodHeader = { alg: 'EdDSA', typ: 'JWT' };

export function ed25519(header: object, claims: object, key: KeyObject): string {
  const signed = `${encode(header)}.${encode(claims)}`;
  return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`;
}

export function hs256(claims: object, secret: string | Buffer): string {
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

export const without = (claims: Claims, claim: string): Claims =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => name !== claim));

/** Ways to forge any token of ours, made of one that would work; both are asked for when a test runs. */
export function commonForgeries(claims: () => Claims, key: () => KeyObject): Forgeries {
  const good = (): string => ed25519(goodHeader, claims(), key());
  const publicKey = () => createPublicKey(key());
  const bySomebodyElse = (header: object): string => ed25519(header, claims(), strangersKeys().privateKey);
  const lacking = (claim: string): string => ed25519(goodHeader, without(claims(), claim), key());
  const saying = (more: Claims): string => ed25519(goodHeader, { ...claims(), ...more }, key());
  return {
    'alg none': () => `${encode({ alg: 'none' })}.${encode(claims())}.`,
    'alg none with a signature': () => `${encode({ alg: 'none' })}.${encode(claims())}.AAAA`,
    'HS256 with the public key as PEM': () => hs256(claims(), publicKey().export({ format: 'pem', type: 'spki' })),
    'HS256 with the public key as bytes': () => hs256(claims(), publicKey().export({ format: 'der', type: 'spki' })),
    'signed by somebody else': () => bySomebodyElse(goodHeader),
    'its own key in the header (jwk)': () => {
      const pair = strangersKeys();
      return ed25519({ ...goodHeader, jwk: pair.publicKey.export({ format: 'jwk' }) }, claims(), pair.privateKey);
    },
    'a key elsewhere (jku)': () => bySomebodyElse({ ...goodHeader, jku: 'https://evil.example/jwks' }),
    'a key id with a path (kid)': () => bySomebodyElse({ ...goodHeader, kid: '../../dev/null' }),
    'an unknown critical header': () => ed25519({ ...goodHeader, crit: ['b64'], b64: false }, claims(), key()),
    'no audience': () => lacking('aud'),
    'no type': () => lacking('typ'),
    expired: () => saying({ exp: seconds(-1) }),
    'no expiry': () => lacking('exp'),
    'not valid yet': () => saying({ nbf: seconds(600) }),
    'no session': () => lacking('sid'),
    'the session in another org': () => saying({ tid: 'org_other' }),
    'a cut signature': () => good().slice(0, -4),
    'two parts': () => good().split('.').slice(0, 2).join('.'),
  };
}
