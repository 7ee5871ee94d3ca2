/** What happens because time passed: each rule with a moment seconds away, and always two looks at once. */
import { readConfig } from '../../src/config';
import { TIMED_EVENTS } from '../../src/contracts/messages';
import { templates } from '../../src/catalog/templates';
import { matchesFilters } from '../../src/domain/conditions';
import { derivedId, newId } from '../../src/domain/ids';
import { connectEngine, type Engine } from '../../src/engine/connect';
import { TIMED_PRODUCTS } from '../../src/events/timed';
import { RESOURCES, resourceOf } from '../../src/resources/registry';
import { dueQuery } from '../../src/store/resource-due';
import { documentsOf } from '../../src/store/resource-documents';
import { activeAgent, definitionWith } from '../support/agents';
import { joinStack, list, text, waitFor, waitForExecution, type Harness, type TestOrg } from '../support/harness';

type Values = Record<string, unknown>;

let harness: Harness;
let engine: Engine;
let org: TestOrg;
let companyId: string;
beforeAll(async () => {
  harness = joinStack();
  engine = connectEngine(readConfig(harness.address.env).temporal);
  org = await harness.newOrg();
  companyId = (await make('crm/api/companies', { name: 'Northwind Dental' })).id;
});
afterAll(async () => {
  await engine.close();
  await harness.close();
});

const fromNow = (milliseconds: number): string => new Date(Date.now() + milliseconds).toISOString();

async function make(path: string, body: Values): Promise<Values & { id: string; version: number }> {
  const answer = await org.call('POST', `/${path}`, body);
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return answer.body as unknown as Values & { id: string; version: number };
}

const read = async (path: string, id: string): Promise<Values> => (await org.call('GET', `/${path}/${id}`)).body;

const pass = (product: string): Promise<unknown> =>
  engine.client.workflow.execute(TIMED_EVENTS, {
    workflowId: newId('timed'),
    taskQueue: engine.taskQueue,
    args: [product],
  });

/** Two looks at once, again and again, until the record is what it should become. */
const become = (path: string, id: string, fields: Values): Promise<Values> =>
  waitFor(
    async () => {
      const product = path.split('/')[0] ?? '';
      await Promise.all([pass(product), pass(product)]);
      const record = await read(path, id);
      return Object.entries(fields).every(([name, value]) => record[name] === value) ? record : null;
    },
    { what: `${JSON.stringify(fields)} of ${id}`, timeoutMs: 30_000 },
  );

const logged = async (id: string, version: number, type: string): Promise<Values | null> => {
  const answer = await org.call('GET', `/agents/api/event-log/${derivedId('evt', id, version, type)}`);
  return answer.status === 200 ? (answer.body['payload'] as unknown as Values) : null;
};
/** Types of the events that were seen to come. */
const seen = new Set<string>();
async function payload(id: string, version: number, type: string): Promise<Values> {
  const found = await waitFor(() => logged(id, version, type), { what: `${type} of ${id} at version ${version}` });
  seen.add(type);
  return found;
}

const HOUR = 60 * 60_000;

/** As if the ticket had been opened that long ago. */
const openedAgo = (id: string, milliseconds: number, more: Values = {}) =>
  documentsOf(harness.store, resourceOf('tickets')).collection.updateOne({ _id: id } as never, {
    $set: { createdAt: new Date(Date.now() - milliseconds), ...more },
  });

