/** Paging while the data changes: what stays where it is appears exactly once, in order, and the walk ends. */
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  integer,
  nat,
  record as shape,
  tuple,
  type Arbitrary,
} from 'fast-check';
import { newId } from '../../../src/domain/ids';
import { sortFields } from '../../../src/resources/filters';
import { RESOURCES } from '../../../src/resources/registry';
import type { AnyRecord, Resource } from '../../../src/resources/resource';
import { documentsOf, toDocument } from '../../../src/store/resource-documents';
import { changeResource, insertResource, removeResource, type Place } from '../../../src/store/resources';
import { valuesOfField } from '../../support/arbitraries';
import { joinStack, list, text, type Body, type Harness, type TestOrg } from '../../support/harness';
import { filters, inOrder, isListed, rowsOfEverySortKind, type Asked, type Kept } from '../../support/list-model';
import { PROPERTY_TIMEOUT_MS, served } from '../../support/properties';

let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());

const ROWS_MAX = 24;
const STEPS_MAX = 8;
const RUNS = 3;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Names what references name; lists do not look whether it exists. */
const NAMED = new Proxy({}, { get: () => ['ref_one', 'ref_two'] });

/** A value of each field is one of few, so that most rows tie with others; `picks` chooses which. */
type Picks = number[];

interface Action {
  act: 'insert' | 'change' | 'delete';
  at: number;
  picks: Picks;
}

interface Case {
  pools: unknown[][];
  rows: Picks[];
  limit: number;
  direction: 'asc' | 'desc';
  includeDeleted: boolean;
  filter: number;
  /** What happens while page n is read. */
  steps: Action[][];
}

const fieldsOf = (row: Resource) => Object.entries(row.fields);

function cases(row: Resource): Arbitrary<Case> {
  const picks = array(nat({ max: 11 }), { minLength: fieldsOf(row).length + 2, maxLength: fieldsOf(row).length + 2 });
  const pools = tuple(
    ...fieldsOf(row).map(([name, declared]) =>
      array(valuesOfField(row, name, declared, NAMED), { minLength: 2, maxLength: 3 }).map((values) =>
        declared.isNullable ? [...values, null] : values,
      ),
    ),
  );
  return shape({
    pools,
    rows: array(picks, { minLength: 4, maxLength: ROWS_MAX }),
    limit: integer({ min: 1, max: 7 }),
    direction: constantFrom('asc' as const, 'desc' as const),
    includeDeleted: boolean(),
    filter: nat({ max: 1_000 }),
    steps: array(
      array(shape({ act: constantFrom('insert', 'change', 'delete'), at: nat(), picks }), { maxLength: 3 }),
      {
        maxLength: STEPS_MAX,
      },
    ),
  });
}

const utc = (value: unknown, kind: string | undefined): unknown =>
  kind === 'datetime' && typeof value === 'string' ? new Date(value).toISOString() : value;

/** The data of one walk, and all that was ever true of it. */
class World {
  readonly versions = new Map<string, Kept>();
  readonly now = new Map<string, Kept>();
  private readonly moved = new Set<string>();
  private readonly begun = Date.now() - 60_000;
  private made = 0;

  readonly place: Place;
  private readonly pools: unknown[][];

  constructor(place: Place, pools: unknown[][]) {
    this.place = place;
    this.pools = pools;
  }

  /** A moment of the last minute; several records have the same one. */
  private moment(pick: number): string {
    return new Date(this.begun + pick * 1_000).toISOString();
  }

  private valuesOf(picks: Picks): Record<string, unknown> {
    return Object.fromEntries(
      fieldsOf(this.place.row).map(([name, { traits }], index) => {
        const pool = this.pools[index] ?? [];
        return [name, utc(pool[(picks[index] ?? 0) % pool.length], traits.kind)];
      }),
    );
  }

