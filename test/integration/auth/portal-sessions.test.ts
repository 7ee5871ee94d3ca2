/** How client users come in and go out: by staff, by mail, renewed, and refused on every process once something ended it. */
import { randomInt } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { choosePort } from '../../../scripts/services/ports';
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
import { productProcess, type ProductProcess } from '../../support/processes';
import {
  callWith,
  newClient,
  newPerson,
  openSession,
  patched,
  signedIn,
  standing,
  type Client,
  type Person,
} from './portal-support';

let stack: Harness;
let org: TestOrg;
let client: Client;
let second: ProductProcess;
let secondUrl: string;

beforeAll(async () => {
  stack = joinStack();
  const port = await choosePort();
  secondUrl = `http://127.0.0.1:${port}`;
  second = productProcess({
    script: 'src/main.ts',
    env: { ...stack.address.env, PORT: String(port) },
    readyText: '"msg":"api ready"',
    logFile: '.signalbox/test-logs/portal-second-api.log',
  });
  [org] = await Promise.all([stack.newOrg(), second.start()]);
  client = await newClient(org, 'Northwind');
});
afterAll(async () => {
  await second.stop();
  await stack.close();
});

/** A POST from an address of our choice. */
const postFrom = (localAddress: string, url: string, body: unknown): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method: 'POST', localAddress, headers: { 'content-type': 'application/json' } });
    sent.once('error', reject).once('response', (reply) => {
      const chunks: Buffer[] = [];
      reply
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .once('end', () => {
          const content = Buffer.concat(chunks).toString();
          const parsed = JSON.parse(content) as Answer['body'];
          resolve({ status: reply.statusCode ?? 0, headers: new Headers(), text: content, body: parsed });
        });
    });
    sent.end(JSON.stringify(body));
  });

const first = (): string => stack.address.baseUrl;
const readUser = async (person: Person): Promise<Answer['body']> =>
  (await org.call('GET', `/portal/api/client-users/${person.id}`)).body;

describe('by the MSP’s own portal or staff', () => {
  test('a key with the Portal scope gets a token, shown once, and the invited user becomes active', async () => {
    const person = await newPerson(org, client);
    const key = { 'idempotency-key': `mint-${person.id}` };
    const path = `/portal/api/client-users/${person.id}/sessions`;
    const answer = await org.call('POST', path, undefined, key);
    expect([answer.status, Object.keys(answer.body).sort()]).toEqual([201, ['expiresAt', 'sessionId', 'token']]);
    expect(await standing(first(), text(answer.body['token']))).toBe('200');
    const replay = await org.call('POST', path, undefined, key);
    expect(replay.body).toMatchObject({ token: null, tokenShown: true, sessionId: answer.body['sessionId'] });
    expect(await readUser(person)).toMatchObject({ status: 'active', lastLoginAt: expect.any(String) as unknown });
  });

  test('a suspended user, somebody unknown and a key without the scope are refused', async () => {
    const person = await newPerson(org, client);
    await patched(org, `/portal/api/client-users/${person.id}`, { status: 'suspended' });
    expect((await openSession(org, person)).status).toBe(409);
    expect((await openSession(org, { id: 'pcu_none' })).status).toBe(404);
    const narrow = await stack.newOrg({ scopes: ['PSA'] });
    expect((await openSession(narrow, person)).status).toBe(403);
    const stranger = await stack.newOrg();
    expect((await openSession(stranger, person)).status).toBe(404);
  });

  test('staff see the sessions, end one, and both are in the audit trail', async () => {
    const person = await newPerson(org, client);
    const [one, two] = [await signedIn(org, person), await signedIn(org, person)];
    const path = `/portal/api/client-users/${person.id}/sessions`;
    const { body } = await org.call('GET', `${path}?limit=1`);
    expect(body).toMatchObject({ hasMore: true, items: [{ clientUserId: person.id, via: 'staff', status: 'active' }] });
    const token = text(body['continuationToken']);
    const rest = (await org.call('GET', `${path}?limit=1&continuationToken=${token}`)).body;
    const newest = text(list(body['items'])[0]?.['id']);
    expect(text(list(rest['items'])[0]?.['id'])).not.toBe(newest);
    expect((await org.call('DELETE', `${path}/${newest}`)).status).toBe(204);
    expect((await org.call('DELETE', `${path}/${newest}`)).status).toBe(204);
    expect((await org.call('DELETE', `${path}/pse_none`)).status).toBe(404);
    expect([await standing(secondUrl, one.token), await standing(secondUrl, two.token)]).toEqual([
      '200',
      '401 revoked',
    ]);
    const entries = await stack.store.connection
      .collection('audit_entries')
      .find({ orgId: org.id, 'target.id': newest })
      .toArray();
    expect(entries.map((entry) => String(entry['action'])).sort()).toEqual([
      'portal_session.created',
      'portal_session.revoked',
    ]);
  });
});

