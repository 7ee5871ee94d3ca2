/** Threat: algorithm confusion and key injection. Every way we know to forge or misuse a portal token is a 401. */
import type { KeyObject } from 'node:crypto';
import { readConfig } from '../../../src/config';
import { joinStack, request, text, type Harness, type TestOrg } from '../../support/harness';
import {
  commonForgeries,
  ed25519,
  encode,
  goodHeader,
  seconds,
  signingKey,
  strangersKeys,
  without,
  type Forgeries,
} from './forging';
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

beforeAll(async () => {
  stack = joinStack();
  org = await stack.newOrg();
  [client, other] = [await newClient(org, 'Northwind'), await newClient(org, 'Bluefin')];
  person = await signedIn(org, await newPerson(org, client, 'admin'));
  colleague = await newPerson(org, client);
  sessionId = String(claimsIn(person.token)['sid']);
  const { secrets } = readConfig(stack.address.env);
  portalKey = signingKey(secrets.session, 'signalbox portal signing key');
  consoleKey = signingKey(secrets.session, 'signalbox session signing key');
});
afterAll(() => stack.close());

const claimsIn = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

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

const signed = (claims: object): string => ed25519(goodHeader, claims, portalKey);

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
  expect(await standing(stack.address.baseUrl, signed(claims()))).toBe('200');
});

const forgeries: Forgeries = {
  ...commonForgeries(claims, () => portalKey),
  'signed with the console’s key': () => ed25519(goodHeader, claims(), consoleKey),
  'a certificate elsewhere (x5u)': () =>
    ed25519({ ...goodHeader, x5u: 'https://evil.example/cert.pem' }, claims(), strangersKeys().privateKey),
  'another audience': () => signed({ ...claims(), aud: 'console' }),
  'another issuer': () => signed({ ...claims(), iss: 'console' }),
  'another type': () => signed({ ...claims(), typ: 'session' }),
  'no client': () => signed(without(claims(), 'cid')),
  'a session that does not exist': () => signed({ ...claims(), sid: 'pse_none' }),
  'the session of a colleague': () => signed({ ...claims(), sub: colleague.id }),
  'the session for another client': () => signed({ ...claims(), cid: other.companyId }),
  'claims changed after signing': () => {
    const [head, , signature] = signed(claims()).split('.');
    return `${head}.${encode({ ...claims(), cid: other.companyId })}.${signature}`;
  },
  'a key’s prefix before it': () => `plat_${signed(claims())}`,
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
