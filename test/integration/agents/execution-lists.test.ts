/** The executions list: filters, page sizes, and cursors that show every execution exactly once. */
import { executions } from '../../../src/store/executions';
import { joinStack, list, text, type Body, type Harness, type TestOrg } from '../../support/harness';
import { expectRefusal, get, pastExecution, storeExecutions } from './support';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

const START = Date.parse('2026-11-01T08:00:00.000Z');
const at = (minute: number): Date => new Date(START + minute * 60_000);
const idsOf = (body: Body): string[] => list(body['executions']).map((execution) => text(execution['id']));

/** Newest first, and by id where two were created in the same millisecond. */
const newestFirst = (records: { _id: string; created_at: Date }[]): string[] =>
  records
    .toSorted((one, other) => other.created_at.getTime() - one.created_at.getTime() || (one._id < other._id ? 1 : -1))
    .map(({ _id: id }) => id);

async function walk(org: TestOrg, query: string, parameter = 'cursor'): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor = '';
  for (let page = 0; page < 200; page += 1) {
    const { status, body } = await get(org, `/executions?${query}${cursor && `&${parameter}=${cursor}`}`);
    expect(status).toBe(200);
    pages.push(idsOf(body));
    cursor = text(body['next_cursor']);
    if (!cursor) break;
  }
  return pages;
}

describe('filters', () => {
  let org: TestOrg;
  const statuses = ['completed', 'failed', 'cancelled'] as const;
  const records = (orgId: string) =>
    Array.from({ length: 12 }, (_unused, index) =>
      pastExecution(orgId, `evt_${index}`, {
        created_at: at(index),
        agent_id: index % 2 === 0 ? 'agt_even' : 'agt_odd',
        status: statuses[index % 3] ?? 'completed',
      }),
    );
  let stored: ReturnType<typeof records>;
  beforeAll(async () => {
    org = await harness.newOrg();
    stored = records(org.id);
    await storeExecutions(harness.store, stored);
  });

  const cases: [string, (minute: number) => boolean][] = [
    ['', () => true],
    ['agent_id=agt_even', (index) => index % 2 === 0],
    ['agent_id=agt_nobody', () => false],
    ['status=failed', (index) => index % 3 === 1],
    ['status=pending', () => false],
    ['status=cancelled&agent_id=agt_odd', (index) => index % 3 === 2 && index % 2 === 1],
    [`from=${at(5).toISOString()}`, (index) => index >= 5],
    [`to=${at(5).toISOString()}`, (index) => index <= 5],
    [`from=${at(3).toISOString()}&to=${at(6).toISOString()}`, (index) => index >= 3 && index <= 6],
    [`from=${at(6).toISOString()}&to=${at(3).toISOString()}`, () => false],
    ['from=2026-11-01T08:05:00Z', (index) => index >= 5],
    ['from=2026-11-01T09:05:00%2B01:00', (index) => index >= 5],
    ['from=2026-11-01', () => true],
    ['from=2026-11-02', () => false],
    ['to=2026-11-01', () => true],
    ['to=2026-10-31', () => false],
    [`status=completed&from=${at(1).toISOString()}`, (index) => index % 3 === 0 && index >= 1],
    ['event_id=evt_7', (index) => index === 7],
  ];
  test.each(cases)('?%s', async (query, holds) => {
    const expected = newestFirst(stored.filter((_record, index) => holds(index)));
    const { status, body } = await get(org, `/executions?${query}`);
    expect([status, idsOf(body), body['total']]).toEqual([200, expected, expected.length]);
    expect(body['next_cursor']).toBeNull();
    // The same filter, page by page.
    expect((await walk(org, `limit=2&${query}`)).flat()).toEqual(expected);
  });
});

describe('page sizes', () => {
  let org: TestOrg;
  beforeAll(async () => {
    org = await harness.newOrg();
    const records = Array.from({ length: 230 }, (_unused, index) =>
      pastExecution(org.id, `evt_${index}`, { created_at: at(index) }),
    );
    await storeExecutions(harness.store, records);
  });

  test.each([
    ['', 50],
    ['limit=1', 1],
    ['limit=199', 199],
    ['limit=200', 200],
    ['limit=201', 200],
    ['limit=100000', 200],
  ])('?%s answers %d executions and echoes the size', async (query, size) => {
    const { status, body } = await get(org, `/executions?${query}`);
    expect([status, idsOf(body).length, body['limit'], body['total']]).toEqual([200, size, size, 230]);
    expect(body['next_cursor']).toEqual(expect.any(String));
  });

  test('beyond 10 000 the total says that it is an estimate, and the pages still are exact', async () => {
    const large = await harness.newOrg();
    for (let batch = 0; batch < 11; batch += 1)
      await storeExecutions(
        harness.store,
        Array.from({ length: batch < 10 ? 1_000 : 1 }, (_unused, index) =>
          pastExecution(large.id, `evt_${batch}_${index}`, { created_at: at(batch * 1_000 + index) }),
        ),
      );
    const { body } = await get(large, '/executions?limit=3');
    expect(body).toMatchObject({ total: 10_000, total_is_estimate: true });
    expect(idsOf(body)).toHaveLength(3);
    const exact = await get(large, `/executions?to=${at(9_999).toISOString()}`);
    expect(exact.body['total']).toBe(10_000);
    expect(exact.body).not.toHaveProperty('total_is_estimate');
  });

  test.each(['0', '-1', 'abc', '1.5', '', 'null', '1,2'])('limit=%s is refused', async (limit) => {
    const answer = await get(org, `/executions?limit=${limit}`);
    expectRefusal(answer, 400, 'validation_error');
    expect(answer.body['details']).toEqual([expect.objectContaining({ path: 'limit' })]);
  });
});

