/** The generated client against the generated routes. */
import { call, CallProblem } from '../../../src/client/call';
import type { Operation } from '../../../src/contracts/operation';
import { productOperations } from '../../../src/contracts/operations/products';
import { startDesk, type Desk } from './desk';

let desk: Desk;
beforeAll(async () => {
  desk = await startDesk();
});
afterAll(() => desk.stop());

const credentials = { kind: 'key', key: 'org_client' } as const;

function operation(id: string): Operation {
  const found = productOperations.find((candidate) => candidate.id === id);
  if (!found) throw new Error(`no operation ${id}`);
  return found;
}

test('a record is created, found by a list filter, polled for nothing and deleted', async () => {
  const created = await call(
    desk.baseUrl,
    operation('createTicket'),
    { body: { subject: 'Hello, world' } },
    credentials,
  );
  const { id } = created.body as { id: string };
  expect(created.status).toBe(201);
  const query = { status: ['new', 'open'], limit: 5 };
  const listed = await call(desk.baseUrl, operation('listTickets'), { query }, credentials);
  expect(listed.body).toMatchObject({ items: [{ id }], limit: 5 });
  const unchanged = await call(
    desk.baseUrl,
    operation('listTickets'),
    { query, ifNoneMatch: listed.etag ?? '' },
    credentials,
  );
  expect(unchanged).toMatchObject({ status: 304, body: undefined });
  const ifMatch = created.etag ?? '';
  expect((await call(desk.baseUrl, operation('deleteTicket'), { params: { id }, ifMatch }, credentials)).status).toBe(
    204,
  );
});

test('a refusal is thrown with its status, its code and its words', async () => {
  const refused = call(desk.baseUrl, operation('getTicket'), { params: { id: 'tkt_none' } }, credentials);
  await expect(refused).rejects.toThrow(CallProblem);
  await expect(refused).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND', message: 'No such ticket.' });
});
