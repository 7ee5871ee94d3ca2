/** Custom fields and external references: kept with any record, merged, told of by events and filtered by. */
import { tickets } from '../../../src/resources/tickets';
import { openQuery, pageQueries } from '../../../src/store/resource-pages';
import { startDesk, type Answer, type Desk } from './desk';

let desk: Desk;
beforeAll(async () => {
  desk = await startDesk();
});
afterAll(() => desk.stop());

const call = (method: string, path: string, body?: unknown, org = 'org_custom') =>
  desk.call(method, path, { org, ...(body === undefined ? {} : { body }) });
const rules = (answer: Answer) => (answer.body['details'] as { errors: { rule: string; path: string }[] }).errors;

async function create(customFields: object, more: object = {}): Promise<string> {
  const answer = await call('POST', '/psa/api/tickets', { subject: 'x', customFields, ...more });
  expect(answer.status).toBe(201);
  return String(answer.body['id']);
}
const fieldsOf = async (id: string) => (await call('GET', `/psa/api/tickets/${id}`)).body['customFields'];
const patch = (id: string, customFields: unknown) => call('PATCH', `/psa/api/tickets/${id}`, { customFields });

describe('200', () => {
  test('a change merges key by key, null removes, and the event tells it', async () => {
    const id = await create({ region: 'north', seats: 12, vip: true, none: null });
    expect(await fieldsOf(id)).toEqual({ region: 'north', seats: 12, vip: true });
    desk.takeEvents();
    const answer = await patch(id, { seats: 13.5, vip: null, contract: 'C-1' });
    expect(answer).toMatchObject({ status: 200, body: { version: 2 } });
    expect(await fieldsOf(id)).toEqual({ region: 'north', seats: 13.5, contract: 'C-1' });
    expect(desk.takeEvents()).toMatchObject([
      {
        event_type: 'ticket.updated',
        payload: {
          changed: ['custom_fields'],
          custom_fields: { region: 'north', seats: 13.5, contract: 'C-1' },
          previous: { custom_fields: { region: 'north', seats: 12, vip: true } },
        },
      },
    ]);
    expect((await patch(id, { region: 'north', gone: null })).body).toMatchObject({ version: 2 });
  });

  test('keys changed at the same time all take effect', async () => {
    const id = await create({});
    const writers = Array.from({ length: 24 }, (_unused, index) => index);
    const answers = await Promise.all(writers.map((index) => patch(id, { [`key${index}`]: index })));
    expect(answers.map(({ status }) => status)).toEqual(writers.map(() => 200));
    expect(await fieldsOf(id)).toEqual(Object.fromEntries(writers.map((index) => [`key${index}`, index])));
  });

  test('a record takes fifty, and not one more', async () => {
    const many = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${from + index}`, index]));
    const id = await create(many(0, 50));
    const refused = await patch(id, { one: 1 });
    expect([refused.status, rules(refused)]).toMatchObject([400, [{ path: '/customFields', rule: 'maxProperties' }]]);
    expect((await patch(id, { one: 1, k0: null })).status).toBe(200);
    expect((await call('POST', '/psa/api/tickets', { subject: 'x', customFields: many(0, 51) })).status).toBe(400);
  });
});

describe('lists', () => {
  beforeAll(async () => {
    await create({ plan: 'gold', seats: 5, code: '7', live: true });
    await create({ plan: 'silver', seats: 10, code: 7, live: false });
    await create({ plan: 'go,ld', seats: '10', note: '*' });
    await call('POST', '/psa/api/tickets', { subject: 'x', customFields: { plan: 'gold' } }, 'org_other');
  });

  test.each([
    ['cf.plan=gold', 1],
    ['cf.plan=go,ld', 1],
    ['cf.plan.in=gold,silver', 2],
    ['cf.plan.startsWith=go', 2],
    ['cf.plan.exists=true&cf.plan.ne=gold', 2],
    ['cf.plan.exists=true&cf.plan.nin=gold,silver', 1],
    ['cf.seats=10', 2],
    ['cf.plan.exists=true&cf.seats.gt=5', 1],
    ['cf.plan.exists=true&cf.seats.gte=5&cf.seats.lt=10', 1],
    ['cf.plan.gte=go&cf.plan.lt=gp', 2],
    ['cf.code=7', 2],
    ['cf.live=true', 1],
    ['cf.note=*', 1],
    ['cf.plan=gold&status=new', 1],
    ['cf.nothing=x', 0],
    ['cf.nothing.exists=false&cf.plan.exists=true', 3],
  ])('%s finds %i', async (query, count) => {
    expect((await call('GET', `/psa/api/tickets?${query}`)).body['items']).toHaveLength(count);
    expect((await call('GET', `/psa/api/tickets/count?${query}`)).body).toEqual({ count, capped: false });
  });

  test('records with a name in one system are found by the system', async () => {
    const id = await create({}, { externalRefs: [{ system: 'halo', id: '1' }] });
    await create({}, { externalRefs: [{ system: 'halopsa', id: '1' }] });
    const found = (await call('GET', '/psa/api/tickets?externalRefs.system=halo')).body['items'];
    expect(found).toMatchObject([{ id }]);
  });

  test('a token belongs to the custom fields it was made with', async () => {
    const first = await call('GET', '/psa/api/tickets?cf.plan.exists=true&limit=1');
    const token = encodeURIComponent(String(first.body['continuationToken']));
    const again = (query: string) => call('GET', `/psa/api/tickets?${query}&limit=1&continuationToken=${token}`);
    expect((await again('cf.plan.exists=true')).status).toBe(200);
    expect((await again('cf.seats.exists=true')).status).toBe(400);
  });

  test('no index is claimed for them, so a list that looks at too much is ended by the store', async () => {
    const filters = [{ field: 'customFields.plan', operator: 'in' as const, values: ['gold'] }];
    const page = {
      filters,
      orderBy: 'createdAt',
      direction: 'asc' as const,
      after: null,
      limit: 9,
      deletedAfter: null,
    };
    const queries = pageQueries({ row: tickets, tenantId: 'org_custom' }, page);
    for (const query of queries) {
      const plan = await openQuery(desk.store, tickets, query).explain('queryPlanner');
      expect(JSON.stringify(plan)).toContain('by_createdAt');
    }
    expect(queries.map(({ options }) => options.maxTimeMS)).toEqual([2_000]);
  });
});

describe('400', () => {
  test.each([
    [{ $ne: 1 }],
    [{ 'a.b': 1 }],
    [{ constructor: 1 }],
    [{ prototype: 1 }],
    [JSON.parse('{"__proto__": {"polluted": true}}')],
    [JSON.parse('{"__proto__": 1}')],
    [{ a: { $gt: '' } }],
    [{ a: [1] }],
    [{ a: 'x'.repeat(1_001) }],
    [{ ['k'.repeat(42)]: 1 }],
    [{ '': 1 }],
    [null],
    [[]],
  ])('%j is refused by create and change', async (customFields) => {
    const id = await create({});
    const path = expect.stringMatching(/^\/customFields/) as unknown;
    for (const refused of [
      await call('POST', '/psa/api/tickets', { subject: 'x', customFields: customFields as unknown }),
      await patch(id, customFields),
    ])
      expect([refused.status, rules(refused)[0] as unknown]).toMatchObject([400, { path }]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test.each([
    'cf.=1',
    'cf.$where=1',
    'cf.a.b=1',
    'cf.a.regex=1',
    'cf.__proto__=1',
    'cf.constructor=1',
    'cf.constructor.ne=1',
    'cf.a.exists=maybe',
    'cf.a=',
    'cf=1',
    'externalRefs.system=a:b',
  ])('%s is refused', async (query) => {
    const refused = await call('GET', `/psa/api/tickets?${query}`);
    expect([refused.status, refused.body['code']]).toEqual([400, 'VALIDATION_FAILED']);
  });

  test('they count as filters', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `cf.k${index}=1`).join('&');
    expect((await call('GET', `/psa/api/tickets?${many(10)}`)).status).toBe(200);
    expect((await call('GET', `/psa/api/tickets?${many(11)}`)).status).toBe(400);
  });
});
