/** What the relay asks the store each second: one command says where something waits. */
import { collectionOf } from '../../../src/store/resource-documents';
import { canOwe } from '../../../src/store/resource-marks';
import { resourceOf, ROWS } from '../../../src/resources/registry';
import { approvals } from '../../../src/store/approvals';
import { whatWaits, type Waiting } from '../../../src/store/backlogs';
import type { Collection } from '../../../src/store/collection';
import { deliveries } from '../../../src/store/deliveries';
import { events } from '../../../src/store/events';
import { executions } from '../../../src/store/executions';
import { webhooks } from '../../../src/store/webhooks';
import { newId } from '../../../src/domain/ids';
import { openTestStore, type TestStore } from '../auth/support';

const NOTHING: Waiting = { outboxes: [], debts: [], events: false, deliveries: false, reports: false };
const tickets = resourceOf('tickets');
const owing = ROWS.filter(canOwe);

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

/** Stores a document with these fields for as long as `look` takes. */
async function among<Found>(
  { of, fields }: { of: Collection<never>; fields: Record<string, unknown> },
  look: () => Promise<Found>,
): Promise<Found> {
  const { collection } = of.in(store);
  const _id = newId('evt') as never;
  await collection.insertOne({ _id, ...fields });
  try {
    return await look();
  } finally {
    await collection.deleteOne({ _id });
  }
}

const at = new Date();
const cases: [string, Collection<unknown>, Record<string, unknown>, Partial<Waiting>][] = [
  ['events', events as never, { opening: true, received_at: at }, { events: true }],
  ['deliveries', deliveries as never, { status: 'pending', dueAt: at }, { deliveries: true }],
  [
    'executions to report',
    executions as never,
    { watched: true, unreported: true, completed_at: at },
    { reports: true },
  ],
  ['approvals to report', approvals as never, { watched: true, unreported: true, created_at: at }, { reports: true }],
  ['endpoints to announce', webhooks as never, { unannounced: true }, { reports: true }],
  ['an outbox', collectionOf(tickets) as never, { ob: true, updatedAt: at }, { outboxes: [tickets] }],
];

test('nothing waits in an empty store, whether few or all resources are asked', async () => {
  expect(await whatWaits(store, [])).toEqual(NOTHING);
  expect(await whatWaits(store, ROWS)).toEqual(NOTHING);
});

test.each(cases)('%s: what waits there is told, and nothing else is', async (_name, of, fields, expected) => {
  await among({ of: of as never, fields }, async () => {
    expect(await whatWaits(store, [tickets])).toEqual({ ...NOTHING, ...expected });
    expect(await whatWaits(store, ROWS)).toEqual({ ...NOTHING, ...expected });
  });
  expect(await whatWaits(store, ROWS)).toEqual(NOTHING);
});

test('debts are told by the resource that has them', async () => {
  expect(owing.length).toBeGreaterThan(1);
  for (const row of owing) {
    const debt = { of: collectionOf(row) as never, fields: { owes: ['cmp_1'], tenantId: 'org_1' } };
    expect(await among(debt, () => whatWaits(store, ROWS))).toEqual({ ...NOTHING, debts: [row] });
  }
});

test('what is done waits nowhere', async () => {
  const done = [
    { of: events, fields: { opening: false, received_at: at } },
    { of: deliveries, fields: { status: 'delivered', dueAt: at } },
    { of: executions, fields: { watched: true, unreported: false, completed_at: at } },
    { of: executions, fields: { watched: false, unreported: true, completed_at: at } },
    { of: collectionOf(tickets), fields: { updatedAt: at } },
  ];
  for (const one of done) expect(await among(one as never, () => whatWaits(store, ROWS))).toEqual(NOTHING);
});

test('one command asks, and reads nothing that does not wait to find that out', async () => {
  const { collection } = events.in(store);
  for (let batch = 0; batch < 20; batch += 1) {
    const quiet = Array.from({ length: 1_000 }, () => ({ _id: newId('evt') as never, received_at: at }));
    await collection.insertMany(quiet);
  }
  const asked = jest.spyOn(collection, 'aggregate');
  expect(await whatWaits(store, [tickets])).toEqual(NOTHING);
  expect(asked).toHaveBeenCalledTimes(1);
  const [pipeline] = asked.mock.calls[0] ?? [];
  asked.mockRestore();
  expect(pipeline?.filter((stage) => '$unionWith' in stage)).toHaveLength(5);
  const plan = JSON.stringify(await collection.aggregate(pipeline).explain());
  expect(plan).toContain('"opening"');
  expect(plan).not.toMatch(/Seq Scan|COLLSCAN/);
});
