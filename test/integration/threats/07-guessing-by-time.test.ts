/**
 * What a refusal says is the same for what is another's and what nobody has; here, that it takes as long too. Both are
 * asked for in turns, so that whatever else the machine does slows down both.
 */
import { hashPassword } from '../../../src/domain/password';
import { comingFrom, joinStack, request, text, type Answer, type Harness, type TestOrg } from '../../support/harness';
import { startLossyApi } from '../../support/lossy-api';
import { commandOn } from '../../support/stand-ins/lossy-line';
import { newClient, newPerson } from '../auth/portal-support';
import { newUser } from '../auth/support';

/** A lookup that only one of the two makes, or a password that is hashed for one only, is far outside. */
const RATIO_MAX = 1.35;
/** A leak is there each time; what a busy machine does is not. */
const TRIES = 4;

let harness: Harness;
let owner: TestOrg;
let stranger: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  [owner, stranger] = [await harness.newOrg(), await harness.newOrg()];
});
afterAll(() => harness.close());

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

type Ask = (turn: number) => Promise<Answer>;

async function timed(ask: Ask, turn: number, status: number): Promise<number> {
  const startedAt = performance.now();
  const answer = await ask(turn);
  const took = performance.now() - startedAt;
  expect(answer.status).toBe(status);
  return took;
}

/** How much longer the one takes than the other, whichever it is. */
async function difference(sides: { one: Ask; other: Ask }, { turns, status }: { turns: number; status: number }) {
  const times = { one: [] as number[], other: [] as number[] };
  for (let turn = 0; turn < turns; turn += 1) {
    const order = turn % 2 === 0 ? (['one', 'other'] as const) : (['other', 'one'] as const);
    for (const side of order) times[side].push(await timed(sides[side], turn, status));
  }
  const ratio = median(times.one) / median(times.other);
  return Math.max(ratio, 1 / ratio);
}

async function expectSameTime(
  sides: { one: Ask; other: Ask },
  { turns, status }: { turns: number; status: number },
): Promise<void> {
  const seen: number[] = [];
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const ratio = await difference(sides, { turns, status });
    if (ratio <= RATIO_MAX) return;
    seen.push(ratio);
  }
  throw new Error(`one takes ${seen.map((ratio) => ratio.toFixed(2)).join(', ')} times as long as the other`);
}

test.each([
  ['GET', undefined],
  ['PATCH', { subject: 'Mine now' }],
  ['DELETE', undefined],
] as const)('%s of another tenant’s ticket and of one that nobody has', async (method, body) => {
  const { body: ticket } = await owner.call('POST', '/psa/api/tickets', { subject: 'Theirs' });
  const foreign = text(ticket['id']);
  const absent = `${foreign.slice(0, -1)}${foreign.endsWith('0') ? '1' : '0'}`;
  const ask = (id: string) => () => stranger.call(method, `/psa/api/tickets/${id}`, body);
  await expectSameTime({ one: ask(foreign), other: ask(absent) }, { turns: 40, status: 404 });
});

test('a wrong password of somebody, and any password of nobody', async () => {
  const passwordHash = await hashPassword('correct horse battery staple');
  const users = await Promise.all(Array.from({ length: 24 }, () => newUser(harness.store, owner.id, { passwordHash })));
  const from = comingFrom(7);
  const signIn = (email: string): Promise<Answer> =>
    request(harness.address.baseUrl, {
      method: 'POST',
      path: '/console/api/session',
      body: { email, password: 'wrong horse battery staple' },
      from,
    });
  await expectSameTime(
    {
      one: (turn) => signIn(users[turn % users.length]?.email ?? ''),
      other: (turn) => signIn(`nobody-${turn}@test.example`),
    },
    { turns: users.length, status: 401 },
  );
  await from.close();
});

test('a sign-in code for a client user, and for an address that is none', async () => {
  const make = async (path: string, body: unknown): Promise<string> =>
    text((await owner.call('POST', path, body)).body['id']);
  const companyId = await make('/psa/api/companies', { name: 'Reyes Ltd' });
  const people = await Promise.all(
    Array.from({ length: 12 }, async (_unused, index) => {
      const email = `timed${index}@${companyId.toLowerCase().replace('_', '-')}.example`;
      const contact = { firstName: 'Timed', lastName: 'Reyes', email, companyId };
      const contactId = await make('/psa/api/contacts', contact);
      await make('/portal/api/client-users', { email, companyId, contactId, role: 'requester' });
      return email;
    }),
  );
  // An address may ask for thirty codes in a quarter of an hour, so each round comes from another one. Its connections
  // stay open: opening one takes longer than the work that is compared.
  const places: ReturnType<typeof comingFrom>[] = [];
  let asked = 0;
  const askFor = (email: string): Promise<Answer> => {
    const place = Math.floor(asked / 25);
    asked += 1;
    const from = (places[place] ??= comingFrom(100 + place));
    const sent = { method: 'POST', path: '/portal/api/sign-in', body: { tenant: owner.id, email }, from };
    return request(harness.address.baseUrl, sent);
  };
  await expectSameTime(
    {
      one: (turn) => askFor(people[turn % people.length] ?? ''),
      other: (turn) => askFor(`nobody${turn}@elsewhere.example`),
    },
    { turns: people.length, status: 202 },
  );
  await Promise.all(places.map((from) => from.close()));
});

test('the answer about a sign-in code waits for the same record, whoever has the address', async () => {
  const api = await startLossyApi();
  const { email } = await newPerson(api.org, await newClient(api.org, 'Reyes Ltd'));
  const from = comingFrom(9);
  for (const asked of [email, 'nobody@elsewhere.example']) {
    const body = { tenant: api.org.id, email: asked };
    const ask = () => request(api.baseUrl, { method: 'POST', path: '/portal/api/sign-in', body, from });
    const before = api.line.lost();
    api.line.refuse(commandOn('portal_sign_in_codes', 'insert'));
    expect([asked, (await ask()).status, api.line.lost() - before]).toEqual([asked, 503, 1]);
    expect((await ask()).status).toBe(202);
  }
  await from.close();
  await api.stop();
});
