/** A session is made anew at every sign-in, and its cookie is worth nothing on any process once it was ended. */
import { hashPassword } from '../../../src/domain/password';
import { joinStack, request, text, type Answer, type Harness } from '../../support/harness';
import { startApi } from '../../support/stack';
import { newTenant, newUser } from '../auth/support';

const PASSWORD = 'correct horse battery staple';
const SESSION = '/console/api/session';

let harness: Harness;
let second: Awaited<ReturnType<typeof startApi>>;
let email: string;
let orgId: string;
beforeAll(async () => {
  harness = joinStack();
  second = await startApi(harness.address);
  orgId = await newTenant(harness.store);
  email = (await newUser(harness.store, orgId, { passwordHash: await hashPassword(PASSWORD) })).email;
});
afterAll(async () => {
  await second.api.stop();
  await harness.close();
});

const cookieOf = (answer: Answer): string => (answer.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
const signIn = (headers: Record<string, string> = {}): Promise<Answer> =>
  request(harness.address.baseUrl, { method: 'POST', path: SESSION, body: { email, password: PASSWORD }, headers });
const read = (baseUrl: string, cookie: string): Promise<Answer> =>
  request(baseUrl, { method: 'GET', path: SESSION, headers: { cookie } });
const sessions = () => harness.store.connection.collection('sessions').find({ orgId }).toArray();

test('signing in never takes up a session that the browser brought along', async () => {
  const planted = cookieOf(await signIn());
  const opened = await signIn({ cookie: planted });
  expect(opened.status).toBe(200);
  expect(cookieOf(opened)).not.toBe(planted);
  const made = await sessions();
  expect(new Set(made.map(({ _id }) => String(_id))).size).toBe(2);
  const tokens = [planted, cookieOf(opened)].map((cookie) => cookie.split('=')[1]?.split('.')[1] ?? '');
  const [one, other] = tokens.map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as { sid: string });
  expect(one?.sid).not.toBe(other?.sid);
  // A name that somebody else chose is no session either.
  const invented = await signIn({ cookie: 'session=chosen-by-somebody-else' });
  expect(cookieOf(invented)).not.toContain('chosen-by-somebody-else');
});

test('a stolen cookie ends with its session, on every process', async () => {
  const opened = await signIn();
  const cookie = cookieOf(opened);
  const processes = [harness.address.baseUrl, second.baseUrl];
  expect(await Promise.all(processes.map(async (url) => (await read(url, cookie)).status))).toEqual([200, 200]);
  const headers = { cookie, 'x-csrf-token': text(opened.body['csrfToken']) };
  const ended = await request(second.baseUrl, { method: 'DELETE', path: SESSION, headers });
  expect(ended.status).toBe(204);
  for (const url of processes) expect((await read(url, cookie)).status).toBe(401);
});

test('scripts cannot read the cookie, and other sites cannot send it along', async () => {
  expect((await signIn()).headers.get('set-cookie')).toMatch(/; Path=\/; HttpOnly; SameSite=Lax$/);
});