describe('renewing and signing out', () => {
  test('a renewed token goes on, within the life of its session', async () => {
    const person = await signedIn(org, await newPerson(org, client));
    const renewed = await callWith(first(), person.token, {
      method: 'POST',
      path: '/portal/api/sessions/current/renew',
    });
    expect(await standing(secondUrl, text(renewed.body['token']))).toBe('200');
    await stack.store.connection
      .collection<{ _id: string }>('portal_sessions')
      .updateOne({ _id: text(renewed.body['sessionId']) }, { $set: { expiresAt: new Date(Date.now() + 60_000) } });
    // Nothing of the session is remembered under the next epoch.
    await patched(org, `/portal/api/client-users/${person.id}`, { lastName: 'Reyes' });
    const late = await callWith(first(), person.token, { method: 'POST', path: '/portal/api/sessions/current/renew' });
    expect(Date.parse(text(late.body['expiresAt'])) - Date.now()).toBeLessThanOrEqual(60_000);
  });

  test('every token of a session that was left is refused on the other process at once', async () => {
    const person = await signedIn(org, await newPerson(org, client));
    expect(await standing(secondUrl, person.token)).toBe('200');
    const left = await callWith(first(), person.token, { method: 'DELETE', path: '/portal/api/sessions/current' });
    expect(left.status).toBe(204);
    expect(await standing(secondUrl, person.token)).toBe('401 revoked');
  });

  test('keys and console sessions have no portal session to renew', async () => {
    expect((await org.call('POST', '/portal/api/sessions/current/renew')).status).toBe(403);
  });

  test('requests are charged to the tenant and say what is left', async () => {
    const person = await signedIn(org, await newPerson(org, client));
    const left = async () => {
      const answer = await callWith(first(), person.token, {
        method: 'POST',
        path: '/portal/api/sessions/current/renew',
      });
      return Number(answer.headers.get('x-ratelimit-remaining'));
    };
    const before = await left();
    expect(await left()).toBe(before - 1);
  });
});

describe('threat: a change of access that some process overlooks', () => {
  const changes: Record<string, [(person: Person) => Promise<unknown>, string]> = {
    'suspending the user': [
      (person) => patched(org, `/portal/api/client-users/${person.id}`, { status: 'suspended' }),
      '401 revoked',
    ],
    'deleting the user': [(person) => org.call('DELETE', `/portal/api/client-users/${person.id}`), '401'],
    'moving the user to another company': [
      async (person) => {
        const { companyId } = await newClient(org, 'Elsewhere');
        await patched(org, `/portal/api/client-users/${person.id}`, { companyId, contactId: null });
      },
      '401 revoked',
    ],
  };

  test.each(Object.entries(changes))('%s', async (_name, [change, expected]) => {
    const person = await signedIn(org, await newPerson(org, client));
    expect([await standing(first(), person.token), await standing(secondUrl, person.token)]).toEqual(['200', '200']);
    await change(person);
    expect([await standing(secondUrl, person.token), await standing(first(), person.token)]).toEqual([
      expected,
      expected,
    ]);
  });

  test('a user who is let in again needs a new sign-in', async () => {
    const person = await signedIn(org, await newPerson(org, client));
    const path = `/portal/api/client-users/${person.id}`;
    await patched(org, path, { status: 'suspended' });
    await patched(org, path, { status: 'active' });
    expect(await standing(secondUrl, person.token)).toBe('401 revoked');
    expect(await standing(secondUrl, (await signedIn(org, person)).token)).toBe('200');
  });

  /** What a process leaves that died after its write, before the fence: the record changed, and nobody was told. */
  const diesBeforeTheFence = async ({ id }: Person, change: Record<string, unknown>): Promise<void> => {
    const users = stack.store.connection.collection<{ _id: string; version: number }>('portal_client_users');
    const written = await users.updateOne({ _id: id }, { $set: change, $inc: { version: 1 } });
    expect(written.modifiedCount).toBe(1);
  };

  test('the same suspension sent again, after the process of the first died, is in force when it is answered', async () => {
    const person = await signedIn(org, await newPerson(org, client));
    const path = `/portal/api/client-users/${person.id}`;
    expect([await standing(first(), person.token), await standing(secondUrl, person.token)]).toEqual(['200', '200']);
    await diesBeforeTheFence(person, { status: 'suspended' });
    const suspended = await org.call('PATCH', path, { status: 'suspended' });
    expect([suspended.status, suspended.body['status']]).toEqual([200, 'suspended']);
    expect([await standing(secondUrl, person.token), await standing(first(), person.token)]).toEqual([
      '401 revoked',
      '401 revoked',
    ]);
    await patched(org, path, { status: 'active' });
    expect(await standing(secondUrl, person.token)).toBe('401 revoked');
  });

  test('the same move to another company sent again is in force when it is answered', async () => {
    const person = await signedIn(org, await newPerson(org, client));
    expect(await standing(secondUrl, person.token)).toBe('200');
    const move = { ...(await newClient(org, 'Elsewhere')), contactId: null };
    await diesBeforeTheFence(person, move);
    await patched(org, `/portal/api/client-users/${person.id}`, move);
    expect(await standing(secondUrl, person.token)).toBe('401 revoked');
  });

  test('who is let in again after a suspension that was never finished needs a new sign-in too', async () => {
    const person = await signedIn(org, await newPerson(org, client));
    await diesBeforeTheFence(person, { status: 'suspended' });
    await patched(org, `/portal/api/client-users/${person.id}`, { status: 'active' });
    expect(await standing(secondUrl, person.token)).toBe('401 revoked');
  });

  test('deleting the company', async () => {
    const gone = await newClient(org, 'Short-lived');
    const person = await signedIn(org, await newPerson(org, gone));
    expect(await standing(secondUrl, person.token)).toBe('200');
    // The company is kept while others name it, so its record is taken away the way an import would.
    await stack.store.connection
      .collection<{ _id: string }>('companies')
      .updateOne({ _id: gone.companyId }, { $set: { deletedAt: new Date() } });
    await patched(org, `/portal/api/client-users/${person.id}`, { lastName: 'Reyes' });
    expect(await standing(secondUrl, person.token)).toBe('401 revoked');
  });
});

