/** What records say of one another, on the whole product: who belongs to whom, and what is left when one of them is gone. */
import { resourceOf } from '../../../src/resources/registry';
import { documentsOf } from '../../../src/store/resource-documents';
import { joinStack, type Answer, type Harness, type TestOrg } from '../../support/harness';
import { addressOf, writerOf, type Values } from './writer';

let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());

const { bodyOf, make, patch, read, changed, refused, payloadOf } = writerOf(() => org);

const remove = (key: string, id: string): Promise<Answer> => org.call('DELETE', `${addressOf(key)}/${id}`);
const restore = (key: string, id: string): Promise<Answer> => org.call('POST', `${addressOf(key)}/${id}/restore`);
const errorsOf = ({ body }: Answer): unknown => (body['details'] as Values | undefined)?.['errors'];

const set = (key: string, id: string, values: Values) =>
  documentsOf(harness.store, resourceOf(key)).collection.updateOne({ _id: id } as never, { $set: values });

describe('a contact belongs to its company', () => {
  const acme = () => make('companies', { name: 'Acme' });
  const person = (companyId: string) =>
    make('contacts', { companyId, email: `${companyId.toLowerCase()}@records.example` });

  test.each(['tickets', 'invoices', 'deals', 'activities', 'devices', 'client-users'])(
    '%s refuse a contact of another company, whichever of the two is sent',
    async (key) => {
      const [one, other] = [await acme(), await acme()];
      const [ana, ben] = [await person(one.id), await person(other.id)];
      const body = await bodyOf(resourceOf(key), { companyId: one.id, contactId: ben.id });
      const answer = await org.call('POST', addressOf(key), body);
      expect([answer.status, errorsOf(answer)]).toEqual([
        400,
        [
          expect.objectContaining({
            path: '/contactId',
            message: `belongs to another company than companyId: name a contact of ${one.id}`,
          }),
        ],
      ]);
      const { id } = await make(key, { companyId: one.id, contactId: ana.id });
      await refused(patch(key, id, { contactId: ben.id }), 400, /contactId: belongs to another company/);
      await refused(patch(key, id, { companyId: other.id }), 400, /contactId: belongs to another company/);
      await changed(patch(key, id, { companyId: other.id, contactId: ben.id }));
    },
  );

  test('records from before stay as they are while neither of the two changes', async () => {
    const [one, other] = [await acme(), await acme()];
    const { id } = await make('tickets', { companyId: one.id });
    await set('tickets', id, { contactId: (await person(other.id)).id });
    await changed(patch('tickets', id, { priority: 'high' }));
    await refused(patch('tickets', id, { companyId: (await acme()).id }), 400, /contactId/);
    await changed(patch('tickets', id, { companyId: null }));
  });

  test('a telephone contact without a company fits any call, one of another company none', async () => {
    const [one, other] = [await acme(), await acme()];
    const free = await make('voice-contacts');
    const taken = await make('voice-contacts', { companyId: other.id });
    await make('call-logs', { companyId: one.id, contactId: free.id });
    const body = await bodyOf(resourceOf('call-logs'), { companyId: one.id, contactId: taken.id });
    await refused(org.call('POST', addressOf('call-logs'), body), 400, /contactId: belongs to another company/);
  });

  test('a record whose contact moved to another company is not restored beside it', async () => {
    const [one, other] = [await acme(), await acme()];
    const ana = await person(one.id);
    const { id } = await make('tickets', { companyId: one.id, contactId: ana.id });
    await remove('tickets', id);
    await changed(patch('contacts', ana.id, { companyId: other.id }));
    const answer = await restore('tickets', id);
    expect([answer.status, errorsOf(answer)]).toEqual([409, [expect.objectContaining({ path: '/contactId' })]]);
    expect(answer.body['error']).not.toMatch(/gone/);
  });
});

describe('what belongs to a record that is gone', () => {
  test('keeps its client in its events', async () => {
    const { id: companyId } = await make('companies');
    const ticket = await make('tickets', { companyId });
    const entry = await make('time-entries', { ticketId: ticket.id });
    const endpoint = await make('endpoints', { companyId });
    const detection = await make('detections', { endpointId: endpoint.id });
    await remove('tickets', ticket.id);
    await remove('endpoints', endpoint.id);
    await changed(patch('time-entries', entry.id, { notes: 'Toner' }));
    await changed(patch('detections', detection.id, { status: 'contained' }));
    for (const [key, type, id] of [
      ['time-entries', 'time_entry.updated', entry.id],
      ['detections', 'detection.contained', detection.id],
    ] as const)
      expect(await payloadOf(key, type, id)).toMatchObject({ client_id: companyId });
  });

  test('cannot be made for it', async () => {
    const ticket = await make('tickets');
    const body = await bodyOf(resourceOf('time-entries'), { ticketId: ticket.id });
    await remove('tickets', ticket.id);
    await refused(org.call('POST', addressOf('time-entries'), body), 400, /no ticket/);
  });
});

describe('a restore', () => {
  test('brings back nothing that could not be created now', async () => {
    const invoice = await make('invoices', { status: 'sent' });
    const payment = await make('payments', { invoiceId: invoice.id });
    await remove('payments', payment.id);
    await changed(patch('invoices', invoice.id, { status: 'void' }));
    await refused(Promise.resolve(await restore('payments', payment.id)), 409, /The invoice is void/);
    expect((await org.call('GET', `${addressOf('payments')}/${payment.id}`)).status).toBe(404);
    expect((await read('invoices', invoice.id))['status']).toBe('void');
  });

  test('of a payment in another currency than its invoice has now is a conflict', async () => {
    const invoice = await make('invoices', { status: 'sent' });
    const payment = await make('payments', { invoiceId: invoice.id });
    await remove('payments', payment.id);
    await changed(patch('invoices', invoice.id, { currency: 'EUR' }));
    await refused(Promise.resolve(await restore('payments', payment.id)), 409, /currency: must be EUR/);
  });
});
