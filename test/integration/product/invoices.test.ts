/** Invoices and their payments, on the whole product: what they come to, where they may go and what they tell. */
import { derivedId } from '../../../src/domain/ids';
import { resourceOf } from '../../../src/resources/registry';
import { documentsOf } from '../../../src/store/resource-documents';
import { joinStack, waitFor, type Harness, type TestOrg } from '../../support/harness';
import { addressOf, writerOf, type Values } from './writer';

let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());

const { bodyOf, make, patch, act, read, changed, refused, payloadOf } = writerOf(() => org);

const LINES = [
  { description: 'Hours', quantity: 1.25, unitPrice: 8_000, taxPercent: 19 },
  { description: 'Devices', quantity: 40, unitPrice: 1_250 },
  { description: 'Credit', quantity: 1, unitPrice: -500 },
];
const TOTAL = 11_900 + 50_000 - 500;
const invoice = (more: Values = {}) => make('invoices', { lines: LINES, status: 'sent', ...more });
const pay = (invoiceId: string, amount: number, status = 'settled') => make('payments', { invoiceId, amount, status });

test('the total follows from the lines, and the balance with them', async () => {
  const { id, ...made } = await invoice({ status: 'draft' });
  expect(made).toMatchObject({ total: TOTAL, balance: TOTAL });
  const lines = [{ description: 'One', quantity: 2, unitPrice: 100 }];
  expect(await changed(patch('invoices', id, { lines }))).toMatchObject({ total: 200, balance: 200 });
  await refused(patch('invoices', id, { lines: [{ description: 'x', quantity: 1 }] }), 400, /unitPrice/);
  const dear = { description: 'x', quantity: 1_000_000, unitPrice: 1_000_000_000_000 };
  await refused(patch('invoices', id, { lines: [dear] }), 400, /more than a record can hold/);
});

test('payments pay it, a refund takes that back, and a paid one does not change', async () => {
  const { id } = await invoice();
  await refused(patch('invoices', id, { status: 'paid' }), 409, /Payments make an invoice/);
  const first = await pay(id, 400, 'pending');
  expect(await read('invoices', id)).toMatchObject({ status: 'sent', balance: TOTAL });
  await changed(patch('payments', first.id, { status: 'settled' }));
  expect(await read('invoices', id)).toMatchObject({ status: 'partially_paid', balance: TOTAL - 400 });
  await refused(patch('invoices', id, { status: 'void' }), 409, /cannot change/);
  await pay(id, TOTAL - 400);
  expect(await read('invoices', id)).toMatchObject({ status: 'paid', balance: 0 });
  expect(await payloadOf('invoices', 'invoice.paid', id)).toMatchObject({
    amount: TOTAL,
    actor: { type: 'system', id: 'tally' },
  });
  await refused(patch('invoices', id, { notes: 'x' }), 409, /paid: nothing of it changes/);
  expect((await patch('invoices', id, { externalRefs: [{ system: 'ledger', id }] })).status).toBe(200);
  await refused(org.call('DELETE', `${addressOf('invoices')}/${id}`), 409, /payments/);
  await refused(org.call('DELETE', `${addressOf('payments')}/${first.id}`), 409, /refund/);
  await changed(patch('payments', first.id, { status: 'refunded' }));
  expect(await read('invoices', id)).toMatchObject({ status: 'partially_paid', balance: 400 });
});

test('an invoice is voided while nothing was paid, and then stays so', async () => {
  const { id, companyId } = await invoice();
  expect(await changed(patch('invoices', id, { status: 'void' }))).toMatchObject({ status: 'void' });
  await refused(patch('invoices', id, { notes: 'x' }), 409, /void: nothing/);
  const late = await bodyOf(resourceOf('payments'), { invoiceId: id });
  await refused(org.call('POST', addressOf('payments'), late), 409, /takes no payments/);
  const paid = { ...(await bodyOf(resourceOf('invoices'), { companyId })), status: 'paid' };
  await refused(org.call('POST', addressOf('invoices'), paid), 409, /cannot have the status paid/);
});

test('a payment has an amount above nought, in the currency of its invoice', async () => {
  const { id } = await invoice();
  const body = await bodyOf(resourceOf('payments'), { invoiceId: id });
  await refused(org.call('POST', addressOf('payments'), { ...body, amount: 0 }), 400, /amount: must be >= 1/);
  await refused(org.call('POST', addressOf('payments'), { ...body, currency: 'EUR' }), 400, /must be USD/);
});

test('a payment that failed says why, and names invoice and client', async () => {
  const { id, number, companyId } = await invoice();
  const payment = await pay(id, 100, 'pending');
  const failed = await changed(act('payments', payment.id, 'fail', { reason: 'card_expired' }));
  expect(failed).toMatchObject({ status: 'failed', failureReason: 'card_expired' });
  await refused(patch('payments', payment.id, { status: 'settled' }), 409, /Another attempt/);
  expect(await payloadOf('payments', 'payment.failed', payment.id)).toMatchObject({
    invoice_number: number,
    reason: 'card_expired',
    client_id: companyId,
  });
});

