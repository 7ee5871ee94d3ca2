/** A change and its events are one write: none is lost, none is invented, and repeating a hand-over changes nothing. */
import type { BusEvent } from '../../../src/contracts/event';
import { RESOURCES } from '../../../src/resources/registry';
import { pendingOutbox } from '../../../src/store/resources';
import { startDesk, type Desk } from './desk';

let desk: Desk;
beforeAll(async () => {
  desk = await startDesk();
});
afterAll(() => desk.stop());
beforeEach(() => {
  desk.holdOutbox(false);
  desk.takeEvents();
});

const typesOf = (events: BusEvent[]): string[] => events.map((event) => event.event_type);
const facts = (events: BusEvent[], type: string) => events.find((event) => event.event_type === type)?.payload;

async function create(path: string, body: object): Promise<string> {
  const answer = await desk.call('POST', path, { body });
  expect(answer.status).toBe(201);
  return String(answer.body['id']);
}
const patch = (id: string, body: object) => desk.call('PATCH', `/psa/api/tickets/${id}`, { body });

test('a created ticket says what agents filter by', async () => {
  const companyId = await create('/psa/api/companies', { name: 'Northwind' });
  const boardId = await create('/psa/api/boards', { name: 'Service desk' });
  desk.takeEvents();
  const id = await create('/psa/api/tickets', { subject: 'Printer offline', companyId, boardId, tags: ['printer'] });
  const [event] = desk.takeEvents();
  expect(event).toEqual({
    id: expect.stringMatching(/^evt_/) as unknown,
    org_id: 'org_one',
    sequence: 1,
    subject: `tickets/${id}`,
    event_type: 'ticket.created',
    source_product: 'psa',
    occurred_at: expect.any(String) as unknown,
    client_id: companyId,
    payload: {
      ticket_id: id,
      number: expect.any(Number) as unknown,
      ticket_number: expect.stringMatching(/^T-\d+$/) as unknown,
      title: 'Printer offline',
      subject: 'Printer offline',
      description: null,
      priority: 'medium',
      status: 'new',
      board: 'Service desk',
      board_id: boardId,
      type: 'ticket',
      source: 'api',
      client_id: companyId,
      client_name: 'Northwind',
      company_id: companyId,
      contact_id: null,
      assignee_id: null,
      escalation_level: 0,
      due_at: null,
      sla_status: 'ok',
      sla_target: null,
      sla_due_at: null,
      resolved_at: null,
      closed_at: null,
      tags: ['printer'],
      external_refs: [],
      custom_fields: {},
      created_by: 'key_org_one',
      created_at: expect.any(String) as unknown,
      updated_at: expect.any(String) as unknown,
      actor: { type: 'api_key', id: 'key_org_one' },
    },
  });
});

test('a ticket without a company is internal', async () => {
  await create('/psa/api/tickets', { subject: 'Renew our own certificate' });
  expect(desk.takeEvents()).toMatchObject([{ client_id: null, payload: { client_id: null } }]);
});

test('one patch emits every event whose predicate holds, with what changed in the payload spelling', async () => {
  const id = await create('/psa/api/tickets', { subject: 'x' });
  desk.takeEvents();
  await patch(id, { priority: 'critical', assigneeId: 'usr_1', status: 'open', escalationLevel: 2 });
  const events = desk.takeEvents();
  expect(typesOf(events)).toEqual(['ticket.updated', 'ticket.status_changed', 'ticket.assigned', 'ticket.escalated']);
  expect(facts(events, 'ticket.updated')).toMatchObject({
    changed: ['priority', 'status', 'assignee_id', 'escalation_level'],
    previous: { priority: 'medium', status: 'new', assignee_id: null, escalation_level: 0 },
  });
  expect(facts(events, 'ticket.status_changed')).toMatchObject({ from: 'new', to: 'open' });
  expect(facts(events, 'ticket.assigned')).toMatchObject({ previous_assignee_id: null, assignee_id: 'usr_1' });
  expect(facts(events, 'ticket.escalated')).toMatchObject({
    from_level: 0,
    to_level: 2,
    reason: 'priority_raised',
  });
});