  recordFrom(picks: Picks): AnyRecord {
    this.made += 1;
    const [created = 0, updated = 0] = picks.slice(-2);
    return {
      // Ids come in no order that has to do with anything else.
      id: `${this.place.row.prefix}_${String((this.made * 7_919) % 100_003).padStart(6, '0')}${newId('x').slice(2, 6)}`,
      version: 1,
      ...this.valuesOf(picks),
      externalRefs: [],
      customFields: {},
      createdAt: this.moment(created),
      updatedAt: this.moment(created + updated),
      createdBy: 'key_x',
      deletedAt: null,
    };
  }

  note(kept: Kept): void {
    this.now.set(kept.record.id, kept);
    this.versions.set(`${kept.record.id}.${kept.record.version}`, kept);
  }

  /** Changed where the list looks: it may be met before, after, both or not at all. */
  noteMove(before: Kept, after: Kept, asked: Asked): void {
    const isSamePlace = inOrder(this.place.row, asked)(before.record, after.record) === 0;
    if (!isSamePlace || isListed(before, asked) !== isListed(after, asked)) this.moved.add(before.record.id);
    this.note(after);
  }

  /** Ids of records that the list shows and that stayed where they were. */
  stable(asked: Asked, begun: ReadonlySet<string>): string[] {
    return [...begun].filter((id) => {
      const kept = this.now.get(id);
      return !this.moved.has(id) && kept !== undefined && isListed(kept, asked);
    });
  }

  changed({ record }: Kept, picks: Picks): AnyRecord {
    const [, updated = 0] = picks.slice(-2);
    return {
      ...record,
      ...this.valuesOf(picks),
      version: record.version + 1,
      updatedAt: this.moment(20 + updated),
    };
  }
}

/** Rows as they are before the walk: some are tombstones, and some of those are too old to be told of. */
async function fill(world: World, rows: Picks[]): Promise<void> {
  const { row, tenantId } = world.place;
  const documents = rows.map((picks, index) => {
    const record = world.recordFrom(picks);
    const document = toDocument(row, tenantId, record);
    if (index % 5 !== 4) {
      world.note({ record, isDeleted: false });
      return document;
    }
    const isOld = index % 10 === 9;
    if (!isOld) world.note({ record, isDeleted: true });
    return { ...document, deletedAt: isOld ? new Date(Date.now() - 31 * DAY_MS) : new Date(record.updatedAt) };
  });
  await documentsOf(harness.store, row).collection.insertMany(documents as never);
}

async function perform(world: World, asked: Asked, { act, at, picks }: Action): Promise<void> {
  const { place } = world;
  if (act === 'insert') {
    const record = world.recordFrom(picks);
    world.note({ record, isDeleted: false });
    expect(await insertResource(harness.store, place, record, [])).toBe('written');
    return;
  }
  const living = [...world.now.values()].filter(({ isDeleted }) => !isDeleted);
  const kept = living[at % Math.max(1, living.length)];
  if (!kept) return;
  const before = kept.record;
  if (act === 'change') {
    const after = world.changed(kept, picks);
    world.noteMove(kept, { record: after, isDeleted: false }, asked);
    expect(await changeResource(harness.store, place, { before, after }, [])).toBe('written');
    return;
  }
  const moment = new Date(Date.now());
  const left = { ...before, version: before.version + 1, updatedAt: moment.toISOString() };
  world.noteMove(kept, { record: left, isDeleted: true }, asked);
  expect(await removeResource(harness.store, place, { before, at: moment }, [])).toBe('written');
}

const shownOf = ({ record, isDeleted }: Kept, item: Body): unknown =>
  isDeleted
    ? { id: record.id, version: record.version, updatedAt: record.updatedAt, deletedAt: text(item['updatedAt']) }
    : record;

