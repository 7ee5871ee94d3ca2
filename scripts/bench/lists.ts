/** T10: lists of a tenant that has half of all rows, beside one findOne and beside the same list in a small database. */
import { createSealer } from '../../src/domain/sealed-token';
import { sortFields } from '../../src/resources/filters';
import { tickets } from '../../src/resources/tickets';
import { listResources, openQuery, pageQueries, type PageRequest } from '../../src/store/resource-pages';
import { median, rounded, spread, type Figure } from './figures';
import { inTurn, ratiosOf, turnsOf, type Shot, type Timed } from './http-load';
import { takingTurns, type HttpStage } from './http-stage';
import { finder, openDesk, placeOf, positionOf, shown, type Desk, type Side } from './list-sides';
import type { Log } from './seed-rows';
import { measureTotal } from './totals';

const TURNS = { blocks: 8, share: 0.4 };
const ORDER_TURNS = { blocks: 3, share: 0.08 };
const PAGE = 50;
const LIST_PATH = '/api/tickets';

/** A list that is measured. */
interface Case {
  name: string;
  isDeep: boolean;
  filters: PageRequest['filters'];
  query: string;
}

const OPEN: PageRequest['filters'] = [{ field: 'status', operator: 'eq', values: ['open'] }];
const CASES: Case[] = [
  { name: 'first page', isDeep: false, filters: [], query: '' },
  { name: 'page in the middle', isDeep: true, filters: [], query: '' },
  { name: 'first page of one status', isDeep: false, filters: OPEN, query: 'status=open&' },
  { name: 'page in the middle of one status', isDeep: true, filters: OPEN, query: 'status=open&' },
];

const pageOf = (side: Side, { filters, isDeep }: Case): PageRequest => ({
  filters,
  orderBy: 'createdAt',
  direction: 'desc',
  after: isDeep ? positionOf(side.middle, 'createdAt') : null,
  limit: PAGE + 1,
  deletedAfter: null,
});

/** Insists on a full page; an empty one would be quick. */
async function readPage(side: Side, page: PageRequest): Promise<void> {
  const found = await listResources(side.database.store, placeOf(side), page);
  if (found.length !== page.limit) throw new Error(`a page of ${found.length} instead of ${page.limit}`);
}

/** The address of a page; a deep one is reached with the token that the page before it would have given. */
function addressOf(desk: Desk, side: Side, one: Case): string {
  const { token } = desk.stage.config.secrets;
  const bound = [side.database.orgId, 'psa', LIST_PATH, one.filters, 'createdAt', 'desc', false];
  const sealed = createSealer(token).seal(positionOf(side.middle, 'createdAt'), bound, new Date());
  const deep = one.isDeep ? `continuationToken=${encodeURIComponent(sealed)}&` : '';
  return `/psa${LIST_PATH}?${one.query}${deep}limit=${PAGE}`;
}

function listRequest(desk: Desk, side: Side, one: Case): Shot {
  const path = addressOf(desk, side, one);
  return desk.stage.client.shot({ port: side.api.port, path, headers: takingTurns(side.keys), status: 200 });
}

type Measured = Record<'large' | 'small' | 'findOne', Timed>;

function figuresOf(name: string, sides: Measured): Figure[] {
  const p50 = (side: Timed): number => median(side.latencies);
  const figure = (what: string, of: Timed, value: number): Figure => ({
    budget: 'T10',
    name: `${name}, ${what}, p50`,
    unit: 'ms',
    ours: p50(sides.large),
    bare: p50(of),
    ratios: ratiosOf(sides.large, of),
    floor: { bound: 'at most', value, of: 'ratio' },
  });
  return [
    {
      ...figure('against findOne', sides.findOne, 3),
      more: { large: spread(sides.large), small: spread(sides.small), find_one: spread(sides.findOne) },
    },
    figure('large against small', sides.small, 1.5),
  ];
}

async function measureCase(desk: Desk, one: Case): Promise<Figure[]> {
  const { stage, large, small, bare, ids } = desk;
  const inStore = await inTurn(
    {
      large: () => readPage(large, pageOf(large, one)),
      small: () => readPage(small, pageOf(small, one)),
      findOne: finder(large, ids),
    },
    turnsOf(stage.runs, TURNS),
  );
  let turn = 0;
  const nextId = (): string => `/tickets/${large.database.orgId}/${ids[(turn += 1) % ids.length]}`;
  const requested = await inTurn(
    {
      large: listRequest(desk, large, one),
      small: listRequest(desk, small, one),
      findOne: stage.client.shot({ port: bare.port, path: nextId, headers: () => ({}), status: 200 }),
    },
    turnsOf(stage.runs, TURNS),
  );
  return [...figuresOf(`${one.name} in the store`, inStore), ...figuresOf(`${one.name} as request`, requested)];
}

