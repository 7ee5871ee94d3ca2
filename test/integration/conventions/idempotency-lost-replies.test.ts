/** The line to the store breaks under the writes of an idempotency key: its repeat need not wait for a lease to end. */
import { createOrg, joinStack, text, waitFor, type Answer, type Harness, type TestOrg } from '../../support/harness';
import { startApi } from '../../support/stack';
import { startLossyLine, type LossyLine } from '../../support/stand-ins/lossy-line';

const TICKETS = '/psa/api/tickets';
/** Far less than the 30 s of a lease. */
const SOON_MS = 5_000;
/** How a command begins: its name and the length and text of its collection. */
const onKeys = (command: string): string => `${command}\0\x0c\0\0\0idempotency\0`;

let harness: Harness;
let line: LossyLine;
let own: Awaited<ReturnType<typeof startApi>>;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  line = await startLossyLine(harness.address.env['MONGODB_URI'] ?? '');
  own = await startApi(harness.address, { MONGODB_URI: line.uri });
  org = await createOrg(harness.store, own);
  expect((await create('warm up')).status).toBe(201);
});
afterAll(async () => {
  await own.api.stop();
  await line.stop();
  await harness.close();
});

const create = (subject: string): Promise<Answer> =>
  org.call('POST', TICKETS, { subject, priority: 'low' }, { 'idempotency-key': subject.replaceAll(' ', '-') });

const ticketsCalled = (subject: string): Promise<number> =>
  harness.store.connection.collection('psa_tickets').countDocuments({ tenantId: org.id, subject });

const answered = (subject: string): Promise<Answer> =>
  waitFor(
    async () => {
      const answer = await create(subject);
      return answer.status === 201 ? answer : null;
    },
    { timeoutMs: SOON_MS, what: `an answer to ${subject}` },
  );

test('a key that the store took without saying so is free for the repeat', async () => {
  const before = line.lost();
  line.loseReplyTo(onKeys('insert'));
  const first = await create('not begun');
  expect([first.status, line.lost() - before]).toEqual([503, 1]);
  await answered('not begun');
  expect(await ticketsCalled('not begun')).toBe(1);
});

test('an answer that could not be kept at once is kept a little later', async () => {
  const before = line.lost();
  line.refuse(onKeys('update'));
  const first = await create('kept later');
  expect([first.status, line.lost() - before]).toEqual([201, 1]);
  const again = await answered('kept later');
  expect([again.headers.get('idempotency-replayed'), text(again.body['id'])]).toEqual(['true', text(first.body['id'])]);
  expect(await ticketsCalled('kept later')).toBe(1);
});