describe('by a code in a mail', () => {
  const networks = new Map<string, string>();
  /** Each name is a loopback address of its own, so that suites do not spend each other's limit. */
  const addressOf = (network: string): string => {
    const known = networks.get(network) ?? `127.0.${1 + randomInt(200)}.${2 + networks.size}`;
    networks.set(network, known);
    return known;
  };
  const ask = (email: string, network: string, tenant = org.id): Promise<Answer> =>
    postFrom(addressOf(network), `${first()}/portal/api/sign-in`, { email, tenant });
  const redeem = (code: string): Promise<Answer> =>
    request(first(), { method: 'POST', path: '/portal/api/sessions', body: { code } });

  async function mailsTo(email: string): Promise<string[]> {
    const reply = await fetch(`${stack.address.inboxUrl}.json`);
    const { messages } = (await reply.json()) as { messages: { to: string[]; text: string }[] };
    return messages.filter(({ to }) => to.includes(email)).map((mail) => mail.text);
  }
  const codeFor = (email: string): Promise<string> =>
    waitFor(async () => /^([A-Za-z0-9_-]{43})$/m.exec((await mailsTo(email)).at(-1) ?? '')?.[1], {
      what: `a mail to ${email}`,
    });

  test('the code opens one session, whatever the case of the address', async () => {
    const person = await newPerson(org, client);
    const asked = await ask(person.email.toUpperCase(), 'case');
    expect(asked.status).toBe(202);
    const entered = await redeem(await codeFor(person.email));
    expect([entered.status, await standing(first(), text(entered.body['token']))]).toEqual([201, '200']);
    expect(await readUser(person)).toMatchObject({ status: 'active' });
  });

  test('threat: taking a place. Whoever writes the address into a record of their own company takes nobody in or out', async () => {
    const person = await signedIn(org, await newPerson(org, client));
    const other = await newClient(org, 'Contoso');
    const admin = await signedIn(org, await newPerson(org, other, 'admin'));
    const planted = await callWith(first(), admin.token, {
      method: 'POST',
      path: '/portal/api/client-users',
      body: { email: person.email, role: 'viewer' },
    });
    expect(planted.status).toBe(201);
    await ask(person.email, 'place');
    const mail = await waitFor(async () => (await mailsTo(person.email)).at(-1), { what: 'the mail' });
    const codes = new Map(
      [...mail.matchAll(/^For (.+):\n\n(?:http.*\n\n)?([A-Za-z0-9_-]{43})$/gm)].map((at) => [at[1], at[2]]),
    );
    expect([...codes.keys()]).toEqual(['Northwind', 'Contoso']);
    const entered = await redeem(codes.get('Northwind') ?? '');
    const me = (token: string) => callWith(first(), token, { method: 'GET', path: '/portal/api/client-users' });
    const { body } = await me(text(entered.body['token']));
    expect(list(body['items']).map(({ companyId }) => companyId)).toContain(client.companyId);
    expect(list(body['items']).map(({ companyId }) => companyId)).not.toContain(other.companyId);
  });

  test('threat: enumeration. Known, unknown and suspended addresses and unknown orgs get one answer', async () => {
    const [known, suspended] = [await newPerson(org, client), await newPerson(org, client)];
    await patched(org, `/portal/api/client-users/${suspended.id}`, { status: 'suspended' });
    const answers = [
      await ask(known.email, 'enumeration'),
      await ask('nobody@nowhere.example', 'enumeration'),
      await ask(suspended.email, 'enumeration'),
      await ask(known.email, 'enumeration', 'org_none'),
    ];
    expect(new Set(answers.map(({ status, text: body }) => `${status} ${body}`)).size).toBe(1);
    await codeFor(known.email);
    expect(await mailsTo(suspended.email)).toEqual([]);
    // The same records, too: what differs is only whom a code would let in.
    const kept = await stack.store.connection
      .collection('portal_sign_in_codes')
      .find({ orgId: org.id, clientUserId: null })
      .toArray();
    expect(kept.length).toBeGreaterThanOrEqual(2);
  });

  test('threat: replay. Of twenty who send one code at once, one gets in', async () => {
    const person = await newPerson(org, client);
    await ask(person.email, 'race');
    const code = await codeFor(person.email);
    const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(code)));
    const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
    expect(statuses).toEqual([201, ...Array.from({ length: 19 }, () => 401)]);
    const sessions = await org.call('GET', `/portal/api/client-users/${person.id}/sessions`);
    expect(list(sessions.body['items'])).toHaveLength(1);
  });

  test('a code is not in the store, ends after 15 minutes, and not for the suspended', async () => {
    const [late, suspended] = [await newPerson(org, client), await newPerson(org, client)];
    await Promise.all([ask(late.email, 'late'), ask(suspended.email, 'late')]);
    const codes = await Promise.all([codeFor(late.email), codeFor(suspended.email)]);
    const collection = stack.store.connection.collection('portal_sign_in_codes');
    const stored = JSON.stringify(await collection.find({ orgId: org.id }).toArray());
    for (const code of codes) expect(stored).not.toContain(code);
    await collection.updateMany({ clientUserId: late.id }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    await patched(org, `/portal/api/client-users/${suspended.id}`, { status: 'suspended' });
    const refused = await Promise.all([...codes, 'guessed'].map(redeem));
    expect(refused.map(({ status, body }) => [status, body['error']])).toEqual(
      Array.from({ length: 3 }, () => [401, refused[0]?.body['error']]),
    );
  });

  const changes: [string, (person: Person) => Promise<Record<string, unknown>>][] = [
    ['address', async ({ email }) => Promise.resolve({ email: `new-${email}` })],
    ['company', async () => ({ ...(await newClient(org, 'Elsewhere')), contactId: null })],
  ];
  test.each(changes)(
    'threat: a mail that others read. A new %s makes the codes that were sent useless',
    async (what, change) => {
      const person = await newPerson(org, client);
      const path = `/portal/api/client-users/${person.id}`;
      await ask(person.email, `changed ${what}`);
      const code = await codeFor(person.email);
      await patched(org, path, await change(person));
      const refused = await redeem(code);
      expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('ask for a new one')]);
      expect(await readUser(person)).toMatchObject({ status: 'invited', lastLoginAt: null });
      expect(list((await org.call('GET', `${path}/sessions`)).body['items'])).toEqual([]);
      const email = text((await readUser(person))['email']);
      await ask(email, `changed ${what}`);
      const fresh = await waitFor(
        async () => {
          const sent = (await mailsTo(email)).map((mail) => /^([A-Za-z0-9_-]{43})$/m.exec(mail)?.[1]);
          return sent.find((other) => other !== undefined && other !== code);
        },
        { what: 'a new code' },
      );
      expect((await redeem(fresh)).status).toBe(201);
    },
  );

  test('asking too often is refused alike for known and unknown addresses', async () => {
    const person = await newPerson(org, client);
    const refusedAfter = async (email: string): Promise<[number, unknown]> => {
      for (let asked = 0; asked < 10; asked += 1) {
        const answer = await ask(email, 'often');
        if (answer.status !== 202) return [asked, { ...answer.body, requestId: null }];
      }
      throw new Error('never refused');
    };
    const [known, unknown] = [await refusedAfter(person.email), await refusedAfter('nobody@often.example')];
    expect(known).toEqual(unknown);
    expect(known[0]).toBe(5);
    const sent = await waitFor(
      async () => {
        const mails = await mailsTo(person.email);
        return mails.length >= known[0] && mails;
      },
      { what: 'a mail for every code that was not refused' },
    );
    expect(sent).toHaveLength(5);
  });

  test('asking for many addresses from one network is refused', async () => {
    const statuses: number[] = [];
    for (let asked = 0; asked < 32; asked += 1) {
      statuses.push((await ask(`person${asked}@many.example`, 'many')).status);
    }
    expect(statuses.filter((status) => status === 202)).toHaveLength(30);
    expect(statuses.slice(-2)).toEqual([429, 429]);
  });
});
