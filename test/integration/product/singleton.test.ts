/** What a tenant has once: defaults before it is set, one record after, whoever sets it first and however often. */
import { randomUUID } from 'node:crypto';
import { derivedId } from '../../../src/domain/ids';
import { joinStack, list, text, waitFor, type Answer, type Harness, type TestOrg } from '../../support/harness';
import { callWith, newClient, newPerson, signedIn } from '../auth/portal-support';

const PATH = '/portal/api/portal-settings';
const CURRENT = `${PATH}/current`;
const first = { brandName: 'Signal Services', supportEmail: 'help@signal.example' };

let harness: Harness;
let org: TestOrg;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());
beforeEach(async () => {
  org = await harness.newOrg();
});

const patch = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  org.call('PATCH', CURRENT, body, headers);
const tagOf = (answer: Answer): string => String(answer.headers.get('etag'));
const codeOf = ({ body }: Answer): string => text(body['code']);
const countOf = async (): Promise<unknown> => (await org.call('GET', `${PATH}/count`)).body['count'];

async function told(id: string, version: number): Promise<unknown> {
  const event = derivedId('evt', id, version, 'portal_settings.updated');
  const entry = await waitFor(async () => {
    const answer = await org.call('GET', `/agents/api/event-log/${event}`);
    return answer.status === 200 && answer.body;
  });
  return entry['payload'];
}

test('while nothing was set it is read as defaults with version 0, and reading makes nothing', async () => {
  const answer = await org.call('GET', CURRENT);
  expect([answer.status, answer.body]).toEqual([
    200,
    {
      id: null,
      version: 0,
      brandName: null,
      supportEmail: null,
      primaryColor: null,
      logoUrl: null,
      allowTicketCreation: true,
      allowInvoicePayment: false,
      ssoRequired: false,
      announcement: null,
      externalRefs: [],
      customFields: {},
      createdAt: null,
      updatedAt: null,
      createdBy: null,
      deletedAt: null,
    },
  ]);
  const again = await org.call('GET', CURRENT, undefined, { 'if-none-match': tagOf(answer) });
  expect([again.status, again.text, await countOf()]).toEqual([304, '', 0]);
  const stranger = await harness.newOrg();
  expect(tagOf(await stranger.call('GET', CURRENT))).not.toBe(tagOf(answer));
});

test('the first change makes it and must bring what it cannot be without; the next one changes it', async () => {
  const bare = await patch({ announcement: 'Closed on Thursday' });
  expect([bare.status, codeOf(bare), bare.text]).toEqual([
    400,
    'VALIDATION_FAILED',
    expect.stringContaining('/brandName') as unknown,
  ]);
  expect(await countOf()).toBe(0);
  const made = await patch(first);
  const id = text(made.body['id']);
  expect([made.status, made.body]).toMatchObject([200, { ...first, version: 1, allowTicketCreation: true }]);
  expect((await org.call('GET', CURRENT)).text).toBe((await org.call('GET', `${PATH}/${id}`)).text);
  const changed = await patch({ allowTicketCreation: false });
  expect(changed.body).toMatchObject({ id, ...first, version: 2, allowTicketCreation: false });
  expect(await countOf()).toBe(1);
  expect(await told(id, 1)).toMatchObject({
    changed: expect.arrayContaining(['brand_name', 'support_email']) as unknown,
    previous: { brand_name: null, support_email: null },
    brand_name: 'Signal Services',
  });
  expect(await told(id, 2)).toMatchObject({
    changed: ['allow_ticket_creation'],
    previous: { allow_ticket_creation: true },
  });
});

test('a condition holds from the defaults on', async () => {
  const defaults = tagOf(await org.call('GET', CURRENT));
  const refused = await patch(first, { 'if-match': 'W/"pst_somebody.1"' });
  expect([refused.status, tagOf(refused), await countOf()]).toEqual([412, defaults, 0]);
  const made = await patch(first, { 'if-match': defaults });
  expect(made.status).toBe(200);
  const late = await patch({ brandName: 'Other' }, { 'if-match': defaults });
  expect([late.status, tagOf(late)]).toEqual([412, tagOf(made)]);
  expect((await patch({ brandName: 'Other' }, { 'if-match': tagOf(made) })).status).toBe(200);
});

