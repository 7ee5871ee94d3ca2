/** Lists: every filter, every order, and pages that neither repeat nor lose a row while the data changes. */
import { array, assert, asyncProperty, constantFrom, integer, nat, record as shape } from 'fast-check';
import { sortFields } from '../../../src/resources/filters';
import { tickets } from '../../../src/resources/tickets';
import { documentsOf, toDocument } from '../../../src/store/resource-documents';
import { countQuery, openQuery, pageQueries, type PageRequest } from '../../../src/store/resource-pages';
import type { AnyRecord } from '../../../src/resources/resource';
import { inOrder } from '../../support/list-model';
import { startDesk, type Answer, type Desk } from './desk';

let desk: Desk;
beforeAll(async () => {
  desk = await startDesk();
});
afterAll(() => desk.stop());

const itemsOf = (answer: Answer): AnyRecord[] => answer.body['items'] as AnyRecord[];
const subjects = (answer: Answer): string[] => itemsOf(answer).map((item) => String(item['subject']));
const get = (path: string, org = 'org_lists') => desk.call('GET', path, { org });

/** Rows that arrive during a walk; more than one a page for ever would never let it end. */
const ARRIVALS_MAX = 12;
const MOMENT = Date.parse('2026-11-01T00:00:00.000Z');

/** Rows with many equal sort values and many nulls: what keyset paging gets wrong when it is wrong. */
function row(index: number): AnyRecord {
  const at = new Date(MOMENT + Math.floor(index / 4) * 1_000).toISOString();
  return {
    id: `tkt_${String((index * 7_919) % 100_003).padStart(8, '0')}`,
    version: 1,
    number: 1_001 + index,
    subject: `Subject ${index % 5}`,
    description: null,
    status: ['new', 'open', 'closed'][index % 3],
    priority: ['low', 'medium', 'high', 'critical'][index % 4],
    boardId: null,
    companyId: index % 6 === 0 ? null : `cmp_${index % 3}`,
    contactId: null,
    assigneeId: null,
    source: 'api',
    escalationLevel: index % 4,
    dueAt: index % 2 === 0 ? null : new Date(MOMENT + (index % 10) * 60_000).toISOString(),
    slaStatus: 'ok',
    resolvedAt: null,
    closedAt: null,
    tags: index % 5 === 0 ? [] : ['vip', `t${index % 3}`],
    externalRefs: [],
    customFields: {},
    createdAt: at,
    updatedAt: at,
    createdBy: 'key_x',
    deletedAt: null,
  };
}

async function store(org: string, records: AnyRecord[]): Promise<void> {
  await documentsOf(desk.store, tickets).collection.insertMany(
    records.map((record) => toDocument(tickets, org, record)) as never,
  );
}

const ROWS = Array.from({ length: 120 }, (_, index) => row(index));
beforeAll(() =>
  store(
    'org_lists',
    ROWS.map((record) => ({ ...record, id: `${record.id}L` })),
  ),
);