test('a ticket is warned of, then breached, once each, and an agent starts for the breach', async () => {
  const agent = await activeAgent(org, {
    ...definitionWith([
      {
        type: 'set_variables',
        id: 'note',
        values: { late: '{{event_payload.ticket_number}} {{event_payload.sla_type}}' },
      },
    ]),
    trigger: { type: 'bus_event', event_type: 'ticket.sla_breached', source_product: 'psa', filters: [] },
  });
  const dueAt = fromNow(10_000);
  const ticket = await make('psa/api/tickets', { subject: 'Printer offline', companyId, dueAt });
  // Four fifths have passed by now, so that no look comes too late for the warning.
  await openedAgo(ticket.id, 60_000, { due: new Date() });
  const warned = await become('psa/api/tickets', ticket.id, { slaStatus: 'warning' });
  expect(warned).toMatchObject({ version: 2, slaTarget: 'resolution', slaDueAt: dueAt });
  const breached = await become('psa/api/tickets', ticket.id, { slaStatus: 'breached' });
  expect(breached).toMatchObject({ version: 3 });
  expect(await payload(ticket.id, 2, 'ticket.sla_warning')).toMatchObject({
    sla_type: 'resolution',
    minutes_left: 0,
    percent_used: expect.any(Number) as unknown,
    actor: { type: 'system', id: 'timer' },
  });
  expect(await payload(ticket.id, 3, 'ticket.sla_breached')).toMatchObject({
    overdue_minutes: 0,
    client_id: companyId,
  });
  const runs = await waitFor(async () => {
    const found = list((await org.call('GET', `/agents/api/executions?agent_id=${agent}`)).body['executions']);
    return found.length > 0 && found;
  });
  expect(runs).toHaveLength(1);
  expect((await waitForExecution(org, text(runs[0]?.['id']), ['completed']))['status']).toBe('completed');
  await pass('psa');
  expect(await read('psa/api/tickets', ticket.id)).toMatchObject({ version: 3 });
});

test('the service level of a board counts, also one that it gets later, and a new answer is measured anew', async () => {
  const board = await make('psa/api/boards', { name: 'Service desk' });
  const ticket = await make('psa/api/tickets', { subject: 'x', boardId: board.id });
  await pass('psa');
  await openedAgo(ticket.id, 50_000);
  await org.call('PATCH', `/psa/api/boards/${board.id}`, { slaResponseMinutes: 1, slaResolutionMinutes: 480 });
  await become('psa/api/tickets', ticket.id, { slaStatus: 'warning', slaTarget: 'response' });
  const late = await become('psa/api/tickets', ticket.id, { slaStatus: 'breached', slaTarget: 'response' });
  expect(await payload(ticket.id, Number(late['version']), 'ticket.sla_breached')).toMatchObject({
    sla_type: 'response',
  });
  const answer = await org.call('PATCH', `/psa/api/tickets/${ticket.id}`, { status: 'in_progress' });
  expect(answer.body as unknown).toMatchObject({ slaStatus: 'ok', slaTarget: null });
  await pass('psa');
  expect(await read('psa/api/tickets', ticket.id)).toMatchObject({ slaStatus: 'ok' });
});

test('nobody is warned of a ticket that is late already, as after an outage: it is breached at once', async () => {
  const ticket = await make('psa/api/tickets', { subject: 'x', companyId });
  await openedAgo(ticket.id, 2 * HOUR);
  await org.call('PATCH', `/psa/api/tickets/${ticket.id}`, { dueAt: fromNow(-HOUR) });
  const breached = await become('psa/api/tickets', ticket.id, { slaStatus: 'breached' });
  expect(breached).toMatchObject({ version: 3, slaTarget: 'resolution' });
  expect(await payload(ticket.id, 3, 'ticket.sla_breached')).toMatchObject({ overdue_minutes: 60 });
});

test('a ticket that was opened while its board was deleted has the service level when the board is back', async () => {
  const board = await make('psa/api/boards', { name: 'Service desk', slaResolutionMinutes: 1 });
  const ticket = await make('psa/api/tickets', { subject: 'x', boardId: board.id });
  await openedAgo(ticket.id, 50_000);
  expect((await org.call('DELETE', `/psa/api/boards/${board.id}`)).status).toBe(204);
  await pass('psa');
  expect(await read('psa/api/tickets', ticket.id)).toMatchObject({ slaStatus: 'ok' });
  expect((await org.call('POST', `/psa/api/boards/${board.id}/restore`)).status).toBe(200);
  await become('psa/api/tickets', ticket.id, { slaStatus: 'warning', slaTarget: 'resolution' });
});