describe('cursors', () => {
  let org: TestOrg;
  let expected: string[];
  beforeAll(async () => {
    org = await harness.newOrg();
    // Seven executions in each millisecond: pages end in the middle of a tie.
    const records = Array.from({ length: 120 }, (_unused, index) =>
      pastExecution(org.id, `evt_${index}`, {
        created_at: new Date(START + Math.floor(index / 7)),
        status: index % 2 === 0 ? 'completed' : 'failed',
      }),
    );
    await storeExecutions(harness.store, records);
    expected = newestFirst(records);
  });

  test.each([1, 3, 7, 50, 119, 120, 200])('a walk by %d shows each execution once, newest first', async (limit) => {
    const pages = await walk(org, `limit=${limit}`);
    expect(pages.flat()).toEqual(expected);
    expect(pages.every((page, index) => page.length === limit || index === pages.length - 1)).toBe(true);
    expect(pages.at(-1)).not.toEqual([]);
  });

  test('the page size may change on the way, and next_cursor is taken as a parameter too', async () => {
    const first = await get(org, '/executions?limit=10');
    const rest = await get(org, `/executions?limit=200&next_cursor=${text(first.body['next_cursor'])}`);
    expect([...idsOf(first.body), ...idsOf(rest.body)]).toEqual(expected);
    expect((await walk(org, 'limit=40', 'next_cursor')).flat()).toEqual(expected);
  });

  test('executions that come during a walk neither repeat nor hide others', async () => {
    const other = await harness.newOrg();
    const records = Array.from({ length: 9 }, (_unused, index) =>
      pastExecution(other.id, `evt_${index}`, { created_at: at(index) }),
    );
    await storeExecutions(harness.store, records);
    const first = await get(other, '/executions?limit=5');
    await storeExecutions(harness.store, [pastExecution(other.id, 'evt_new', { created_at: at(20) })]);
    const second = await get(other, `/executions?limit=5&cursor=${text(first.body['next_cursor'])}`);
    expect([...idsOf(first.body), ...idsOf(second.body)]).toEqual(newestFirst(records));
    // One that goes away does not shift the rest.
    await executions.in(harness.store).deleteOne({ _id: idsOf(first.body)[4] ?? '' });
    const again = await get(other, `/executions?limit=5&cursor=${text(first.body['next_cursor'])}`);
    expect(idsOf(again.body)).toEqual(idsOf(second.body));
  });

  test('the order in which filters are written does not matter', async () => {
    const first = await get(org, `/executions?limit=5&status=failed&from=${at(-1).toISOString()}`);
    const cursor = text(first.body['next_cursor']);
    const second = await get(org, `/executions?from=${at(-1).toISOString()}&cursor=${cursor}&status=failed&limit=5`);
    expect(second.status).toBe(200);
    const both = await get(org, `/executions?limit=5&agent_id=agt_past&status=failed`);
    const swapped = await get(
      org,
      `/executions?status=failed&agent_id=agt_past&limit=5&cursor=${text(both.body['next_cursor'])}`,
    );
    expect([swapped.status, idsOf(swapped.body)]).toEqual([200, idsOf(second.body)]);
  });

  test('a cursor of another filter, another list or another org is refused', async () => {
    const other = await harness.newOrg();
    const { body } = await get(org, '/executions?limit=5&status=failed');
    const cursor = text(body['next_cursor']);
    for (const path of [
      `/executions?cursor=${cursor}`,
      `/executions?status=completed&cursor=${cursor}`,
      `/executions?status=failed&agent_id=agt_past&cursor=${cursor}`,
      `/executions?status=failed&from=${at(0).toISOString()}&cursor=${cursor}`,
      `/approvals?cursor=${cursor}`,
    ])
      expectRefusal(await get(org, path), 400, 'invalid_cursor');
    expectRefusal(await get(other, `/executions?status=failed&cursor=${cursor}`), 400, 'invalid_cursor');
    expect((await get(org, `/executions?status=failed&cursor=${cursor}`)).status).toBe(200);
  });

  test('a cursor nobody gave out is refused', async () => {
    const { body } = await get(org, '/executions?limit=5');
    const cursor = text(body['next_cursor']);
    const changed = `${cursor.slice(0, -2)}${cursor.endsWith('A') ? 'BB' : 'AA'}`;
    for (const made of [changed, cursor.slice(0, 20), 'abc', 'k1.', 'k2.AAAA', '..', '%00', '🙂'])
      expectRefusal(await get(org, `/executions?cursor=${encodeURIComponent(made)}`), 400, 'invalid_cursor');
    expectRefusal(await get(org, `/executions?cursor=${'a'.repeat(1_001)}`), 400, 'validation_error');
  });
});