test('of twenty payments settled at once, each is counted exactly once', async () => {
  const { id } = await invoice({ lines: [{ description: 'x', quantity: 1, unitPrice: 20_000 }] });
  const payments = [];
  for (let count = 0; count < 20; count += 1) payments.push(await pay(id, 1_000, 'pending'));
  const [last, ...others] = payments;
  const settle = (one: { id: string } | undefined) => patch('payments', one?.id ?? '', { status: 'settled' });
  const answers = await Promise.all(others.map(settle));
  expect(answers.map(({ status }) => status)).toEqual(others.map(() => 200));
  await waitFor(async () => (await read('invoices', id))['balance'] === 1_000);
  expect((await read('invoices', id))['status']).toBe('partially_paid');
  await settle(last);
  expect(await read('invoices', id)).toMatchObject({ balance: 0, status: 'paid' });
});
const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

describe('the event of an invoice that is sent', () => {
  const toldAt = async (id: string, version: number, type: string): Promise<boolean> =>
    (await org.call('GET', `/agents/api/event-log/${derivedId('evt', id, version, type)}`)).status === 200;

  test('an invoice is told of as sent when it leaves the draft, whatever it becomes then', async () => {
    const { id } = await invoice({ status: 'draft' });
    await pay(id, TOTAL);
    expect(await changed(patch('invoices', id, { status: 'sent' }))).toMatchObject({ status: 'paid' });
    expect(await payloadOf('invoices', 'invoice.sent', id)).toMatchObject({ status: 'paid', balance: 0 });
  });

  test('an invoice that falls back to sent was not sent again', async () => {
    const { id } = await invoice();
    const payment = await pay(id, 400);
    await changed(patch('payments', payment.id, { status: 'refunded' }));
    const back = await read('invoices', id);
    expect(back).toMatchObject({ status: 'sent', version: 3 });
    await changed(patch('invoices', id, { status: 'void' }));
    await payloadOf('invoices', 'invoice.voided', id);
    expect(await toldAt(id, 3, 'invoice.sent')).toBe(false);
  });

  test('a draft that is voided was not sent', async () => {
    const { id } = await invoice({ status: 'draft' });
    await changed(patch('invoices', id, { status: 'void' }));
    await payloadOf('invoices', 'invoice.voided', id);
    expect(await toldAt(id, 2, 'invoice.sent')).toBe(false);
  });
});

describe('the currency of an invoice', () => {
  test.each(['pending', 'settled'])('it stays while a payment is %s', async (status) => {
    const { id } = await invoice();
    await pay(id, 100, status);
    await refused(patch('invoices', id, { currency: 'EUR' }), 409, /currency.*payments.*fail or refund/);
    expect((await patch('invoices', id, { currency: 'USD', notes: 'x' })).status).toBe(200);
  });

  test('it may change when the payments are over, and none of them is stuck', async () => {
    const { id } = await invoice();
    const [failed, refunded] = [await pay(id, 100, 'pending'), await pay(id, 100)];
    await changed(act('payments', failed.id, 'fail', { reason: 'card_expired' }));
    await changed(patch('payments', refunded.id, { status: 'refunded' }));
    expect(await changed(patch('invoices', id, { currency: 'EUR' }))).toMatchObject({ currency: 'EUR' });
    expect((await patch('payments', refunded.id, { reference: 'x' })).status).toBe(200);
  });

  test('a payment in another currency than its invoice has now can fail and be refunded, not settle', async () => {
    const { id } = await invoice();
    const [pending, other, settled] = [
      await pay(id, 100, 'pending'),
      await pay(id, 100, 'pending'),
      await pay(id, 100),
    ];
    // As it was stored before the currency was held.
    await documentsOf(harness.store, resourceOf('invoices')).collection.updateOne({ _id: id } as never, {
      $set: { currency: 'EUR' },
    });
    await refused(patch('payments', pending.id, { status: 'settled' }), 409, /EUR.*USD/);
    await changed(act('payments', pending.id, 'fail', { reason: 'card_expired' }));
    await changed(patch('payments', other.id, { status: 'failed' }));
    await changed(patch('payments', settled.id, { status: 'refunded' }));
  });
});

test('a closed invoice names the move that is refused', async () => {
  const { id } = await invoice();
  await pay(id, TOTAL);
  const answer = await patch('invoices', id, { status: 'void', notes: 'x' });
  expect([answer.status, answer.body['details']]).toEqual([
    409,
    expect.objectContaining({ field: 'status', from: 'paid', to: 'void', allowed: [] }),
  ]);
  expect((await patch('invoices', id, { notes: 'x' })).body['details']).toEqual({ fields: ['notes'] });
});

describe('invoices that ask for nothing', () => {
  const costing = (unitPrice: number) => [{ description: 'x', quantity: 1, unitPrice }];

  test.each([0, -500])('one over %d is paid once it is sent', async (unitPrice) => {
    const late = { issueDate: day(-40), dueDate: day(-5), lines: costing(unitPrice) };
    expect(await invoice(late)).toMatchObject({ status: 'paid', total: unitPrice, daysOverdue: 0 });
    const { id } = await invoice({ ...late, status: 'draft' });
    expect(await read('invoices', id)).toMatchObject({ status: 'draft' });
    expect(await changed(patch('invoices', id, { status: 'sent' }))).toMatchObject({ status: 'paid' });
    await payloadOf('invoices', 'invoice.sent', id);
  });

  test('one whose lines come to nothing later is waited for no more', async () => {
    const { id } = await invoice({ issueDate: day(-40), dueDate: day(-5) });
    expect(await changed(patch('invoices', id, { lines: costing(0) }))).toMatchObject({ status: 'paid' });
    const stored = await documentsOf(harness.store, resourceOf('invoices')).findOne({ _id: id }).lean().exec();
    expect(stored).not.toHaveProperty('due');
  });
});
