/** Every row of the registry at every address, on the whole product: what is declared is what is served. */
import { productRoutes } from '../../../src/contracts/operations/products';
import { derivedId } from '../../../src/domain/ids';
import type { Field } from '../../../src/resources/field';
import { eventEntriesOf } from '../../../src/resources/events';
import { sortFields } from '../../../src/resources/filters';
import { RESOURCES, resourceOf } from '../../../src/resources/registry';
import type { AnyRecord, Product, Resource } from '../../../src/resources/resource';
import { exampleId } from '../../../src/resources/rules';
import { joinStack, text, waitFor, type Answer, type Harness, type TestOrg } from '../../support/harness';

let harness: Harness;
let org: TestOrg;
let stranger: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  await renewOrgs();
});
afterAll(() => harness.close());

/** For each address anew: what is tried here altogether is more than one key may send. */
async function renewOrgs(): Promise<void> {
  [org, stranger] = await Promise.all([harness.newOrg(), harness.newOrg()]);
}

type Values = Record<string, unknown>;

const addressOf = (row: Resource, product: Product = row.products[0]): string => `/${product}/api/${row.path}`;
const addresses = RESOURCES.flatMap((row) =>
  row.products.map((product) => ({ path: addressOf(row, product), row, product })),
);

const recordIn = (answer: Answer): AnyRecord => answer.body as unknown as AnyRecord;
const itemsIn = (answer: Answer): AnyRecord[] => answer.body['items'] as unknown as AnyRecord[];
const detailsIn = (answer: Answer): Values => answer.body['details'] as unknown as Values;
const tagOf = (answer: Answer): string => String(answer.headers.get('etag'));

/** The row's own example, with records that exist wherever it names one. */
async function bodyOf(row: Resource, more: Values = {}): Promise<Values> {
  const body: Values = { ...row.examples.create, ...more };
  for (const name of Object.keys(body)) {
    const target = row.fields[name]?.traits.target;
    if (target) body[name] = (await create(resourceOf(target))).id;
  }
  return body;
}

async function create(row: Resource, more: Values = {}): Promise<AnyRecord> {
  const answer = await org.call('POST', addressOf(row), await bodyOf(row, more));
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return recordIn(answer);
}

type Kind = 'create' | 'update' | 'delete' | 'restore';

const logged = (id: string): Promise<Answer> => org.call('GET', `/agents/api/event-log/${id}`);

/** The events a change is declared to emit are in the log with what the catalog says; the others are not. */
async function expectEvents(row: Resource, kind: Kind, before: AnyRecord, after: AnyRecord): Promise<void> {
  for (const entry of eventEntriesOf(row)) {
    const rule = row.events[entry.event_type.slice(row.singular.length + 1)];
    if (rule?.on !== kind) continue;
    const id = derivedId('evt', after.id, after.version, entry.event_type);
    if (rule.when && !rule.when(before, after)) {
      expect({ type: entry.event_type, status: (await logged(id)).status }).toEqual({
        type: entry.event_type,
        status: 404,
      });
      continue;
    }
    const found = await waitFor(
      async () => {
        const answer = await logged(id);
        return answer.status === 200 && answer.body;
      },
      { what: `${entry.event_type} of ${after.id}` },
    );
    expect(found).toMatchObject({ event_type: entry.event_type, source_product: row.eventProduct });
    expect(Object.keys(found['payload'] ?? {}).toSorted()).toEqual(Object.keys(entry.sample_payload).toSorted());
  }
}

/** A query that finds the record by one field, and one that does not. */
function queriesFor(name: string, declared: Field, value: unknown): { finds: string[]; misses: string[] } {
  if (value === null) return { finds: [`${name}.exists=false`], misses: [`${name}.exists=true`] };
  const { kind } = declared.traits;
  if (kind === 'strings' && (value as string[]).length === 0)
    return { finds: [`${name}.exists=false`], misses: [`${name}.exists=true`] };
  const [first] = [value].flat() as (string | number | boolean)[];
  const one = encodeURIComponent(String(first));
  const ranges = ['integer', 'datetime', 'date'].includes(kind)
    ? { finds: [`${name}.gte=${one}`, `${name}.lte=${one}`], misses: [`${name}.gt=${one}&${name}.lt=${one}`] }
    : { finds: [], misses: [] };
  return { finds: [`${name}=${one}`, ...ranges.finds], misses: [`${name}.ne=${one}`, ...ranges.misses] };
}

