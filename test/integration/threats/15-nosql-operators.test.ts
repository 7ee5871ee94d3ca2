/** Threat 15, NoSQL operators: `{"$ne":null}` in every body, query and path slot of every operation is refused. */
// Every collection is declared by some module of the app.
import '../../../src/http/app';
import { bodyValidator } from '../../../src/http/validate';
import { declaredCollections } from '../../../src/store/collection';
import { joinStack, type Harness } from '../../support/harness';
import { eachOf, everything, exampleOf, reachable, type Everything, type Parts } from '../../support/operations';
import type { Operation } from '../../../src/contracts/operation';

const OPERATOR = { $ne: null };

let harness: Harness;
let all: Everything;
beforeAll(async () => {
  harness = joinStack();
  all = await everything(harness);
});
afterAll(() => harness.close());

interface Slot {
  operation: Operation;
  parts: Parts;
  what: string;
}

const namesIn = (schema: unknown): string[] =>
  Object.keys((schema as { properties?: Record<string, unknown> } | undefined)?.properties ?? {});

const pathSlots = reachable
  .filter(({ params }) => params !== undefined)
  .map((operation): Slot => ({ operation, parts: { id: JSON.stringify(OPERATOR) }, what: 'path' }));

const querySlots = reachable.flatMap((operation) =>
  namesIn(operation.query).map((name): Slot => ({ operation, parts: { query: `?${name}[$ne]=` }, what: name })),
);

/** Fields that hold whatever a client likes, such as an event's payload, are data and never part of a query. */
const bodySlots = reachable.flatMap((operation) => {
  const { body } = operation;
  if (!body) return [];
  const isFree = bodyValidator(body);
  return namesIn(body)
    .map((name): Slot => ({ operation, parts: { body: { ...exampleOf(operation), [name]: OPERATOR } }, what: name }))
    .filter(({ parts }) => isFree(parts.body).length > 0);
});

async function faultsOf(slots: readonly Slot[], right: readonly number[]): Promise<string[]> {
  const faults: string[] = [];
  await eachOf(slots, async ({ operation, parts, what }) => {
    const { status } = await all.call(operation, parts);
    if (!right.includes(status)) faults.push(`${operation.id} ${what}: ${status}`);
  });
  return faults;
}

test('in a path it names nothing: 404', async () => {
  expect(pathSlots.length).toBeGreaterThan(100);
  expect(await faultsOf(pathSlots, [404])).toEqual([]);
});

test('in a query it is no parameter: 400', async () => {
  expect(querySlots.length).toBeGreaterThan(500);
  expect(await faultsOf(querySlots, [400])).toEqual([]);
}, 180_000);

test('in a body it is no value: 400', async () => {
  expect(bodySlots.length).toBeGreaterThan(300);
  expect(await faultsOf(bodySlots, [400])).toEqual([]);
}, 180_000);

test('as the whole body it is refused by every operation that takes one', async () => {
  const slots = reachable
    .filter(({ body }) => body !== undefined)
    .map((operation): Slot => ({ operation, parts: { body: OPERATOR }, what: 'body' }));
  expect(await faultsOf(slots, [400])).toEqual([]);
});

test.each(['findOne', 'countDocuments', 'deleteMany'] as const)(
  'the store itself takes no filter by a field that it does not know: %s',
  async (operation) => {
    const taken: string[] = [];
    for (const collection of declaredCollections()) {
      const model = collection.in(harness.store);
      const run = model[operation].bind(model) as (filter: object) => PromiseLike<unknown>;
      const outcome = await run({ _id: 'none', zzUnknown: OPERATOR }).then(() => 'taken', String);
      if (!outcome.includes('zzUnknown')) taken.push(`${collection.name} ${outcome}`);
    }
    expect(taken).toEqual([]);
    expect(declaredCollections().length).toBeGreaterThan(50);
  },
);