test('of many first changes at once one makes the record and the others change it', async () => {
  const colours = ['#111111', '#222222', '#333333', '#444444', '#555555', '#666666'];
  const answers = await Promise.all(colours.map((primaryColor) => patch({ ...first, primaryColor })));
  expect(answers.map(({ status }) => status)).toEqual(colours.map(() => 200));
  expect(new Set(answers.map(({ body }) => text(body['id']))).size).toBe(1);
  expect(answers.map(({ body }) => Number(body['version'])).toSorted((one, other) => one - other)).toEqual([
    1, 2, 3, 4, 5, 6,
  ]);
  expect(list((await org.call('GET', PATH)).body['items'])).toHaveLength(1);
});

test('of many creates at once one wins; the others are told which, and where to change it', async () => {
  const answers = await Promise.all(Array.from({ length: 5 }, () => org.call('POST', PATH, first)));
  expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([201, 409, 409, 409, 409]);
  const id = text(answers.find(({ status }) => status === 201)?.body['id']);
  for (const refused of answers.filter(({ status }) => status === 409)) {
    expect(codeOf(refused)).toBe('CONFLICT');
    expect(refused.body['details']).toMatchObject({ id, current: CURRENT });
    expect(refused.text).toContain(`PATCH ${CURRENT}`);
  }
  expect(await countOf()).toBe(1);
  expect(await told(id, 1)).toMatchObject({ brand_name: 'Signal Services' });
});

test('a repeat by its key has one effect and one answer', async () => {
  const key = { 'idempotency-key': randomUUID() };
  const [made, again] = [await patch(first, key), await patch(first, key)];
  expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([200, made.text, 'true']);
  expect((await org.call('GET', CURRENT)).body).toMatchObject({ version: 1 });
});

test('deleting goes back to the defaults, and a restore does not make a second one', async () => {
  const old = text((await patch(first)).body['id']);
  expect((await org.call('DELETE', `${PATH}/${old}`)).status).toBe(204);
  expect((await org.call('GET', CURRENT)).body).toMatchObject({ id: null, version: 0 });
  const made = text((await patch({ brandName: 'New house' })).body['id']);
  expect(made).not.toBe(old);
  const refused = await org.call('POST', `${PATH}/${old}/restore`);
  expect([refused.status, refused.body['details'] as unknown]).toMatchObject([409, { id: made }]);
  await org.call('DELETE', `${PATH}/${made}`);
  const both = await Promise.all([old, made].map((id) => org.call('POST', `${PATH}/${id}/restore`)));
  expect(both.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 409]);
  expect(await countOf()).toBe(1);
  expect((await patch({ brandName: 'Still one' })).status).toBe(200);
});

test('a client user reads what is in force, defaults included, and changes nothing', async () => {
  const { token } = await signedIn(org, await newPerson(org, await newClient(org, 'Northwind'), 'admin'));
  const call = (method: string, body?: unknown) =>
    callWith(harness.address.baseUrl, token, { method, path: CURRENT, ...(body ? { body } : {}) });
  expect((await call('GET')).body).toMatchObject({ id: null, version: 0, allowTicketCreation: true });
  await patch({ ...first, customFields: { contract: 'gold' } });
  const shown = await call('GET');
  expect(shown.body).toMatchObject({ ...first, version: 1 });
  expect(Object.keys(shown.body)).toEqual(expect.not.arrayContaining(['customFields', 'externalRefs', 'createdBy']));
  const refused = await call('PATCH', { brandName: 'Ours' });
  expect([refused.status, codeOf(refused)]).toEqual([403, 'PORTAL_NOT_ALLOWED']);
});