/** Another value of the same type. */
function otherThan({ traits: { kind, schema } }: Field, value: unknown): unknown {
  if (kind === 'integer') return Number(value) + 1;
  if (kind === 'choice') return (schema['enum'] as string[]).find((choice) => choice !== value);
  if (schema['pattern'] === '^[A-Z]{3}$') return 'CHF';
  if (kind === 'datetime') return '2026-01-01T00:00:00.000Z';
  return kind === 'id' ? exampleId('xyz') : '+1 555 0123';
}

describe.each(addresses)('$path', ({ path, row, product }) => {
  let created: Answer;
  let record: AnyRecord;
  let body: Values;
  beforeAll(async () => {
    await renewOrgs();
    const more = { externalRefs: [{ system: 'halo', id: `${path}/1` }], customFields: { site: path } };
    body = { ...(await bodyOf(row)), ...more };
    created = await org.call('POST', path, body);
    record = recordIn(created);
  });
  const at = (id: string): string => `${path}/${id}`;

  test('its own example makes a record, at the address the reply names, and the events of a create', async () => {
    expect([created.status, created.text]).toEqual([201, expect.any(String)]);
    expect(record).toMatchObject({ ...body, version: 1, createdBy: expect.stringMatching(/^key_/) as unknown });
    expect(record.id).toMatch(new RegExp(`^${row.prefix}_`));
    expect(Object.keys(record)).toEqual(expect.arrayContaining(Object.keys(row.fields)));
    expect(created.headers.get('location')).toBe(at(record.id));
    await expectEvents(row, 'create', record, record);
  });

  test('it is read with an entity tag, and 304 while that is known', async () => {
    const answer = await org.call('GET', at(record.id));
    expect([answer.status, recordIn(answer)]).toEqual([200, record]);
    expect(tagOf(answer)).toBe(tagOf(created));
    const again = await org.call('GET', at(record.id), undefined, { 'if-none-match': tagOf(answer) });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  test('lists find it by every filterable field and no other value', async () => {
    const has = async (query: string) => {
      const answer = await org.call('GET', `${path}?limit=200&${query}`);
      expect([query, answer.status, answer.text]).toEqual([query, 200, expect.any(String)]);
      const counted = await org.call('GET', `${path}/count?${query}`);
      expect([query, counted.body]).toEqual([query, { count: itemsIn(answer).length, capped: false }]);
      return { query, has: itemsIn(answer).some(({ id }) => id === record.id) };
    };
    const filterable = Object.entries(row.fields).filter(([, { traits }]) => traits.isFilterable);
    for (const [name, declared] of filterable) {
      const { finds, misses } = queriesFor(name, declared, record[name]);
      for (const query of finds) expect(await has(query)).toEqual({ query, has: true });
      for (const query of misses) expect(await has(query)).toEqual({ query, has: false });
    }
    expect(await has(`externalRefs=${encodeURIComponent(`halo:${path}/1`)}`)).toMatchObject({ has: true });
    expect(await has('externalRefs.system=halo')).toMatchObject({ has: true });
    expect(await has(`cf.site=${encodeURIComponent(path)}`)).toMatchObject({ has: true });
    expect(await has('cf.site.exists=false')).toMatchObject({ has: false });
  });

  test('lists are ordered by every sortable field, either way', async () => {
    for (const orderBy of sortFields(row).keys()) {
      const read = async (direction: string) =>
        itemsIn(await org.call('GET', `${path}?limit=200&orderBy=${orderBy}&orderDirection=${direction}`)).map(
          ({ id }) => id,
        );
      const ascending = await read('asc');
      expect({ orderBy, ids: ascending }).toEqual({ orderBy, ids: expect.arrayContaining([record.id]) as unknown });
      expect({ orderBy, ids: await read('desc') }).toEqual({ orderBy, ids: ascending.toReversed() });
    }
    const refused = await org.call('GET', `${path}?orderBy=externalRefs`);
    expect([refused.status, text(refused.body['code'])]).toEqual([400, 'VALIDATION_FAILED']);
  });

  test('a batch answers it once, and names what does not exist', async () => {
    const answer = await org.call('POST', `${path}/batch`, { ids: [record.id, 'zz', record.id] });
    expect([answer.status, answer.body]).toEqual([200, { items: [record], missing: ['zz'] }]);
  });

  test('another tenant has no such record, and cannot name those it refers to', async () => {
    expect((await stranger.call('GET', at(record.id))).status).toBe(404);
    expect((await stranger.call('PATCH', at(record.id), row.examples.update)).status).toBe(404);
    expect((await stranger.call('DELETE', at(record.id))).status).toBe(404);
    expect((await stranger.call('POST', `${path}/batch`, { ids: [record.id] })).body).toEqual({
      items: [],
      missing: [record.id],
    });
    expect(itemsIn(await stranger.call('GET', path))).toEqual([]);
    expect((await stranger.call('GET', `${path}/count`)).body).toEqual({ count: 0, capped: false });
    const names = Object.keys(body).filter((name) => row.fields[name]?.traits.target);
    if (names.length === 0) return;
    const refused = await stranger.call('POST', path, body);
    expect([refused.status, detailsIn(refused)]).toMatchObject([400, { errors: names.map(() => ({ rule: 'ref' })) }]);
  });

  test('a key without the scope of the product is refused everything', async () => {
    const other = await harness.newOrg({ scopes: product === 'psa' ? ['CRM', 'Agents'] : ['PSA', 'Agents'] });
    const routes = productRoutes.filter(({ resource, operation }) => resource === row && operation.service === product);
    expect(routes).toHaveLength(8 + Object.keys(row.actions).length + (row.isSingleton ? 2 : 0));
    const bodies: Values = {
      create: body,
      update: row.examples.update,
      updateCurrent: body,
      batchGet: { ids: [record.id] },
    };
    for (const { action, act = '', operation } of routes) {
      const sent = action === 'act' ? row.actions[act]?.example : bodies[action];
      const answer = await other.call(operation.method, `/${product}${operation.path.replace(':id', record.id)}`, sent);
      expect([action, answer.status, text(answer.body['code'])]).toEqual([action, 403, 'INSUFFICIENT_SCOPE']);
    }
  });

  test('its own example changes it, unless the version is not the one that was read', async () => {
    const stale = { 'if-match': `W/"${record.id}.9"` };
    const refused = await org.call('PATCH', at(record.id), row.examples.update, stale);
    expect([refused.status, refused.headers.get('etag')]).toEqual([412, tagOf(created)]);
    const answer = await org.call('PATCH', at(record.id), row.examples.update, { 'if-match': tagOf(created) });
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    const after = recordIn(answer);
    expect(after).toMatchObject({ ...row.examples.update, version: 2, createdAt: record.createdAt });
    await expectEvents(row, 'update', record, after);
    const late = { 'if-match': tagOf(created) };
    expect((await org.call('PATCH', at(record.id), row.examples.update, late)).status).toBe(412);
    expect((await org.call('DELETE', at(record.id), undefined, late)).status).toBe(412);
    record = after;
  });

  test('once deleted it is gone from every read', async () => {
    // What its rule keeps in this state is refused, and shown in write-rules.test.ts.
    if (row.kept(recordIn(await org.call('GET', at(record.id)))) !== null) {
      expect((await org.call('DELETE', at(record.id))).status).toBe(409);
      record = await create(row, { externalRefs: [{ system: 'halo', id: `${path}/2` }] });
    }
    expect((await org.call('DELETE', at(record.id))).status).toBe(204);
    for (const method of ['GET', 'DELETE']) expect((await org.call(method, at(record.id))).status).toBe(404);
    expect((await org.call('PATCH', at(record.id), row.examples.update)).status).toBe(404);
    expect((await org.call('POST', `${path}/batch`, { ids: [record.id] })).body).toEqual({
      items: [],
      missing: [record.id],
    });
    await expectEvents(row, 'delete', record, { ...record, version: record.version + 1 });
  });

  test('lists that ask for tombstones tell that it was deleted, and no others', async () => {
    const query = `${path}?orderBy=updatedAt&limit=200`;
    const find = async (more: string) =>
      itemsIn(await org.call('GET', `${query}${more}`)).find(({ id }) => id === record.id);
    expect(await find('')).toBeUndefined();
    const found = await find('&includeDeleted=true');
    const at = found?.['deletedAt'];
    expect(found).toEqual({ id: record.id, version: record.version + 1, updatedAt: at, deletedAt: at });
    expect(itemsIn(await stranger.call('GET', `${query}&includeDeleted=true`))).toEqual([]);
  });

  test('it is restored as it was, by its tenant alone', async () => {
    const foreign = await stranger.call('POST', `${at(record.id)}/restore`);
    const absent = await stranger.call('POST', `${at(`${row.prefix}_none`)}/restore`);
    expect([foreign.status, absent.status]).toEqual([404, 404]);
    expect({ ...foreign.body, requestId: null }).toEqual({ ...absent.body, requestId: null });
    const answer = await org.call('POST', `${at(record.id)}/restore`);
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    const after = recordIn(answer);
    expect(after).toEqual({ ...record, version: record.version + 2, updatedAt: after.updatedAt });
    expect(recordIn(await org.call('GET', at(record.id)))).toEqual(after);
    const [name] = record.externalRefs.map(({ system, id }) => encodeURIComponent(`${system}:${id}`));
    expect(itemsIn(await org.call('GET', `${path}?externalRefs=${name}`))).toEqual([after]);
    await expectEvents(row, 'restore', record, after);
  });
});

const fixed = RESOURCES.flatMap((row) =>
  Object.entries(row.fields)
    .filter(([, { traits }]) => traits.isFixed)
    .map(([name, declared]) => ({ row, name, declared, title: `${row.key}.${name}` })),
);
test.each(fixed)('$title is said once', async ({ row, name, declared }) => {
  const record = await create(row);
  const patch = (value: unknown) => org.call('PATCH', `${addressOf(row)}/${record.id}`, { [name]: value });
  const refused = await patch(otherThan(declared, record[name]));
  expect([refused.status, detailsIn(refused)]).toMatchObject([409, { fields: [name] }]);
  expect((await patch(record[name])).status).toBe(200);
});

const ends = RESOURCES.flatMap((row) =>
  Object.keys(row.states?.from ?? {})
    // States that no create and no patch reach by themselves are shown in write-rules.test.ts.
    .filter((state) => row.states?.initial?.includes(state) ?? !row.fields[row.states?.field ?? '']?.traits.isServerSet)
    .map((state) => ({ row, state, title: `${row.key} that are ${state}` })),
);
test.each(ends)('$title go only where they may', async ({ row, state }) => {
  const name = row.states?.field ?? '';
  const record = await create(row, { [name]: state });
  const allowed = row.states?.from[state]?.(record, new Date()) ?? [];
  const values = row.fields[name]?.traits.schema['enum'] as string[];
  const patch = (to: string) => org.call('PATCH', `${addressOf(row)}/${record.id}`, { [name]: to });
  for (const to of values.filter((value) => value !== state && !allowed.includes(value))) {
    const refused = await patch(to);
    expect([to, refused.status, detailsIn(refused)]).toMatchObject([to, 409, { from: state, to, allowed }]);
  }
  if (allowed[0]) expect((await patch(allowed[0])).status).toBe(200);
});

test('a critical detection pages the service desk by the agent that ships with the product', async () => {
  const detection = await create(resourceOf('detections'));
  const id = derivedId('evt', detection.id, 1, 'detection.created');
  const entry = await waitFor(async () => {
    const answer = await logged(id);
    return answer.status === 200 && answer.body;
  });
  expect(entry).toMatchObject({ payload: { hostname: 'SRV-FILE-01', action_taken: 'none' } });
  expect(entry['outcomes']).toContainEqual(
    expect.objectContaining({ agent_name: 'Critical alert pager', outcome: 'started' }),
  );
});