test('a warning is taken back when the board gives more time, or none, and comes again with the right deadline', async () => {
  const board = await make('psa/api/boards', { name: 'Service desk', slaResolutionMinutes: 10 });
  const ticket = await make('psa/api/tickets', { subject: 'x', boardId: board.id });
  await openedAgo(ticket.id, 9 * 60_000);
  const give = (minutes: number | null) =>
    org.call('PATCH', `/psa/api/boards/${board.id}`, { slaResolutionMinutes: minutes });
  const warned = await become('psa/api/tickets', ticket.id, { slaStatus: 'warning' });
  await give(480);
  await become('psa/api/tickets', ticket.id, { slaStatus: 'ok', slaTarget: null, slaDueAt: null });
  await give(11);
  const again = await become('psa/api/tickets', ticket.id, { slaStatus: 'warning' });
  expect(Date.parse(String(again['slaDueAt'])) - Date.parse(String(warned['slaDueAt']))).toBe(60_000);
  await give(null);
  await become('psa/api/tickets', ticket.id, { slaStatus: 'ok', slaTarget: null, slaDueAt: null });
});

test('a resolved ticket is late no more', async () => {
  const ticket = await make('psa/api/tickets', { subject: 'x', dueAt: fromNow(1_000) });
  await org.call('PATCH', `/psa/api/tickets/${ticket.id}`, { status: 'resolved' });
  const other = await make('psa/api/tickets', { subject: 'y', dueAt: fromNow(1_500) });
  await become('psa/api/tickets', other.id, { slaStatus: 'breached' });
  expect(await read('psa/api/tickets', ticket.id)).toMatchObject({ slaStatus: 'ok', version: 2 });
});

test('an invoice is overdue from the day after its due date', async () => {
  const day = (days: number): string => fromNow(days * 86_400_000).slice(0, 10);
  const body = { companyId, issueDate: day(-40), lines: [{ description: 'x', quantity: 1, unitPrice: 700 }] };
  const invoice = await make('books/api/invoices', { ...body, dueDate: day(-1), status: 'sent' });
  const punctual = await make('books/api/invoices', { ...body, dueDate: day(0), status: 'sent' });
  expect(await become('books/api/invoices', invoice.id, { status: 'overdue' })).toMatchObject({ version: 2 });
  expect(await payload(invoice.id, 2, 'invoice.overdue')).toMatchObject({
    days_overdue: 1,
    amount: 700,
    invoice_number: invoice['number'],
    client_id: companyId,
  });
  expect(await read('books/api/invoices', punctual.id)).toMatchObject({ status: 'sent', version: 1 });
  await make('books/api/payments', { invoiceId: invoice.id, amount: 700, method: 'wire', status: 'settled' });
  expect(await read('books/api/invoices', invoice.id)).toMatchObject({ status: 'paid' });
});

test('an overdue invoice is told of on each reminder day, once, with whom to write to', async () => {
  const day = (days: number): string => fromNow(days * 86_400_000).slice(0, 10);
  const contact = { firstName: 'Ana', lastName: 'Reyes', email: 'ana@northwind.example', companyId };
  const contactId = (await make('crm/api/contacts', contact)).id;
  const lines = [{ description: 'x', quantity: 1, unitPrice: 700 }];
  const { id } = await make('books/api/invoices', {
    companyId,
    contactId,
    lines,
    status: 'sent',
    issueDate: day(-40),
    dueDate: day(-1),
  });
  const filters = templates.find((template) => template.id === 'tpl_overdue_invoice')?.trigger.filters ?? [];
  const reminds = async (version: number) =>
    matchesFilters(filters, await payload(id, version, 'invoice.overdue'), new Date()).holds;
  /** As if that many days had passed since the due date. */
  const passDays = (days: number) =>
    documentsOf(harness.store, resourceOf('invoices')).collection.updateOne({ _id: id } as never, {
      $set: { dueDate: day(-days), due: new Date() },
    });

  expect(await become('books/api/invoices', id, { daysOverdue: 1 })).toMatchObject({ status: 'overdue', version: 2 });
  expect(await reminds(2)).toBe(false);
  await passDays(3);
  expect(await become('books/api/invoices', id, { daysOverdue: 3 })).toMatchObject({ version: 3 });
  expect(await payload(id, 3, 'invoice.overdue')).toMatchObject({
    days_overdue: 3,
    contact_email: 'ana@northwind.example',
    changed: ['days_overdue'],
  });
  expect(await reminds(3)).toBe(true);
  // Nobody looked on the tenth day: one reminder comes, not two.
  await passDays(25);
  expect(await become('books/api/invoices', id, { daysOverdue: 20 })).toMatchObject({ version: 4 });
  expect(await reminds(4)).toBe(true);
  await passDays(26);
  await Promise.all([pass('books'), pass('books')]);
  expect(await read('books/api/invoices', id)).toMatchObject({ version: 4 });
  const moved = await org.call('PATCH', `/books/api/invoices/${id}`, { dueDate: day(-5) });
  expect(moved.body as unknown).toMatchObject({ status: 'overdue', daysOverdue: 3 });
  const later = await org.call('PATCH', `/books/api/invoices/${id}`, { dueDate: day(5) });
  expect(later.body as unknown).toMatchObject({ status: 'sent', daysOverdue: 0 });
});

