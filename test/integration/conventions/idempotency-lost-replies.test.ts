/** The line to the store breaks under the writes of an idempotency key: its repeat need not wait for a lease to end. */
import { text, waitFor, type Answer } from '../../support/harness';
import { startLossyApi, type LossyApi } from '../../support/lossy-api';
import { commandOn } from '../../support/stand-ins/lossy-line';

const TICKETS = '/psa/api/tickets';
/** Far less than the 30 s of a lease. */
const SOON_MS = 5_000;
const onKeys = (command: string): string => commandOn('idempotency', command);

let api: LossyApi;
beforeAll(async () => {
  api = await startLossyApi();
  expect((await create('warm up')).status).toBe(201);
});
afterAll(() => api.stop());

const create = (subject: string): Promise<Answer> =>
  api.org.call('POST', TICKETS, { subject, priority: 'low' }, { 'idempotency-key': subject.replaceAll(' ', '-') });

const ticketsCalled = (subject: string): Promise<number> =>
  api.harness.store.connection.collection('psa_tickets').countDocuments({ tenantId: api.org.id, subject });

const answered = (subject: string): Promise<Answer> =>
  waitFor(
    async () => {
      const answer = await create(subject);
      return answer.status === 201 ? answer : null;
    },
    { timeoutMs: SOON_MS, what: `an answer to ${subject}` },
  );

test('a key that the store took without saying so is free for the repeat', async () => {
  const before = api.line.lost();
  api.line.loseReplyTo(onKeys('insert'));
  const first = await create('not begun');
  expect([first.status, api.line.lost() - before]).toEqual([503, 1]);
  await answered('not begun');
  expect(await ticketsCalled('not begun')).toBe(1);
});

test('an answer that could not be kept at once is kept a little later', async () => {
  const before = api.line.lost();
  api.line.refuse(onKeys('update'));
  const first = await create('kept later');
  expect([first.status, api.line.lost() - before]).toEqual([201, 1]);
  const again = await answered('kept later');
  expect([again.headers.get('idempotency-replayed'), text(again.body['id'])]).toEqual(['true', text(first.body['id'])]);
  expect(await ticketsCalled('kept later')).toBe(1);
});