test('a level that falls or a priority that was critical already is no escalation', async () => {
  const id = await create('/psa/api/tickets', { subject: 'x', priority: 'critical', escalationLevel: 2 });
  desk.takeEvents();
  await patch(id, { escalationLevel: 1, priority: 'critical' });
  expect(typesOf(desk.takeEvents())).toEqual(['ticket.updated']);
  await patch(id, { escalationLevel: 2 });
  expect(facts(desk.takeEvents(), 'ticket.escalated')).toMatchObject({
    from_level: 1,
    to_level: 2,
    reason: 'level_raised',
  });
});

test('a board that is renamed or changed is named as it was and as it is', async () => {
  const [first, second] = [
    await create('/psa/api/boards', { name: 'First' }),
    await create('/psa/api/boards', { name: 'Second' }),
  ];
  const id = await create('/psa/api/tickets', { subject: 'x', boardId: first });
  desk.takeEvents();
  await patch(id, { boardId: second });
  expect(facts(desk.takeEvents(), 'ticket.updated')).toMatchObject({
    changed: ['board', 'board_id'],
    previous: { board: 'First', board_id: first },
    board: 'Second',
  });
});

test('closing and deleting are told', async () => {
  const id = await create('/psa/api/tickets', { subject: 'x' });
  desk.takeEvents();
  await patch(id, { status: 'closed' });
  expect(typesOf(desk.takeEvents())).toEqual(['ticket.updated', 'ticket.status_changed', 'ticket.closed']);
  await desk.call('DELETE', `/psa/api/tickets/${id}`);
  expect(desk.takeEvents()).toMatchObject([{ event_type: 'ticket.deleted', payload: { ticket_id: id } }]);
});

test('events that were not handed over wait in their document, oldest first, and go once they are', async () => {
  desk.holdOutbox(true);
  const one = await create('/psa/api/tickets', { subject: 'one' });
  const two = await create('/psa/api/companies', { name: 'two' });
  await patch(one, { priority: 'low' });
  await desk.call('DELETE', `/crm/api/companies/${two}`);
  const waiting = await pendingOutbox(desk.store, RESOURCES, 100);
  expect(waiting.map(({ events }) => typesOf(events))).toEqual([
    ['ticket.created', 'ticket.updated'],
    ['company.created', 'company.deleted'],
  ]);
  expect(new Set(waiting.flatMap(({ events }) => events.map((event) => event.id))).size).toBe(4);
  expect(await pendingOutbox(desk.store, RESOURCES, 1)).toHaveLength(1);
  for (const pending of waiting) await pending.clear();
  expect(await pendingOutbox(desk.store, RESOURCES, 100)).toEqual([]);
});

test('clearing takes away what was handed over and nothing that came after', async () => {
  desk.holdOutbox(true);
  const id = await create('/psa/api/tickets', { subject: 'x' });
  const [before] = await pendingOutbox(desk.store, RESOURCES, 10);
  await patch(id, { priority: 'low' });
  await before?.clear();
  const [after] = await pendingOutbox(desk.store, RESOURCES, 10);
  expect(typesOf(after?.events ?? [])).toEqual(['ticket.updated']);
  await after?.clear();
});

test('changes at the same time leave one event per version', async () => {
  desk.holdOutbox(true);
  const id = await create('/psa/api/tickets', { subject: 'x' });
  await Promise.all(Array.from({ length: 6 }, (_, index) => patch(id, { description: `${index}` })));
  const [pending] = await pendingOutbox(desk.store, RESOURCES, 10);
  const { body } = await desk.call('GET', `/psa/api/tickets/${id}`);
  expect(new Set(pending?.events.map((event) => event.id)).size).toBe(Number(body['version']));
  await pending?.clear();
});

test('a change of what other systems call a record tells both names', async () => {
  const id = await create('/psa/api/tickets', { subject: 'Printer offline' });
  desk.takeEvents();
  await patch(id, { externalRefs: [{ system: 'halo', id: '4711' }] });
  expect(desk.takeEvents()).toMatchObject([
    {
      event_type: 'ticket.updated',
      payload: {
        external_refs: [{ system: 'halo', id: '4711' }],
        changed: expect.arrayContaining(['external_refs']) as unknown,
        previous: { external_refs: [] },
      },
    },
  ]);
});