/** A ticket's place in an order, as a page that ends with it says it: with whether it is one of many with its value. */
async function endOf(
  side: Side,
  { orderBy, direction, filters }: Pick<PageRequest, 'orderBy' | 'direction' | 'filters'>,
) {
  const position = positionOf(side.middle, orderBy);
  const behind = { filters, orderBy, direction, after: position, limit: PAGE, deletedAfter: null };
  const last = (await listResources(side.database.store, placeOf(side), behind)).at(-1);
  return last?.record[orderBy] === position.value ? { ...position, isTied: true as const } : position;
}

/** Every order a list can have: both directions, from the start, from the middle, and from where values are not set. */
async function everyPage(side: Side): Promise<PageRequest[]> {
  const pages: PageRequest[] = [];
  const add = async (
    order: Pick<PageRequest, 'orderBy' | 'direction' | 'filters'>,
    more: PageRequest['after'][] = [],
  ) => {
    for (const after of [null, await endOf(side, order), ...more])
      pages.push({ ...order, after, limit: PAGE + 1, deletedAfter: null });
  };
  for (const [orderBy, { isNullable }] of sortFields(tickets))
    for (const direction of ['asc', 'desc'] as const)
      await add({ filters: [], orderBy, direction }, isNullable ? [{ value: null, id: side.middle._id }] : []);
  for (const field of tickets.lists) {
    const value = shown(side.middle[field]);
    if (value === null) continue;
    const filters: PageRequest['filters'] = [{ field, operator: 'eq', values: [value] }];
    await add({ filters, orderBy: 'createdAt', direction: 'desc' });
  }
  return pages;
}

const SORTS = /"(Node Type|stage)":"((incremental )?sort|(parallel )?seq scan|collscan)"/i;
const nameOf = ({ orderBy, direction, after, filters }: PageRequest): string =>
  `${filters.map(({ field }) => `${field}= `).join('')}${orderBy} ${direction} from ${after === null ? 'the start' : after.value === null ? 'what is not set' : 'the middle'}`;

async function checkPlans(side: Side): Promise<Figure> {
  const pages = await everyPage(side);
  const bad: string[] = [];
  for (const page of pages) {
    for (const query of pageQueries(placeOf(side), page)) {
      const plan = JSON.stringify(await openQuery(side.database.store, tickets, query).explain('queryPlanner'));
      if (SORTS.test(plan)) bad.push(nameOf(page));
    }
  }
  return {
    budget: 'T10',
    name: `of the plans of ${pages.length} pages, those that sort or read everything`,
    unit: 'plans',
    ours: bad.length,
    bare: null,
    floor: { bound: 'at most', value: 0, of: 'ours' },
    more: { bad },
  };
}

/** The slowest of all orders, each beside findOne. */
async function measureOrders({ stage, large, ids }: Desk): Promise<Figure> {
  const findOne = finder(large, ids);
  const all: { page: string; ms: number; ratio: number }[] = [];
  for (const page of await everyPage(large)) {
    const read = () => listResources(large.database.store, placeOf(large), page);
    const sides = await inTurn({ list: read, findOne }, turnsOf(stage.runs, ORDER_TURNS));
    const ratio = rounded(median(ratiosOf(sides.list, sides.findOne)));
    all.push({ page: nameOf(page), ms: rounded(median(sides.list.latencies)), ratio });
  }
  const sorted = all.toSorted((one, other) => other.ratio - one.ratio);
  const [slowest] = sorted;
  return {
    budget: 'T10',
    name: `slowest of ${all.length} orders and filters in the store: ${slowest?.page ?? ''}`,
    unit: 'ms',
    ours: slowest?.ms ?? Number.NaN,
    bare: null,
    ratios: [slowest?.ratio ?? Number.NaN],
    floor: { bound: 'at most', value: 3, of: 'ratio' },
    more: { all: sorted },
  };
}

/** Measures what was asked for of T10 and T11; both need the large database. */
export async function measureLists(
  stage: HttpStage,
  { rows, only, log }: { rows: number; only: ReadonlySet<string>; log: Log },
): Promise<Figure[]> {
  const desk = await openDesk(stage, rows);
  const figures: Figure[] = [];
  if (only.has('T10')) {
    log('bench: T10, lists');
    for (const one of CASES) figures.push(...(await measureCase(desk, one)));
    figures.push(await checkPlans(desk.large), await measureOrders(desk));
  }
  if (only.has('T11')) figures.push(...(await measureTotal(desk)));
  return figures;
}