test('a device that falls silent is offline, and one that reports is not', async () => {
  const silentFor = (milliseconds: number): Values => ({
    hostname: 'SRV-FILE-01',
    companyId,
    status: 'online',
    lastSeenAt: fromNow(-milliseconds),
  });
  const lively = await make('rmm/api/devices', silentFor(0));
  const device = await make('rmm/api/devices', silentFor(15 * 60_000 - 2_000));
  expect(await become('rmm/api/devices', device.id, { status: 'offline' })).toMatchObject({ version: 2 });
  expect(await payload(device.id, 2, 'device.offline')).toMatchObject({ hours_offline: 0.3 });
  expect(await read('rmm/api/devices', lively.id)).toMatchObject({ status: 'online', version: 1 });
});

test('a restore point expires once, and again only when it was kept for longer', async () => {
  const job = await make('backups/api/jobs', { name: 'Nightly', companyId, jobType: 'image' });
  const point = { jobId: job.id, pointAt: fromNow(-86_400_000), expiresAt: fromNow(2_000) };
  const { id, expiresAt } = await make('backups/api/restore-points', point);
  expect(await become('backups/api/restore-points', id, { expiredAt: expiresAt })).toMatchObject({ version: 2 });
  expect(await payload(id, 2, 'restore_point.expired')).toMatchObject({ client_id: companyId });
  const later = await org.call('PATCH', `/backups/api/restore-points/${id}`, { expiresAt: fromNow(86_400_000) });
  expect(later.body as unknown).toMatchObject({ expiredAt: null });
});

test('a deleted record has no moment any more', async () => {
  const ticket = await make('psa/api/tickets', { subject: 'x', dueAt: fromNow(500) });
  await org.call('DELETE', `/psa/api/tickets/${ticket.id}`);
  const other = await make('psa/api/tickets', { subject: 'y', dueAt: fromNow(1_000) });
  await become('psa/api/tickets', other.id, { slaStatus: 'breached' });
  expect(await logged(ticket.id, 3, 'ticket.sla_breached')).toBeNull();
});

test('a look at what is due asks an index, not the collection', async () => {
  for (const row of RESOURCES.filter(({ timer }) => timer)) {
    const plan = await dueQuery(harness.store, row, new Date(), { limit: 200, except: [] }).explain();
    expect([row.key, JSON.stringify(plan)]).toEqual([row.key, expect.stringMatching(/[iI]ndex ?Name":"due"/)]);
    expect([row.key, JSON.stringify(plan)]).toEqual([row.key, expect.not.stringMatching(/Sort Key|"SORT"/)]);
  }
});

test('every event that is declared to come by time came above', () => {
  const declared = RESOURCES.flatMap((row) =>
    Object.entries(row.events).flatMap(([name, { fires }]) =>
      fires?.by === 'timer' ? [`${row.singular}.${name}`] : [],
    ),
  );
  expect(declared.length).toBeGreaterThan(0);
  expect([...seen]).toEqual(expect.arrayContaining(declared));
});

test('every product with timers has its schedule', async () => {
  expect([...TIMED_PRODUCTS].toSorted()).toEqual(['backups', 'books', 'psa', 'rmm']);
  for (const product of TIMED_PRODUCTS) {
    const { spec } = await engine.client.schedule.getHandle(`signalbox-timed-${product}`).describe();
    expect(spec.intervals).toEqual([expect.objectContaining({ every: 30_000 })]);
  }
});
