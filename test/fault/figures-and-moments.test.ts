/** A process dies between a change and what follows from it: totals come right, and each thing is told of once. */
import { readConfig } from '../../src/config';
import { TIMED_EVENTS } from '../../src/contracts/messages';
import { newId } from '../../src/domain/ids';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { resourceOf } from '../../src/resources/registry';
import { documentsOf } from '../../src/store/resource-documents';
import { joinStack, text, waitFor, type Harness, type TestOrg } from '../support/harness';
import { atOnce, onceEach, timesTold } from '../support/repeats';
import { startStack, type Stack } from '../support/stack';

type Values = Record<string, unknown>;

const SECOND = 1_000;
const DAY_MS = 86_400 * SECOND;
/** Kills that must come between a payment and the count, and how many are tried. */
const HITS = 2;
const ROUNDS_MAX = 8;
const PAYMENTS = 30;
const AMOUNT = 1_000;
const LATE = 300;
const AT_ONCE = 25;

let stack: Stack;
let harness: Harness;
let engine: Engine;
beforeAll(async () => {
  stack = await startStack();
  harness = joinStack(stack);
  engine = connectEngine(readConfig(stack.env).temporal);
}, 240 * SECOND);
afterAll(async () => {
  await engine.close();
  await harness.close();
  await stack.stop();
});

const documents = (key: string) => documentsOf(harness.store, resourceOf(key)).collection;
const count = (key: string, filter: Values): Promise<number> => documents(key).countDocuments(filter);
const day = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

async function make(org: TestOrg, path: string, body: Values): Promise<string> {
  const answer = await org.call('POST', path, body);
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return text(answer.body['id']);
}

async function invoiceBody(org: TestOrg, dueDate: string): Promise<Values> {
  const companyId = await make(org, '/crm/api/companies', { name: 'Northwind Dental' });
  const lines = [{ description: 'Devices', quantity: PAYMENTS, unitPrice: AMOUNT }];
  return { companyId, lines, status: 'sent', issueDate: day(-40), dueDate };
}

const told = (org: TestOrg, type: string, idField: string) => timesTold(harness, org, { type, idField });

test(
  'the api is killed between payments and the count of their invoice: the balance is right, and it is paid once',
  async () => {
    const org = await harness.newOrg();
    const body = await invoiceBody(org, day(30));
    const invoices: string[] = [];
    const payments: string[] = [];
    let hits = 0;
    for (let round = 0; round < ROUNDS_MAX && hits < HITS; round += 1) {
      const invoiceId = await make(org, '/books/api/invoices', body);
      const payment = { invoiceId, amount: AMOUNT, method: 'wire' };
      const mine = await Promise.all(Array.from({ length: PAYMENTS }, () => make(org, '/books/api/payments', payment)));
      const settle = (id: string) =>
        org.call('PATCH', `/books/api/payments/${id}`, { status: 'settled' }).catch(() => null);
      const under = Promise.all(mine.map(settle));
      await atOnce(async () => (await count('payments', { invoiceId, owes: { $exists: true } })) > 0);
      await stack.api.kill();
      await under;
      const settled = await count('payments', { invoiceId, status: 'settled' });
      if ((await count('payments', { invoiceId, owes: { $exists: true } })) > 0) hits += 1;
      await stack.api.start();
      await waitFor(async () => (await count('payments', { invoiceId, owes: { $exists: true } })) === 0);
      const { body: counted } = await org.call('GET', `/books/api/invoices/${invoiceId}`);
      expect(counted as Values).toMatchObject({ balance: (PAYMENTS - settled) * AMOUNT });
      for (const id of mine) expect((await settle(id))?.status).toBe(200);
      const { body: paid } = await org.call('GET', `/books/api/invoices/${invoiceId}`);
      expect(paid as Values).toMatchObject({ balance: 0, status: 'paid' });
      invoices.push(invoiceId);
      payments.push(...mine);
    }
    // Otherwise every kill came too late, and nothing was shown.
    expect(hits).toBe(HITS);
    await waitFor(async () => (await told(org, 'payment.settled', 'payment_id')).size === payments.length, {
      timeoutMs: 60 * SECOND,
    });
    await waitFor(async () => (await told(org, 'invoice.paid', 'invoice_id')).size === invoices.length);
    expect(await told(org, 'payment.settled', 'payment_id')).toEqual(onceEach(payments));
    expect(await told(org, 'invoice.paid', 'invoice_id')).toEqual(onceEach(invoices));
  },
  240 * SECOND,
);

test(
  'the worker is killed while it looks for what is due: every late invoice is told of once',
  async () => {
    const org = await harness.newOrg();
    const body = await invoiceBody(org, day(-1));
    // Nobody looks while they are written.
    await stack.worker.kill();
    const late: string[] = [];
    while (late.length < LATE)
      late.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => make(org, '/books/api/invoices', body)))));
    const overdue = () => count('invoices', { tenantId: org.id, status: 'overdue' });
    const look = () =>
      engine.client.workflow.start(TIMED_EVENTS, {
        workflowId: newId('timed'),
        taskQueue: engine.taskQueue,
        args: ['books'],
      });
    await stack.worker.start();
    await look();
    await atOnce(async () => (await overdue()) > 0);
    await stack.worker.kill();
    const done = await overdue();
    expect(done).toBeGreaterThan(0);
    expect(done).toBeLessThan(LATE);
    await stack.worker.start();
    await look();
    await waitFor(async () => (await overdue()) === LATE, { what: 'all are overdue', timeoutMs: 90 * SECOND });
    await waitFor(async () => (await told(org, 'invoice.overdue', 'invoice_id')).size === LATE, {
      what: 'all are told of',
      timeoutMs: 90 * SECOND,
    });
    await waitFor(async () => (await count('invoices', { tenantId: org.id, ob: true })) === 0);
    expect(await told(org, 'invoice.overdue', 'invoice_id')).toEqual(onceEach(late));
    expect(await count('invoices', { tenantId: org.id, version: 2, daysOverdue: 1 })).toBe(LATE);
  },
  300 * SECOND,
);