describe('200', () => {
  test('a list is newest first, fifty rows, and says whether there is more', async () => {
    const answer = await get('/psa/api/tickets');
    expect(answer.body).toMatchObject({ limit: 50, hasMore: true, continuationToken: expect.any(String) as string });
    const created = itemsOf(answer).map((item) => item.createdAt);
    expect(created).toEqual(created.toSorted().toReversed());
  });

  test('values that are chosen from a few come in the order in which the documents list them', async () => {
    const order = async (query: string, name: string): Promise<unknown[]> => [
      ...new Set(itemsOf(await get(`/psa/api/tickets?limit=200&${query}`)).map((item) => item[name])),
    ];
    const rising = await order('orderBy=priority&orderDirection=asc', 'priority');
    expect(rising).toEqual(['low', 'medium', 'high', 'critical']);
    expect(await order('orderBy=priority', 'priority')).toEqual(rising.toReversed());
    expect(await order('orderBy=status&orderDirection=asc', 'status')).toEqual(['new', 'open', 'closed']);
    expect(await order('orderBy=priority&priority=high,low', 'priority')).toEqual(['high', 'low']);
  });

  test('a limit above 200 is answered with 200 and says so', async () => {
    expect((await get('/psa/api/tickets?limit=5000')).body).toMatchObject({
      limit: 200,
      hasMore: false,
      continuationToken: null,
    });
  });

  test.each([
    ['status=open', 40],
    ['status=open,new', 80],
    ['status.ne=open', 80],
    ['status.in=open', 40],
    ['status.nin=open,new', 40],
    ['number=1001', 1],
    ['number.in=1001,1002', 2],
    ['number.gte=1111', 10],
    ['number.gt=1111&number.lt=1113', 1],
    ['escalationLevel.lte=0', 30],
    ['dueAt.exists=false', 60],
    ['dueAt.exists=true', 60],
    ['dueAt.gt=2026-11-01T00:05:00Z', 24],
    ['dueAt.gt=2026-11-01T01:05:00%2B01:00', 24],
    ['companyId=cmp_1', 40],
    ['companyId=cmp_1,cmp_2', 80],
    ['companyId.exists=false', 20],
    ['tags=vip', 96],
    ['tags.nin=t0,t1', 56],
    ['tags.exists=false', 24],
    ['createdAt.lt=2026-11-01T00:00:01.000Z', 4],
    ['status=open&priority=low&escalationLevel=0', 10],
  ])('%s finds %i', async (query, count) => {
    expect(itemsOf(await get(`/psa/api/tickets?limit=200&${query}`))).toHaveLength(count);
    expect((await get(`/psa/api/tickets/count?${query}`)).body).toEqual({ count, capped: false });
  });

  test('startsWith is about the beginning and takes every character as it is', async () => {
    for (const sku of ['MDR-1', 'MDR-2', 'mdr-3', 'M.R-4', 'MDR😀']) {
      await desk.call('POST', '/psa/api/service-catalog', { org: 'org_lists', body: { sku, name: sku, unitPrice: 1 } });
    }
    const found = async (text: string) =>
      itemsOf(await get(`/psa/api/service-catalog?sku.startsWith=${encodeURIComponent(text)}`)).length;
    expect([
      await found('MDR'),
      await found('MDR-'),
      await found('M.'),
      await found('.*'),
      await found('MDR😀'),
    ]).toEqual([3, 2, 1, 0, 1]);
  });

  test('a list is ordered by any of its sort fields', async () => {
    const answer = await get('/psa/api/tickets?orderBy=subject&orderDirection=asc&limit=200');
    expect(subjects(answer)).toEqual([...subjects(answer)].sort());
  });
});

