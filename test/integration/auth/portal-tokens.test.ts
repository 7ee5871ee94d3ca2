/** Threat: algorithm confusion and key injection. Every way we know to forge or misuse a portal token is a 401. */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  sign,
  type KeyObject,
} from 'node:crypto';
import { readConfig } from '../../../src/config';
import { joinStack, request, text, type Harness, type TestOrg } from '../../support/harness';
import { signIn, testContext } from './support';
import { callWith, newClient, newPerson, signedIn, standing, type Client, type Person } from './portal-support';

let stack: Harness;
let org: TestOrg;
let client: Client;
let other: Client;
let person: Person;
let colleague: Person;
let sessionId: string;
let portalKey: KeyObject;
let consoleKey: KeyObject;

const keyFor = (secret: string, purpose: string): KeyObject => {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
};

beforeAll(async () => {
  stack = joinStack();
  org = await stack.newOrg();
  [client, other] = [await newClient(org, 'Northwind'), await newClient(org, 'Bluefin')];
  person = await signedIn(org, await newPerson(org, client, 'admin'));
  colleague = await newPerson(org, client);
  sessionId = String(claimsIn(person.token)['sid']);
  const { secrets } = readConfig(stack.address.env);
  portalKey = keyFor(secrets.session, 'signalbox portal signing key');
  consoleKey = keyFor(secrets.session, 'signalbox session signing key');
});
afterAll(() => stack.close());

const claimsIn = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const seconds = (offset = 0): number => Math.floor(Date.now() / 1_000) + offset;

const header = { alg: 'EdDSA', typ: 'JWT' };
const claims = () => ({
  iss: 'portal',
  aud: 'portal',
  typ: 'portal',
  sub: person.id,
  tid: org.id,
  cid: client.companyId,
  sid: sessionId,
  role: 'admin',
  perms: ['tickets:read'],
  iat: seconds(-10),
  exp: seconds(600),
});

function ed25519(head: object, body: object, key: KeyObject = portalKey): string {
  const signed = `${encode(head)}.${encode(body)}`;
  return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`;
}
function hs256(body: object, secret: string | Buffer): string {
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(body)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}
const publicKey = () => createPublicKey(portalKey);
const own = () => generateKeyPairSync('ed25519');
const without = (claim: string) => Object.fromEntries(Object.entries(claims()).filter(([name]) => name !== claim));

test('a token says who, for which client and what for, and ends within 30 minutes', () => {
  const said = claimsIn(person.token);
  expect(said).toEqual({
    iss: 'portal',
    aud: 'portal',
    typ: 'portal',
    sub: person.id,
    tid: org.id,
    cid: client.companyId,
    contactId: person.contactId,
    role: 'admin',
    perms: expect.arrayContaining(['tickets:read', 'people:invite']) as unknown,
    sid: expect.stringMatching(/^pse_/) as unknown,
    iat: expect.any(Number) as unknown,
    exp: Number(said['iat']) + 30 * 60,
  });
});

test('the table’s own starting point is a token that works', async () => {
  expect(await standing(stack.address.baseUrl, ed25519(header, claims()))).toBe('200');
});

const forgeries: Record<string, () => string> = {
  'alg none': () => `${encode({ alg: 'none' })}.${encode(claims())}.`,
  'alg none with a signature': () => `${encode({ alg: 'none' })}.${encode(claims())}.AAAA`,
  'HS256 with the public key as PEM': () => hs256(claims(), publicKey().export({ format: 'pem', type: 'spki' })),
  'HS256 with the public key as bytes': () => hs256(claims(), publicKey().export({ format: 'der', type: 'spki' })),
  'signed by somebody else': () => ed25519(header, claims(), own().privateKey),
  'signed with the console’s key': () => ed25519(header, claims(), consoleKey),
  'its own key in the header (jwk)': () => {
    const pair = own();
    return ed25519({ ...header, jwk: pair.publicKey.export({ format: 'jwk' }) }, claims(), pair.privateKey);
  },
  'a key elsewhere (jku)': () => ed25519({ ...header, jku: 'https://evil.example/jwks' }, claims(), own().privateKey),
  'a certificate elsewhere (x5u)': () =>
    ed25519({ ...header, x5u: 'https://evil.example/cert.pem' }, claims(), own().privateKey),
  'a key id with a path (kid)': () => ed25519({ ...header, kid: '../../dev/null' }, claims(), own().privateKey),
  'an unknown critical header': () => ed25519({ ...header, crit: ['b64'], b64: false }, claims()),
  'another audience': () => ed25519(header, { ...claims(), aud: 'console' }),
  'no audience': () => ed25519(header, without('aud')),
  'another issuer': () => ed25519(header, { ...claims(), iss: 'console' }),
  'another type': () => ed25519(header, { ...claims(), typ: 'session' }),
  'no type': () => ed25519(header, without('typ')),
  expired: () => ed25519(header, { ...claims(), exp: seconds(-1) }),
  'no expiry': () => ed25519(header, without('exp')),
  'not valid yet': () => ed25519(header, { ...claims(), nbf: seconds(600) }),
  'no session': () => ed25519(header, without('sid')),
  'no client': () => ed25519(header, without('cid')),
  'a session that does not exist': () => ed25519(header, { ...claims(), sid: 'pse_none' }),
  'the session of a colleague': () => ed25519(header, { ...claims(), sub: colleague.id }),
  'the session for another client': () => ed25519(header, { ...claims(), cid: other.companyId }),
  'the session in another org': () => ed25519(header, { ...claims(), tid: 'org_other' }),
  'claims changed after signing': () => {
    const [head, , signature] = ed25519(header, claims()).split('.');
    return `${head}.${encode({ ...claims(), cid: other.companyId })}.${signature}`;
  },
  'a cut signature': () => ed25519(header, claims()).slice(0, -4),
  'two parts': () => ed25519(header, claims()).split('.').slice(0, 2).join('.'),
  'a key’s prefix before it': () => `plat_${ed25519(header, claims())}`,
};

test.each(Object.entries(forgeries))('%s → 401', async (_name, forge) => {
  const answer = await callWith(stack.address.baseUrl, forge(), {
    method: 'POST',
    path: '/portal/api/sessions/current/renew',
  });
  expect([answer.status, answer.body['code'], answer.body['details']]).toEqual([401, 'UNAUTHORIZED', {}]);
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
});

test('a genuine console token is no portal token, and the reverse', async () => {
  const context = testContext(stack.store, { config: readConfig(stack.address.env) });
  const { cookie } = await signIn(context, org.id);
  const [name, session = ''] = cookie.split('=');
  expect(await standing(stack.address.baseUrl, session)).toBe('401');
  const asCookie = await request(stack.address.baseUrl, {
    method: 'GET',
    path: '/console/api/session',
    headers: { cookie: `${name}=${person.token}` },
  });
  expect(asCookie.status).toBe(401);
});

test('a portal token counts in the Authorization header only, and alone', async () => {
  const call = { method: 'POST', path: '/portal/api/sessions/current/renew' };
  const asKey = await request(stack.address.baseUrl, { ...call, headers: { 'x-integration-key': person.token } });
  expect(asKey.status).toBe(401);
  const both = await callWith(stack.address.baseUrl, person.token, {
    ...call,
    headers: { 'x-integration-key': org.key },
  });
  expect([both.status, text(both.body['code'])]).toEqual([401, 'AMBIGUOUS_CREDENTIALS']);
});
