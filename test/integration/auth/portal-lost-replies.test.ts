/** The line to the store breaks under a sign-in to the portal: whoever holds the code still gets in by it, once. */
import { comingFrom, request, text, waitFor, type Answer } from '../../support/harness';
import { startLossyApi, type LossyApi } from '../../support/lossy-api';
import { commandOn } from '../../support/stand-ins/lossy-line';
import { newClient, newPerson, signedIn, standing, type Client, type Person } from './portal-support';

const NETWORK = 20_417;

let api: LossyApi;
let client: Client;
beforeAll(async () => {
  api = await startLossyApi();
  client = await newClient(api.org, 'Northwind');
});
afterAll(() => api.stop());

async function codeFor(email: string): Promise<string> {
  const from = comingFrom(NETWORK);
  const body = { email, tenant: api.org.id };
  const asked = await request(api.baseUrl, { method: 'POST', path: '/portal/api/sign-in', body, from });
  await from.close();
  expect(asked.status).toBe(202);
  return waitFor(
    async () => {
      const reply = await fetch(`${api.harness.address.inboxUrl}.json`);
      const { messages } = (await reply.json()) as { messages: { to: string[]; text: string }[] };
      const mail = messages.find(({ to }) => to.includes(email));
      return /^([A-Za-z0-9_-]{43})$/m.exec(mail?.text ?? '')?.[1];
    },
    { what: `a mail to ${email}` },
  );
}

/** Someone whose record nothing is written to any more: otherwise that write would be the one that is lost. */
async function quiet<Someone extends { id: string }>(person: Someone): Promise<Someone> {
  const users = api.harness.store.connection.collection('portal_client_users');
  await waitFor(async () => {
    const record = await users.findOne({ _id: person.id } as never);
    return record !== null && !('ob' in record);
  });
  return person;
}

const signedInAndQuiet = async (): Promise<Person> => quiet(await signedIn(api.org, await newPerson(api.org, client)));

const redeem = (code: string): Promise<Answer> =>
  request(api.baseUrl, { method: 'POST', path: '/portal/api/sessions', body: { code } });

// A person's record is also written to when its events have left, whosever it is: the write is told by the person.
test.each([
  ['using the code up', () => [commandOn('portal_sign_in_codes', 'findAndModify')]],
  ['noting the sign-in', ({ id }: { id: string }) => [commandOn('portal_client_users', 'update'), id]],
  ['opening the session', ({ id }: { id: string }) => [commandOn('portal_sessions', 'insert'), id]],
])('a code that was lost while %s opens one session when it is sent again', async (_when, write) => {
  const person = await quiet(await newPerson(api.org, client));
  const code = await codeFor(person.email);
  const before = api.line.lost();
  api.line.loseReplyTo(...write(person));
  const first = await redeem(code);
  expect([first.status, api.line.lost() - before]).toEqual([503, 1]);
  const again = await Promise.all([redeem(code), redeem(code), redeem(code)]);
  expect(again.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([201, 401, 401]);
  const entered = again.find(({ status }) => status === 201);
  expect(await standing(api.baseUrl, text(entered?.body['token']))).toBe('200');
  expect((await redeem(code)).status).toBe(401);
});

test.each([
  ['suspension', 'PATCH', { status: 'suspended' }],
  ['deletion', 'DELETE', undefined],
])(
  'the %s of a client user that nobody answered is felt by open sessions on every process',
  async (_what, method, body) => {
    const person = await signedInAndQuiet();
    const { baseUrl: elsewhere } = api.harness.address;
    expect(await standing(elsewhere, person.token)).toBe('200');
    api.line.loseReplyTo(commandOn('portal_client_users', 'update'), person.id);
    expect((await api.org.call(method, `/portal/api/client-users/${person.id}`, body)).status).toBe(503);
    await waitFor(async () => (await standing(elsewhere, person.token)).startsWith('401'), { timeoutMs: 5_000 });
  },
);

test('a client user whose deletion nobody answered comes back without the sessions of before', async () => {
  const person = await signedInAndQuiet();
  const path = `/portal/api/client-users/${person.id}`;
  api.line.loseReplyTo(commandOn('portal_client_users', 'update'), person.id);
  expect((await api.org.call('DELETE', path)).status).toBe(503);
  expect((await api.org.call('DELETE', path)).status).toBe(404);
  expect((await api.org.call('POST', `${path}/restore`)).status).toBe(200);
  expect(await standing(api.baseUrl, person.token)).toBe('401 revoked');
  const again = await signedIn(api.org, person);
  expect((await api.org.call('POST', `${path}/restore`)).status).toBe(200);
  expect(await standing(api.baseUrl, again.token)).toBe('200');
});