describe('count', () => {
  test('a count has a tag and answers 304 while it stays the same', async () => {
    const first = await get('/psa/api/tickets/count');
    expect(first.body).toEqual({ count: ROWS.length, capped: false });
    const headers = { 'if-none-match': String(first.headers.get('etag')) };
    expect(await desk.call('GET', '/psa/api/tickets/count', { org: 'org_lists', headers })).toMatchObject({
      status: 304,
    });
  });

  test('nothing of another tenant and nothing that was deleted is counted', async () => {
    const { body } = await desk.call('POST', '/psa/api/boards', { org: 'org_counts', body: { name: 'One' } });
    expect((await get('/psa/api/boards/count', 'org_counts')).body).toEqual({ count: 1, capped: false });
    expect((await get('/psa/api/boards/count', 'org_none')).body).toEqual({ count: 0, capped: false });
    await desk.call('DELETE', `/psa/api/boards/${String(body['id'])}`, { org: 'org_counts' });
    expect((await get('/psa/api/boards/count', 'org_counts')).body).toEqual({ count: 0, capped: false });
  });

  test.each(['limit=5', 'orderBy=createdAt', 'statsu=open', 'status=opne'])('%s is refused', async (query) => {
    expect(await get(`/psa/api/tickets/count?${query}`)).toMatchObject({ status: 400 });
  });

  test('its path is no record id, whatever the method', async () => {
    const answer = await desk.call('DELETE', '/psa/api/tickets/count', { org: 'org_lists' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('400', () => {
  test.each([
    ['limit=0', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=ten', 'limit'],
    ['statsu=open', 'statsu'],
    ['status=opne', 'status'],
    ['status.gte=open', 'status.gte'],
    ['number=many', 'number'],
    ['number.in=1,x', 'number.in'],
    ['companyId=a b', 'companyId'],
    ['dueAt.gt=yesterday', 'dueAt.gt'],
    ['orderBy=description', 'orderBy'],
    ['orderDirection=DESC', 'orderDirection'],
    ['status=open&status=new', 'status'],
    ['continuationToken=', 'continuationToken'],
    ['dueAt.exists=maybe', 'dueAt.exists'],
  ])('%s is refused and named', async (query, path) => {
    const { status, body } = await get(`/psa/api/tickets?${query}`);
    expect({ status, code: body['code'] }).toEqual({ status: 400, code: 'VALIDATION_FAILED' });
    expect((body['details'] as { errors: { path: string }[] }).errors.map((error) => error.path)).toContain(path);
  });

  test('a misspelt filter never lists everything, and the right one is suggested', async () => {
    const { body } = await get('/psa/api/tickets?statsu=open');
    expect((body['details'] as { errors: unknown[] }).errors).toEqual([
      expect.objectContaining({ suggestion: 'status' }),
    ]);
  });

  test('eleven filters are one too many', async () => {
    const many = [
      'number.gt=1',
      'number.lt=9',
      'status=open',
      'priority=low',
      'source=api',
      'companyId=a',
      'contactId=a',
      'assigneeId=a',
      'boardId=a',
      'tags=a',
      'slaStatus=ok',
    ];
    expect(await get(`/psa/api/tickets?${many.join('&')}`)).toMatchObject({ status: 400 });
    expect(await get(`/psa/api/tickets?${many.slice(1).join('&')}`)).toMatchObject({ status: 200 });
  });

  test('a token opens only the list, the order, the filters and the tenant it was made for', async () => {
    const first = await get('/psa/api/tickets?status=open&limit=5');
    const token = encodeURIComponent(String(first.body['continuationToken']));
    expect(await get(`/psa/api/tickets?status=open&limit=9&continuationToken=${token}`)).toMatchObject({ status: 200 });
    const refused = { status: 400, body: { code: 'INVALID_CONTINUATION_TOKEN' } };
    for (const path of [
      `/psa/api/tickets?continuationToken=${token}`,
      `/psa/api/tickets?status=new&continuationToken=${token}`,
      `/psa/api/tickets?status=open&orderDirection=asc&continuationToken=${token}`,
      `/psa/api/tickets?status=open&orderBy=number&continuationToken=${token}`,
      `/psa/api/boards?continuationToken=${token}`,
      '/psa/api/tickets?status=open&continuationToken=k1.AAAA',
    ]) {
      expect(await get(path)).toMatchObject(refused);
    }
    expect(await get(`/psa/api/tickets?status=open&continuationToken=${token}`, 'org_two')).toMatchObject(refused);
  });
});

describe('paging', () => {
  async function walk(query: string, org: string, between: (page: number) => Promise<void>): Promise<string[]> {
    const seen: string[] = [];
    let token: string | null = null;
    for (let page = 0; page < 100; page += 1) {
      const answer = await get(
        `/psa/api/tickets?${query}${token ? `&continuationToken=${encodeURIComponent(token)}` : ''}`,
        org,
      );
      expect(answer.status).toBe(200);
      seen.push(...itemsOf(answer).map((item) => item.id));
      expect(answer.body['hasMore']).toBe(answer.body['continuationToken'] !== null);
      token = answer.body['continuationToken'] as string | null;
      if (!token) return seen;
      await between(page);
    }
    throw new Error('the walk did not end');
  }

  const sorts = [...sortFields(tickets).keys()];
  const order = shape({
    orderBy: constantFrom(...sorts),
    direction: constantFrom('asc', 'desc'),
    limit: integer({ min: 1, max: 17 }),
  });

  test('every row that stays is seen exactly once and in order, while others come and go', async () => {
    let round = 0;
    await assert(
      asyncProperty(order, array(nat(39), { maxLength: 8 }), async ({ orderBy, direction, limit }, leaving) => {
        round += 1;
        const org = `org_walk_${round}`;
        const stable = Array.from({ length: 40 }, (_, index) => row(index)).map((record) => ({
          ...record,
          id: `${record.id}W${round}`,
        }));
        await store(org, stable);
        const gone = new Set(leaving.map((index) => stable[index]?.id ?? ''));
        const query = `orderBy=${orderBy}&orderDirection=${direction}&limit=${limit}`;
        const seen = await walk(query, org, async (page) => {
          const [leaver] = [...gone].slice(page, page + 1);
          if (leaver) await desk.call('DELETE', `/psa/api/tickets/${leaver}`, { org });
          if (page < ARRIVALS_MAX) await store(org, [{ ...row(page), id: `tkt_new${page}R${round}` }]);
        });
        const rows = seen.filter((id) => !gone.has(id) && !id.startsWith('tkt_new'));
        const kept = stable.filter(({ id }) => rows.includes(id)).sort(inOrder(tickets, { orderBy, direction }));
        const expected = stable.filter(({ id }) => !gone.has(id)).map(({ id }) => id);
        expect(new Set(seen).size).toBe(seen.length);
        expect([...rows].sort()).toEqual([...expected].sort());
        expect(rows).toEqual(kept.map(({ id }) => id));
      }),
      { numRuns: 24, endOnFailure: true },
    );
  }, 120_000);
});

describe('plans', () => {
  /** So many rows that a plan that reads them all is no longer the cheaper one by accident. */
  const PLAN_ROWS = 16_000;
  const BATCH = 4_000;
  const place = { row: tickets, tenantId: 'org_plans' };
  const planRow = (index: number): AnyRecord => {
    const at = new Date(MOMENT + index * 700).toISOString();
    return { ...row(index), id: `tkt_${String(index).padStart(6, '0')}P`, createdAt: at, updatedAt: at };
  };
  const middle = planRow(PLAN_ROWS / 2 + 1);
  const sorts = [...sortFields(tickets).keys()];
  const positions = (name: string) => [
    null,
    { value: null, id: middle.id },
    { value: middle[name] as string, id: middle.id },
    { value: middle[name] as string, id: middle.id, isTied: true as const },
  ];

  beforeAll(async () => {
    for (let from = 0; from < PLAN_ROWS; from += BATCH) {
      await store(
        'org_plans',
        Array.from({ length: BATCH }, (_, index) => planRow(from + index)),
      );
    }
  });

  async function plansOf(page: PageRequest): Promise<string[]> {
    const plans = pageQueries(place, page).map((query) =>
      openQuery(desk.store, tickets, query).explain('queryPlanner'),
    );
    return (await Promise.all(plans)).map((plan) => JSON.stringify(plan));
  }
  const SORT = /"(Node Type|stage)":"(Incremental )?sort"/i;

  test.each(sorts)(
    'no page of a list ordered by %s is sorted in memory, with tombstones or without',
    async (orderBy) => {
      for (const direction of ['asc', 'desc'] as const) {
        for (const after of positions(orderBy)) {
          for (const deletedAfter of [null, new Date(MOMENT)]) {
            for (const plan of await plansOf({ filters: [], orderBy, direction, after, limit: 51, deletedAfter })) {
              expect(plan).toContain(`by_${orderBy}`);
              expect(plan).not.toMatch(SORT);
            }
          }
        }
      }
    },
  );

  const nullable = new Set([...sortFields(tickets)].filter(([, { isNullable }]) => isNullable).map(([name]) => name));
  const BOUNDS = /"indexBounds":.{0,600}/s;

  test.each(sorts)('a page from the midst of equal values in %s begins at its place in the index', async (orderBy) => {
    const values = [middle[orderBy] as string, ...(nullable.has(orderBy) ? [null] : [])];
    for (const direction of ['asc', 'desc'] as const) {
      for (const value of values) {
        const after = { value, id: middle.id, isTied: true as const };
        const [first = ''] = await plansOf({ filters: [], orderBy, direction, after, limit: 51, deletedAfter: null });
        const bounds = BOUNDS.exec(first)?.[0];
        expect(bounds).toContain(middle.id);
        expect(bounds).not.toContain('MinKey');
      }
    }
  });

  test.each(tickets.lists)('a list with one value for %s is read from its own index, in order', async (name) => {
    const filters = [{ field: name, operator: 'eq' as const, values: [(middle[name] ?? 'x') as string] }];
    for (const after of positions('createdAt').filter((position) => position?.value !== null)) {
      const page = { filters, orderBy: 'createdAt', direction: 'desc' as const, after, limit: 51, deletedAfter: null };
      const [plan = ''] = await plansOf(page);
      expect(plan).toContain(`${name}_by_createdAt`);
      expect(plan).not.toMatch(SORT);
    }
  });

  test('a list of one number goes straight to it, whatever its order', async () => {
    const filters = [{ field: 'number', operator: 'eq' as const, values: [middle['number'] as number] }];
    for (const orderBy of ['createdAt', 'subject', 'dueAt']) {
      for (const after of positions(orderBy)) {
        const page = { filters, orderBy, direction: 'desc' as const, after, limit: 51, deletedAfter: null };
        for (const plan of await plansOf(page)) {
          expect(plan).toContain('by_number');
          expect(plan).not.toMatch(SORT);
        }
      }
    }
  });

  test('a count ends at ten thousand and walks the index its list would use', async () => {
    expect((await get('/psa/api/tickets/count', place.tenantId)).body).toEqual({ count: 10_000, capped: true });
    const filters = [{ field: 'priority', operator: 'eq' as const, values: ['low'] }];
    const plan = JSON.stringify(await countQuery(desk.store, place, { filters, limit: 10 }).explain());
    expect(plan).toContain('priority_by_createdAt');
    expect((await get('/psa/api/tickets/count?priority=low', place.tenantId)).body).toEqual({
      count: PLAN_ROWS / 4,
      capped: false,
    });
  });
});
