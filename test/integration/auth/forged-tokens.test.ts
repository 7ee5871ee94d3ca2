/** Every way we know to forge, stretch or misuse a session token ends as 401. */
import type { KeyObject } from 'node:crypto';
import type { CredentialGuard } from '../../../src/http/admission';
import type { Context } from '../../../src/context';
import {
  commonForgeries,
  ed25519,
  encode,
  goodHeader,
  hs256,
  seconds,
  signingKey,
  without,
  type Forgeries,
} from './forging';
import {
  fakeRequest,
  newGuard,
  newTenant,
  newUser,
  openTestStore,
  readPsa,
  refusalOf,
  type SignedIn,
  signIn,
  testContext,
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
  guard = newGuard(context);
  orgId = await newTenant(store);
  signedIn = await signIn(context, orgId);
  colleague = (await newUser(store, orgId))._id;
  privateKey = signingKey(context.config.secrets.session, 'signalbox session signing key');
});
afterAll(() => store.close());

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

const signed = (claims: object): string => ed25519(goodHeader, claims, privateKey);
const enter = (token: string) => fakeRequest({ cookie: `session=${token}` });

test('the table’s own starting point is a token that works', async () => {
  await guard.enter(enter(signed(goodClaims())), readPsa);
});

const forgeries: Forgeries = {
  ...commonForgeries(goodClaims, () => privateKey),
  'HS256 with the session secret': () => hs256(goodClaims(), context.config.secrets.session),
  'another audience': () => signed({ ...goodClaims(), aud: 'portal' }),
  'another issuer': () => signed({ ...goodClaims(), iss: 'elsewhere' }),
  'no issuer': () => signed(without(goodClaims(), 'iss')),
  'a portal token': () => signed({ ...goodClaims(), typ: 'portal' }),
  'a session that does not exist': () => signed({ ...goodClaims(), sid: 'ses_none' }),
  'the session of a user who does not exist': () => signed({ ...goodClaims(), sub: 'usr_other' }),
  'the session of another user of the org': () => signed({ ...goodClaims(), sub: colleague }),
  'claims changed after signing': () => {
    const [header, , signature] = signed(goodClaims()).split('.');
    return `${header}.${encode({ ...goodClaims(), sub: 'usr_other' })}.${signature}`;
  },
  'not a token': () => 'hello',
};

test.each(Object.entries(forgeries))('%s → 401', async (_name, forge) => {
  const refused = await refusalOf(guard, enter(forge()));
  expect([refused.status, refused.code, refused.facts]).toEqual([401, 'unauthorized', {}]);
});

test('a genuine token is no bearer credential: only the cookie carries sessions', async () => {
  const token = signed(goodClaims());
  expect((await refusalOf(guard, fakeRequest({ authorization: `Bearer ${token}` }))).status).toBe(401);
});

test('a cookie sent twice counts as none', async () => {
  const token = signed(goodClaims());
  expect((await refusalOf(guard, fakeRequest({ cookie: `session=${token}; session=x` }))).status).toBe(401);
});