/** Reads every page while the steps happen; answers what was shown, in order. */
async function walk(world: World, asked: Asked, { limit, steps }: Pick<Case, 'limit' | 'steps'>): Promise<Kept[]> {
  const { row } = world.place;
  const { orderBy, direction, includeDeleted, filter } = asked;
  const base = `/${row.products[0]}/api/${row.path}?limit=${limit}&orderBy=${orderBy}&orderDirection=${direction}`;
  const path = `${base}&includeDeleted=${includeDeleted}${filter.query}`;
  const seen: Kept[] = [];
  let token: string | null = null;
  const pagesMax = ROWS_MAX + STEPS_MAX * 3 + 2;
  for (let page = 0; page < pagesMax; page += 1) {
    const more: string = token === null ? '' : `&continuationToken=${encodeURIComponent(token)}`;
    const actions = async (): Promise<void> => {
      for (const action of steps[page] ?? []) await perform(world, asked, action);
    };
    const [answer] = await Promise.all([org.call('GET', `${path}${more}`), actions()]);
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    const items = list(answer.body['items']);
    const hasMore = answer.body['hasMore'] as unknown as boolean;
    expect(items.length).toBeLessThanOrEqual(limit);
    expect({ hasMore, hasToken: text(answer.body['continuationToken']) !== '' }).toEqual({
      hasMore,
      hasToken: hasMore,
    });
    if (hasMore) expect(items).toHaveLength(limit);
    for (const item of items) {
      const kept = world.versions.get(`${text(item['id'])}.${text(item['version'])}`);
      if (!kept) throw new Error(`never was: ${JSON.stringify(item)}`);
      expect(item).toEqual(shownOf(kept, item));
      expect({ item, isListed: isListed(kept, asked) }).toEqual({ item, isListed: true });
      seen.push(kept);
    }
    if (!hasMore) return seen;
    token = text(answer.body['continuationToken']);
  }
  throw new Error(`the walk did not end after ${pagesMax} pages`);
}

async function check(row: Resource, orderBy: string, one: Case): Promise<void> {
  const place = { row, tenantId: org.id };
  const world = new World(place, one.pools);
  try {
    await fill(world, one.rows);
    const samples = [...world.now.values()].map(({ record }) => record);
    const offered = filters(row, samples);
    const filter = offered[one.filter % offered.length] ?? offered[0];
    const asked: Asked = { orderBy, direction: one.direction, includeDeleted: one.includeDeleted, filter };
    const begun = new Set(world.now.keys());
    const seen = await walk(world, asked, one);
    const compare = inOrder(row, asked);
    const steps = seen.slice(1).map((kept, index) => compare(seen[index]?.record ?? kept.record, kept.record));
    expect(steps.filter((step) => step >= 0)).toEqual([]);
    const times = new Map<string, number>();
    for (const { record } of seen) times.set(record.id, (times.get(record.id) ?? 0) + 1);
    const stable = world.stable(asked, begun);
    expect(stable.map((id) => [id, times.get(id) ?? 0])).toEqual(stable.map((id) => [id, 1]));
  } finally {
    await documentsOf(harness.store, row).collection.deleteMany({ tenantId: org.id });
  }
}

const orders = rowsOfEverySortKind(RESOURCES).flatMap((row) =>
  [...sortFields(row)].map(([orderBy, { kind, isNullable }]) => ({
    row,
    orderBy,
    title: `${row.key} by ${orderBy}, ${kind}${isNullable ? ' or null' : ''}`,
  })),
);

test('the orders that are walked cover every kind of sort field', () => {
  const kinds = (rows: readonly Resource[]): Set<string> =>
    new Set(rows.flatMap((row) => [...sortFields(row).values()].map((sort) => JSON.stringify(sort))));
  expect(kinds(orders.map(({ row }) => row))).toEqual(kinds(RESOURCES));
});

test.each(orders)(
  '$title: what stays appears once, in order, whatever is written meanwhile',
  async ({ row, orderBy }) => {
    await assert(
      asyncProperty(cases(row), (one) => check(row, orderBy, one)),
      served<[Case]>(RUNS),
    );
  },
  PROPERTY_TIMEOUT_MS,
);
