/** Settings of the portal that the API itself holds people to, with the next request on every process. */
import {
  joinStack,
  list,
  request,
  text,
  waitFor,
  type Answer,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { startApi } from '../../support/stack';
import {
  callWith,
  made,
  newClient,
  newPerson,
  openSession,
  patched,
  signedIn,
  standing,
  type Client,
  type Person,
} from './portal-support';

const CURRENT = '/portal/api/portal-settings/current';

let stack: Harness;
let second: Awaited<ReturnType<typeof startApi>>;
let org: TestOrg;
let client: Client;

beforeAll(async () => {
  stack = joinStack();
  second = await startApi(stack.address);
});
beforeEach(async () => {
  org = await stack.newOrg();
  client = await newClient(org, 'Northwind');
});
afterAll(async () => {
  await second.api.stop();
  await stack.close();
});

const processes = (): string[] => [stack.address.baseUrl, second.baseUrl];
const set = (settings: object): Promise<void> => patched(org, CURRENT, { brandName: 'Signal Services', ...settings });
/** What a refusal says, whatever request it answers. */
const saying = ({ status, body }: Answer): unknown => ({ status, body: { ...body, requestId: null } });

describe('allowTicketCreation', () => {
  const createFrom = (url: string, { token }: Person, headers: Record<string, string> = {}): Promise<Answer> =>
    callWith(url, token, { method: 'POST', path: '/psa/api/tickets', body: { subject: 'Screen is black' }, headers });

  test('off refuses new tickets of client users, whatever their role, and on takes them again', async () => {
    const people = [
      await signedIn(org, await newPerson(org, client)),
      await signedIn(org, await newPerson(org, client, 'admin')),
    ];
    for (const person of people) expect((await createFrom(second.baseUrl, person)).status).toBe(201);
    for (const isAllowed of [false, true, false]) {
      await set({ allowTicketCreation: isAllowed });
      for (const url of processes().toReversed()) {
        for (const person of people) {
          const answer = await createFrom(url, person);
          expect(answer.status).toBe(isAllowed ? 201 : 403);
          if (isAllowed) continue;
          expect(answer.body).toMatchObject({
            code: 'PORTAL_NOT_ALLOWED',
            error: expect.stringContaining('allowTicketCreation') as unknown,
            details: { setting: 'allowTicketCreation' },
          });
        }
      }
    }
    expect((await org.call('GET', '/psa/api/tickets/count')).body).toMatchObject({ count: 6 });
  });

  test('the settings that are deleted no longer hold', async () => {
    const person = await signedIn(org, await newPerson(org, client));
    await set({ allowTicketCreation: false });
    expect((await createFrom(second.baseUrl, person)).status).toBe(403);
    const id = text((await org.call('GET', CURRENT)).body['id']);
    await org.call('DELETE', `/portal/api/portal-settings/${id}`);
    expect((await createFrom(second.baseUrl, person)).status).toBe(201);
  });

  test('keys, another tenant, and what there is already are not held to it', async () => {
    const person = await signedIn(org, await newPerson(org, client));
    const ticket = text((await createFrom(stack.address.baseUrl, person)).body['id']);
    await set({ allowTicketCreation: false });
    await made(org, '/psa/api/tickets', { subject: 'By phone', ...client });
    const as = (method: string, path: string, body?: unknown): Promise<Answer> =>
      callWith(second.baseUrl, person.token, { method, path: `/psa/api/tickets/${ticket}${path}`, body });
    expect((await as('GET', '')).status).toBe(200);
    expect((await as('POST', '/notes', { body: 'It smokes' })).status).toBe(201);
    expect((await as('PATCH', '', { status: 'closed' })).status).toBe(200);
    const other = await stack.newOrg();
    const neighbour = await signedIn(other, await newPerson(other, await newClient(other, 'Bluefin')));
    expect((await createFrom(second.baseUrl, neighbour)).status).toBe(201);
  });

  test('a ticket that was made before is answered to the repeat of its request', async () => {
    const person = await signedIn(org, await newPerson(org, client));
    const key = { 'idempotency-key': 'before' };
    const first = await createFrom(stack.address.baseUrl, person, key);
    await set({ allowTicketCreation: false });
    expect((await createFrom(second.baseUrl, person, key)).text).toBe(first.text);
    // As after a process that died between the ticket and the answer.
    await stack.store.connection
      .collection('idempotency')
      .updateMany({ _id: { $regex: `^${org.id}:` }, status: 201 } as never, {
        $set: { status: null, body: null, lease_until: new Date(0) },
      });
    const repeated = await createFrom(second.baseUrl, person, key);
    expect([repeated.status, repeated.body['id']]).toEqual([201, first.body['id']]);
  });
});

describe('ssoRequired', () => {
  const post = (url: string, path: string, body: unknown): Promise<Answer> =>
    request(url, { method: 'POST', path: `/portal/api${path}`, body });
  const ask = (email: string, url = second.baseUrl): Promise<Answer> =>
    post(url, '/sign-in', { email, tenant: org.id });
  const redeem = (code: string, url = second.baseUrl): Promise<Answer> => post(url, '/sessions', { code });
  const mailsTo = async (email: string): Promise<string[]> => {
    const reply = await fetch(`${stack.address.inboxUrl}.json`);
    const { messages } = (await reply.json()) as { messages: { to: string[]; text: string }[] };
    return messages.filter(({ to }) => to.includes(email)).map((mail) => mail.text);
  };
  const codeFor = async (email: string): Promise<string> => {
    expect((await ask(email)).status).toBe(202);
    return waitFor(async () => /^([A-Za-z0-9_-]{43})$/m.exec((await mailsTo(email)).at(-1) ?? '')?.[1]);
  };
  const refusal = {
    code: 'SSO_REQUIRED',
    error: expect.stringContaining('single sign-on') as unknown,
    details: { setting: 'ssoRequired' },
  };
  const countIn = (name: string): Promise<number> =>
    stack.store.connection.collection(name).countDocuments({ orgId: org.id });

  test('no code is made, whoever the address belongs to, until it is off again', async () => {
    const person = await newPerson(org, client);
    await set({ ssoRequired: true });
    for (const url of processes()) {
      const answers = [await ask(person.email, url), await ask('nobody@nowhere.example', url)];
      expect([answers[0]?.status, answers[0]?.body]).toMatchObject([403, refusal]);
      expect(new Set(answers.map((answer) => JSON.stringify(saying(answer)))).size).toBe(1);
    }
    expect([await countIn('portal_sign_in_codes'), await mailsTo(person.email)]).toEqual([0, []]);
    await set({ ssoRequired: false });
    expect((await redeem(await codeFor(person.email))).status).toBe(201);
  });

  test('a code that was mailed before opens nothing', async () => {
    const person = await newPerson(org, client);
    const code = await codeFor(person.email);
    await set({ ssoRequired: true });
    const refused = await redeem(code);
    expect([refused.status, refused.body]).toMatchObject([403, refusal]);
    expect(await countIn('portal_sessions')).toBe(0);
    expect((await redeem('guessed')).status).toBe(401);
    await set({ ssoRequired: false });
    expect((await redeem(code)).status).toBe(401);
  });

  test('sessions that the MSP’s own portal opens go on; those by mail are not renewed', async () => {
    const person = await newPerson(org, client);
    const byMail = text((await redeem(await codeFor(person.email))).body['token']);
    const before = await signedIn(org, person);
    expect(await standing(second.baseUrl, byMail)).toBe('200');
    await set({ ssoRequired: true });
    const refused = await callWith(second.baseUrl, byMail, {
      method: 'POST',
      path: '/portal/api/sessions/current/renew',
    });
    expect([refused.status, refused.body]).toMatchObject([403, refusal]);
    const read = await callWith(second.baseUrl, byMail, { method: 'GET', path: '/psa/api/tickets' });
    expect(read.status).toBe(200);
    const after = await openSession(org, person);
    expect(after.status).toBe(201);
    for (const token of [before.token, text(after.body['token'])])
      for (const url of processes()) expect(await standing(url, token)).toBe('200');
    const sessions = await org.call('GET', `/portal/api/client-users/${person.id}/sessions`);
    expect(list(sessions.body['items']).map(({ via }) => text(via))).toEqual(['staff', 'staff', 'mail']);
  });

  test('another tenant is not held to it', async () => {
    await set({ ssoRequired: true });
    org = await stack.newOrg();
    const person = await newPerson(org, await newClient(org, 'Bluefin'));
    expect((await redeem(await codeFor(person.email))).status).toBe(201);
  });
});
