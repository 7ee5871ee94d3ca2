/** Whose credentials still stand: threats 8 to 11. */
import type { Control } from './mutation';

const SESSION = 'src/services/console/session.ts';
const SIGNED = 'src/tokens/signed-token.ts';

const REVOCATION = 'test/fault/revocation.test.ts';
const FORGED = 'test/integration/auth/forged-tokens.test.ts';
const CROSS_SITE = 'test/integration/threats/10-cross-site.test.ts';
const THEFT = 'test/integration/threats/11-session-theft.test.ts';

export const CREDENTIALS: readonly Control[] = [
  {
    threat: 8,
    bug: 'a changed key leaves the epoch as it was',
    file: 'src/store/keys.ts',
    before: '  return fenced(store, held.orgId, () =>\n    keys',
    after: '  return Promise.resolve().then(() =>\n    keys',
    test: REVOCATION,
    name: 'a scope that was removed',
    needsApi: true,
  },
  {
    threat: 8,
    bug: 'an expired key is accepted',
    file: 'src/http/authenticate.ts',
    before: "return hasPassed(loaded.key.expiresAt, now) ? 'expired' : null;",
    after: 'return null;',
    test: REVOCATION,
    name: 'an expiry that was brought forward',
    needsApi: true,
  },
  {
    threat: 9,
    bug: 'a token may be signed with the public key as its secret',
    file: SIGNED,
    before: 'jwtVerify(token, publicKey, {\n          algorithms: [ALGORITHM],',
    after: `jwtVerify(token, ({ alg }) => (alg === 'HS256' ? publicKey.export({ format: 'der', type: 'spki' }) : publicKey), {
          algorithms: [ALGORITHM, 'HS256'],`,
    test: FORGED,
  },
  {
    threat: 9,
    bug: 'a token brings the key that it is verified with',
    file: SIGNED,
    before: 'jwtVerify(token, publicKey, {',
    after: "jwtVerify(token, ({ jwk }) => (jwk ? createPublicKey({ key: jwk as never, format: 'jwk' }) : publicKey), {",
    test: FORGED,
  },
  {
    threat: 9,
    bug: 'a token of any issuer is accepted',
    file: SIGNED,
    before: '          issuer: kind.issuer,\n',
    after: '',
    test: FORGED,
  },
  {
    threat: 9,
    bug: 'a token for anybody is accepted',
    file: SIGNED,
    before: '          audience: kind.audiences[0],\n',
    after: '',
    test: FORGED,
  },
  {
    threat: 9,
    bug: 'a token of any type is accepted',
    file: SIGNED,
    before: "return payload['typ'] === kind.type ? kind.read(payload) : null;",
    after: 'return kind.read(payload);',
    test: FORGED,
  },
  {
    threat: 9,
    bug: 'a token needs no end',
    file: SIGNED,
    before: '          requiredClaims: [...kind.required],\n',
    after: '',
    test: FORGED,
  },
  {
    threat: 10,
    bug: 'a cookie counts, whichever site sends it along',
    file: 'src/http/admission.ts',
    before: '    requireOwnOrigin(visit.request, desk.context.config);\n',
    after: '',
    test: CROSS_SITE,
    name: 'POST /psa/api/boards$',
    needsApi: true,
  },
  {
    threat: 10,
    bug: 'the CSRF token of any session will do',
    file: 'src/services/console/session-token.ts',
    before: 'expected.length === actual.length && timingSafeEqual(expected, actual);',
    after: 'expected.length === actual.length;',
    test: CROSS_SITE,
    name: 'POST /psa/api/boards$',
    needsApi: true,
  },
  {
    threat: 11,
    bug: 'signing in takes up the session that the browser brings along',
    file: SESSION,
    before: 'const session = await openSession(context, user);',
    after: `const [, cookie = ''] = (call.headers.cookie ?? '').split('=');
    const planted = await sessionTokens(context.config).verify(cookie, now);
    const found = planted && (await findSession(context.store, user.orgId, planted.sessionId));
    const session = found ?? (await openSession(context, user));`,
    test: THEFT,
    name: 'signing in never takes up a session',
    needsApi: true,
  },
  {
    threat: 11,
    bug: 'signing out leaves the epoch as it was',
    file: 'src/store/sessions.ts',
    before: '  await fenced(store, orgId, () =>\n    sessions',
    after: '  await Promise.resolve().then(() =>\n    sessions',
    test: THEFT,
    name: 'a stolen cookie ends with its session',
    needsApi: true,
  },
  {
    threat: 11,
    bug: 'scripts read the session cookie',
    file: 'src/services/console/session-token.ts',
    before: 'Path=/; HttpOnly; SameSite',
    after: 'Path=/; SameSite',
    test: THEFT,
    name: 'scripts cannot read the cookie',
    needsApi: true,
  },
];
