/** Every way we know to forge, stretch or misuse a session token ends as 401. */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  sign,
  type KeyObject,
} from 'node:crypto';
import { createGuard, type CredentialGuard } from '../../../src/http/admission';
import type { Context } from '../../../src/context';
import {
  fakeRequest,
  newTenant,
  newUser,
  openTestStore,
  readPsa,
  refusalOf,
  signIn,
  testContext,
  type SignedIn,
  type TestStore,
} from './support';

let store: TestStore;
let context: Context;
let guard: CredentialGuard;
let orgId: string;
let signedIn: SignedIn;
let colleague: string;
let privateKey: KeyObject;

beforeAll(async () => {
  store = await openTestStore();
  context = testContext(store);
  guard = createGuard(context);
  orgId = await newTenant(store);
  signedIn = await signIn(context, orgId);
  colleague = (await newUser(store, orgId))._id;
  const seed = Buffer.from(hkdfSync('sha256', context.config.secrets.session, '', 'signalbox session signing key', 32));
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
});
afterAll(() => store.close());

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const seconds = (offset = 0): number => Math.floor(Date.now() / 1_000) + offset;

const goodHeader = { alg: 'EdDSA', typ: 'JWT' };
const goodClaims = () => ({
  iss: 'console',
  aud: ['console', 'products', 'agents'],
  typ: 'session',
  sub: signedIn.user._id,
  tid: orgId,
  sid: signedIn.sessionId,
  iat: seconds(-10),
  exp: seconds(600),
});

function ed25519(header: object, claims: object, key: KeyObject = privateKey): string {
  const body = `${encode(header)}.${encode(claims)}`;
  return `${body}.${sign(null, Buffer.from(body), key).toString('base64url')}`;
}
function hs256(claims: object, secret: string | Buffer): string {
  const body = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`;
}
const enter = (token: string) => fakeRequest({ cookie: `session=${token}` });

test('the table’s own starting point is a token that works', async () => {
  await guard.enter(enter(ed25519(goodHeader, goodClaims())), readPsa);
});

const publicKey = () => createPublicKey(privateKey);
const own = () => generateKeyPairSync('ed25519');
const without = (claim: string) => Object.fromEntries(Object.entries(goodClaims()).filter(([name]) => name !== claim));

const forgeries: Record<string, () => string> = {
  'alg none': () => `${encode({ alg: 'none' })}.${encode(goodClaims())}.`,
  'alg none with a signature': () => `${encode({ alg: 'none' })}.${encode(goodClaims())}.AAAA`,
  'HS256 with the public key as PEM': () => hs256(goodClaims(), publicKey().export({ format: 'pem', type: 'spki' })),
  'HS256 with the public key as bytes': () => hs256(goodClaims(), publicKey().export({ format: 'der', type: 'spki' })),
  'HS256 with the session secret': () => hs256(goodClaims(), context.config.secrets.session),
  'signed by somebody else': () => ed25519(goodHeader, goodClaims(), own().privateKey),
  'its own key in the header (jwk)': () => {
    const pair = own();
    return ed25519({ ...goodHeader, jwk: pair.publicKey.export({ format: 'jwk' }) }, goodClaims(), pair.privateKey);
  },
  'a key elsewhere (jku)': () =>
    ed25519({ ...goodHeader, jku: 'https://evil.example/jwks' }, goodClaims(), own().privateKey),
  'a key id with a path (kid)': () => ed25519({ ...goodHeader, kid: '../../dev/null' }, goodClaims(), own().privateKey),
  'an unknown critical header': () => ed25519({ ...goodHeader, crit: ['b64'], b64: false }, goodClaims()),
  'another audience': () => ed25519(goodHeader, { ...goodClaims(), aud: 'portal' }),
  'no audience': () => ed25519(goodHeader, without('aud')),
  'another issuer': () => ed25519(goodHeader, { ...goodClaims(), iss: 'elsewhere' }),
  'no issuer': () => ed25519(goodHeader, without('iss')),
  'a portal token': () => ed25519(goodHeader, { ...goodClaims(), typ: 'portal' }),
  'no type': () => ed25519(goodHeader, without('typ')),
  expired: () => ed25519(goodHeader, { ...goodClaims(), exp: seconds(-1) }),
  'no expiry': () => ed25519(goodHeader, without('exp')),
  'not valid yet': () => ed25519(goodHeader, { ...goodClaims(), nbf: seconds(600) }),
  'no session': () => ed25519(goodHeader, without('sid')),
  'a session that does not exist': () => ed25519(goodHeader, { ...goodClaims(), sid: 'ses_none' }),
  'the session of a user who does not exist': () => ed25519(goodHeader, { ...goodClaims(), sub: 'usr_other' }),
  'the session of another user of the org': () => ed25519(goodHeader, { ...goodClaims(), sub: colleague }),
  'the session in another org': () => ed25519(goodHeader, { ...goodClaims(), tid: 'org_other' }),
  'claims changed after signing': () => {
    const [header, , signature] = ed25519(goodHeader, goodClaims()).split('.');
    return `${header}.${encode({ ...goodClaims(), sub: 'usr_other' })}.${signature}`;
  },
  'a cut signature': () => ed25519(goodHeader, goodClaims()).slice(0, -4),
  'two parts': () => ed25519(goodHeader, goodClaims()).split('.').slice(0, 2).join('.'),
  'not a token': () => 'hello',
};

test.each(Object.entries(forgeries))('%s → 401', async (_name, forge) => {
  const refused = await refusalOf(guard, enter(forge()));
  expect([refused.status, refused.code, refused.facts]).toEqual([401, 'unauthorized', {}]);
});

test('a genuine token is no bearer credential: only the cookie carries sessions', async () => {
  const token = ed25519(goodHeader, goodClaims());
  expect((await refusalOf(guard, fakeRequest({ authorization: `Bearer ${token}` }))).status).toBe(401);
});

test('a cookie sent twice counts as none', async () => {
  const token = ed25519(goodHeader, goodClaims());
  expect((await refusalOf(guard, fakeRequest({ cookie: `session=${token}; session=x` }))).status).toBe(401);
});
