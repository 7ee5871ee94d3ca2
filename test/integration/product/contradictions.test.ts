/** Values that no record could mean, on the whole product: refused with their field and the fix, never where they stand already. */
import { resourceOf } from '../../../src/resources/registry';
import { documentsOf } from '../../../src/store/resource-documents';
import { joinStack, type Harness, type TestOrg } from '../../support/harness';
import { addressOf, writerOf, type Values } from './writer';

let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());

const { bodyOf, make, patch, read, changed, refused } = writerOf(() => org);

const stored = (key: string, id: string, values: Values) =>
  documentsOf(harness.store, resourceOf(key)).collection.updateOne({ _id: id } as never, { $set: values });

async function createRefused(key: string, values: Values, message: RegExp): Promise<void> {
  await refused(org.call('POST', addressOf(key), await bodyOf(resourceOf(key), values)), 400, message);
}

test('an invoice is not due before it is written', async () => {
  await createRefused('invoices', { dueDate: '2026-11-19' }, /^\/?dueDate: .*issueDate 2026-11-20/);
  const { id } = await make('invoices', { dueDate: '2026-11-20' });
  await refused(patch('invoices', id, { issueDate: '2026-11-21' }), 400, /dueDate/);
  await stored('invoices', id, { dueDate: '2026-11-01' });
  expect(await changed(patch('invoices', id, { notes: 'x' }))).toMatchObject({ dueDate: '2026-11-01' });
});

test('work does not end before it begins', async () => {
  const [startedAt, endedAt] = ['2026-11-20T10:00:00.000Z', '2026-11-20T09:59:00.000Z'];
  await createRefused('time-entries', { startedAt, endedAt }, /endedAt: .*startedAt/);
  const { id } = await make('time-entries', { startedAt, endedAt: startedAt });
  await refused(patch('time-entries', id, { endedAt }), 400, /endedAt/);
  await stored('time-entries', id, { endedAt: new Date(endedAt) });
  await changed(patch('time-entries', id, { notes: 'x' }));
});

test('an account stands neither below itself nor below one that stands below it', async () => {
  const top = await make('accounts');
  const below = await make('accounts', { parentId: top.id });
  await refused(patch('accounts', top.id, { parentId: top.id }), 400, /parentId: .*itself/);
  await refused(patch('accounts', top.id, { parentId: below.id }), 400, /parentId: .*below this one/);
  await stored('accounts', top.id, { parentId: top.id });
  await changed(patch('accounts', top.id, { name: 'x' }));
  await changed(patch('accounts', top.id, { parentId: null }));
});

test('a product is not synchronised with itself', async () => {
  await createRefused(
    'entity-sync',
    { sourceProduct: 'psa', targetProduct: 'psa' },
    /targetProduct: .*another product/,
  );
  const { id } = await make('entity-sync', { sourceProduct: 'psa', targetProduct: 'crm' });
  await refused(patch('entity-sync', id, { sourceProduct: 'crm' }), 400, /targetProduct/);
  await stored('entity-sync', id, { sourceProduct: 'crm' });
  await changed(patch('entity-sync', id, { status: 'paused' }));
});

test.each([
  ['jobs', { lastDurationSeconds: -1 }],
  ['jobs', { bytesProtected: -1 }],
  ['restore-points', { sizeBytes: -1 }],
  ['recordings', { sizeBytes: -1 }],
])('%s refuse %j', async (key, values) => {
  await createRefused(key, values, /must be >= 0/);
});

test.each([
  ['contacts', { phone: '   ' }, /phone: .*at least one digit/],
  ['companies', { name: '  ' }, /name: must be one line that is not blank/],
  ['companies', { name: 'Acme\nInc' }, /name: must be one line/],
  ['tickets', { subject: 'a\u0007b' }, /subject: must be one line/],
])('%s refuse %j', async (key, values, message) => {
  await createRefused(key, values, message);
});

test('what the outside says of a failure may have several lines', async () => {
  const { id } = await make('workflows');
  const report = { outcome: 'failed', at: '2026-11-20T22:40:00.000Z', error: 'no lines\n  at row 3' };
  const address = `${addressOf('workflows')}/${id}/result`;
  expect(await changed(org.call('POST', address, report))).toMatchObject({ lastRunError: report.error });
});

test('a definition with ordered steps is kept as it was sent', async () => {
  const definition = {
    action: 'chain',
    steps: [
      { id: 'one', when: { field: 'amount', $gt: [1, { 'a.b': null }] }, next: { '': { deep: [[1], [{ x: 1.5 }]] } } },
      { id: 'two', __proto: { prototype: 'x' } },
    ],
  };
  const { id } = await make('workflows', { definition });
  expect((await read('workflows', id))['definition']).toEqual(definition);
  const other = { steps: [{ $set: { a: 1 }, 'b.c': '$name' }] };
  expect(await changed(patch('workflows', id, { definition: other }))).toMatchObject({ definition: other });
  expect((await read('workflows', id))['definition']).toEqual(other);
  await refused(patch('workflows', id, { definition: { $steps: 1 } }), 400, /this key must begin with a letter/);
});
