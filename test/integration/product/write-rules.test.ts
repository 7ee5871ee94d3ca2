/** The rules of the rows that are more than types, on the whole product: what is refused, and what follows. */
import { derivedId } from '../../../src/domain/ids';
import { resourceOf } from '../../../src/resources/registry';
import type { AnyRecord } from '../../../src/resources/resource';
import { removeResource } from '../../../src/store/resources';
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

describe('contacts and numbers', () => {
  test('a contact has a last name', async () => {
    const body = await bodyOf(resourceOf('contacts'), {});
    delete body['lastName'];
    await refused(org.call('POST', addressOf('contacts'), body), 400, /lastName/);
  });

  test('invoice numbers are texts that rise one by one', async () => {
    const { companyId } = await make('deals');
    const numbers = [];
    for (let count = 0; count < 3; count += 1) numbers.push((await make('invoices', { companyId }))['number']);
    const first = Number(String(numbers[0]).replace('INV-', ''));
    expect(numbers).toEqual([0, 1, 2].map((step) => `INV-${String(first + step).padStart(6, '0')}`));
  });
});

describe('deals', () => {
  test('a deal that is won is reopened by its own action alone', async () => {
    const deal = await make('deals', { stage: 'won' });
    expect(deal['closedAt']).not.toBeNull();
    await refused(patch('deals', deal.id, { stage: 'proposal' }), 409, /reopen/);
    await refused(act('deals', deal.id, 'reopen', { stage: 'won' }), 400, /stage/);
    const open = await changed(act('deals', deal.id, 'reopen', { stage: 'proposal' }));
    expect(open).toMatchObject({ stage: 'proposal', closedAt: null });
    expect(await payloadOf('deals', 'deal.stage_changed', deal.id)).toMatchObject({ from: 'won', to: 'proposal' });
    await refused(
      act('deals', deal.id, 'reopen', { stage: 'lead' }),
      409,
      /is proposal; this can be done only while it is won or lost/,
    );
  });
});

describe('incidents', () => {
  test('an incident moves forward only', async () => {
    const incident = await make('incidents', { status: 'investigating' });
    await refused(patch('incidents', incident.id, { status: 'open' }), 409, /cannot change from investigating to open/);
    const contained = await changed(patch('incidents', incident.id, { status: 'contained' }));
    expect(contained['containedAt']).not.toBeNull();
    expect((await changed(patch('incidents', incident.id, { status: 'closed' })))['closedAt']).not.toBeNull();
  });
});

describe('response actions', () => {
  test('the system that runs one reports it; how it ended stays', async () => {
    const action = await make('response-actions');
    expect(action).toMatchObject({ status: 'pending', result: null, completedAt: null });
    expect((await patch('response-actions', action.id, { status: 'running' })).status).toBe(400);
    expect(await changed(act('response-actions', action.id, 'result', { status: 'running' }))).toMatchObject({
      status: 'running',
      completedAt: null,
    });
    const report = { status: 'failed', result: 'no such process' };
    const ended = await changed(act('response-actions', action.id, 'result', report));
    expect(ended).toMatchObject({ ...report, completedAt: expect.any(String) as unknown });
    expect(await changed(act('response-actions', action.id, 'result', report))).toEqual(ended);
    await refused(act('response-actions', action.id, 'result', { status: 'succeeded' }), 409, /failed/);
    await refused(patch('response-actions', action.id, { parameters: { a: 1 } }), 409, /does not change/);
    const { hostname, client_id: clientId } = await payloadOf('response-actions', 'response_action.failed', action.id);
    expect([hostname, clientId]).toEqual(['SRV-FILE-01', expect.stringMatching(/^cmp_/)]);
  });
});

describe('reports of syncs and workflows', () => {
  const at = (minute: number) => `2026-11-20T22:${minute}:00.000Z`;

  test('a sync knows when it ran last and why it failed', async () => {
    const sync = await make('entity-sync');
    const failed = { outcome: 'failed', at: at(10), error: 'mapping_missing' };
    const broken = await changed(act('entity-sync', sync.id, 'result', failed));
    expect(broken).toMatchObject({ status: 'error', lastSyncAt: at(10), lastError: 'mapping_missing' });
    expect(await changed(act('entity-sync', sync.id, 'result', failed))).toEqual(broken);
    const healed = await changed(act('entity-sync', sync.id, 'result', { outcome: 'succeeded', at: at(20) }));
    expect(healed).toMatchObject({ status: 'active', lastSyncAt: at(20), lastError: null });
    await payloadOf('entity-sync', 'entity_sync.failed', sync.id);
    await payloadOf('entity-sync', 'entity_sync.completed', sync.id);
  });

  test('each failed run of a workflow is an event', async () => {
    const workflow = await make('workflows');
    const run = (minute: number) =>
      act('workflows', workflow.id, 'result', { outcome: 'failed', at: at(minute), error: 'no lines' });
    await changed(run(10));
    expect(await changed(run(20))).toMatchObject({ lastRunAt: at(20), lastRunError: 'no lines' });
    expect(await payloadOf('workflows', 'workflow.failed', workflow.id)).toMatchObject({ last_run_error: 'no lines' });
  });
});

describe('reports that come late', () => {
  const [early, late] = ['2026-11-20T22:10:00.000Z', '2026-11-20T22:20:00.000Z'];

  test.each([
    ['entity-sync', { status: 'error', lastSyncAt: late, lastError: 'newer' }],
    ['workflows', { lastRunAt: late, lastRunError: 'newer' }],
  ])('a report of %s from before the last one changes nothing', async (key, after) => {
    const { id } = await make(key);
    const told = await changed(act(key, id, 'result', { outcome: 'failed', at: late, error: 'newer' }));
    expect(told).toMatchObject(after);
    for (const at of [early, late, '2026-11-20T23:20:00+01:00'])
      expect(await changed(act(key, id, 'result', { outcome: 'succeeded', at }))).toEqual(told);
  });
});

describe('roles of people', () => {
  test('their order says nothing', async () => {
    const [one, other] = [await make('roles'), await make('roles')];
    const user = await make('users', { roleIds: [one.id, other.id] });
    await changed(patch('users', user.id, { roleIds: [other.id, one.id] }));
    await changed(patch('users', user.id, { roleIds: [one.id] }));
    expect(await payloadOf('users', 'user.role_changed', user.id)).toMatchObject({ role_ids: [one.id] });
    const swapped = derivedId('evt', user.id, 2, 'user.role_changed');
    expect((await org.call('GET', `/agents/api/event-log/${swapped}`)).status).toBe(404);
  });
});

describe('backup jobs', () => {
  test('failures in a row are counted until a run leaves a copy, and each is an event with its code', async () => {
    const job = await make('jobs', { deviceId: (await make('devices')).id });
    expect(job).toMatchObject({ consecutiveFailures: 0, lastErrorCode: null });
    const report = (body: Values) => changed(patch('jobs', job.id, body));
    await report({ status: 'running' });
    await report({ status: 'failed', lastErrorCode: 'VSS_TIMEOUT' });
    expect(await report({ status: 'running' })).toMatchObject({ consecutiveFailures: 1, lastErrorCode: null });
    await report({ status: 'failed', lastErrorCode: 'DISK_FULL' });
    expect(await payloadOf('jobs', 'job.failed', job.id)).toMatchObject({
      error_code: 'DISK_FULL',
      consecutive_failures: 2,
      hostname: 'SRV-FILE-01',
    });
    // A system that only tells how runs ended names when they ran.
    expect(await report({ lastRunAt: '2026-11-20T02:30:00.000Z' })).toMatchObject({ consecutiveFailures: 3 });
    expect(await report({ retentionDays: 7 })).toMatchObject({ consecutiveFailures: 3, lastErrorCode: 'DISK_FULL' });
    const warned = await report({ status: 'warning', lastErrorCode: 'FILES_SKIPPED' });
    expect(warned).toMatchObject({ consecutiveFailures: 0, lastErrorCode: 'FILES_SKIPPED' });
    expect(await report({ status: 'succeeded' })).toMatchObject({ lastErrorCode: null });
    expect((await patch('jobs', job.id, { consecutiveFailures: 0 })).status).toBe(400);
  });

  test('the second failure in a row starts the agent that ships with the product', async () => {
    const job = await make('jobs');
    for (const status of ['failed', 'running', 'failed']) await changed(patch('jobs', job.id, { status }));
    const outcomesAt = async (version: number) => {
      const { body } = await org.call(
        'GET',
        `/agents/api/event-log/${derivedId('evt', job.id, version, 'job.failed')}`,
      );
      return body['outcomes'] as unknown as Values[] | undefined;
    };
    const started = expect.objectContaining({ agent_name: 'Failed backup follow-up', outcome: 'started' }) as unknown;
    expect(await waitFor(() => outcomesAt(4), { what: 'the second failure' })).toContainEqual(started);
    expect(await outcomesAt(2)).not.toContainEqual(started);
  });
});

describe('devices', () => {
  test('a device that comes online was seen just then, unless the report says when', async () => {
    const device = await make('devices');
    expect(device['lastSeenAt']).toBeNull();
    const online = await changed(patch('devices', device.id, { status: 'online' }));
    expect(online['lastSeenAt']).toBe(online['updatedAt']);
  });
});

describe('figures over other records', () => {
  test('open detections of an endpoint follow their states and deletions', async () => {
    const endpoint = await make('endpoints');
    const found = [];
    for (let count = 0; count < 3; count += 1) found.push(await make('detections', { endpointId: endpoint.id }));
    const open = async () => (await read('endpoints', endpoint.id))['openDetections'];
    expect(await open()).toBe(3);
    await changed(patch('detections', found[0]?.id ?? '', { status: 'false_positive' }));
    expect(await open()).toBe(2);
    await org.call('DELETE', `${addressOf('detections')}/${found[1]?.id}`);
    expect(await open()).toBe(1);
    const other = await make('endpoints');
    await changed(patch('detections', found[2]?.id ?? '', { endpointId: other.id }));
    expect([await open(), (await read('endpoints', other.id))['openDetections']]).toEqual([0, 1]);
  });

  test('a role knows how many users have it', async () => {
    const role = await make('roles');
    const user = await make('users', { roleIds: [role.id] });
    expect(await read('roles', role.id)).toMatchObject({ memberCount: 1, isSystem: false });
    await changed(patch('users', user.id, { roleIds: [] }));
    expect((await read('roles', role.id))['memberCount']).toBe(0);
  });

  const restored = (key: string, id: string) => changed(org.call('POST', `${addressOf(key)}/${id}/restore`));
  const remove = async (key: string, id: string): Promise<void> => {
    expect((await org.call('DELETE', `${addressOf(key)}/${id}`)).status).toBe(204);
  };

  test('a restored endpoint and a restored role count what happened while they were deleted', async () => {
    const endpoint = await make('endpoints');
    const detection = await make('detections', { endpointId: endpoint.id });
    const role = await make('roles');
    const user = await make('users', { roleIds: [role.id] });
    await remove('endpoints', endpoint.id);
    await remove('roles', role.id);
    await changed(patch('detections', detection.id, { status: 'remediated' }));
    await changed(patch('users', user.id, { roleIds: [] }));
    const back = await restored('endpoints', endpoint.id);
    expect(back).toMatchObject({ openDetections: 0, version: 5 });
    expect(await read('endpoints', endpoint.id)).toEqual(back);
    expect(await restored('roles', role.id)).toMatchObject({ memberCount: 0 });
    expect((await restored('roles', role.id))['version']).toBe((await read('roles', role.id))['version']);
  });

  test('a restored record whose figure did not change is one version on, no more', async () => {
    const endpoint = await make('endpoints');
    await make('detections', { endpointId: endpoint.id });
    const before = await read('endpoints', endpoint.id);
    await remove('endpoints', endpoint.id);
    expect(await restored('endpoints', endpoint.id)).toMatchObject({
      openDetections: 1,
      version: Number(before['version']) + 2,
    });
  });

  test('an invoice that was deleted while a payment came in is paid when it is restored', async () => {
    const invoice = await make('invoices', { status: 'sent' });
    const payment = await make('payments', { invoiceId: invoice.id });
    // Neither request sees the other when both come at the same moment.
    const place = { row: resourceOf('invoices'), tenantId: org.id };
    const before = (await read('invoices', invoice.id)) as AnyRecord;
    expect(await removeResource(harness.store, place, { before, at: new Date() }, [])).toBe('written');
    await changed(patch('payments', payment.id, { status: 'settled' }));
    expect(await restored('invoices', invoice.id)).toMatchObject({ status: 'paid', balance: 0 });
    expect(await payloadOf('invoices', 'invoice.paid', invoice.id)).toMatchObject({ amount: invoice['total'] });
  });
});

test('a client user is found by their address in the spelling it was sent in', async () => {
  const user = await make('client-users', { email: 'Ana@Lower-Cased.example' });
  expect(user['email']).toBe('ana@lower-cased.example');
  const found = async (filter: string) => (await org.call('GET', `/portal/api/client-users/count?${filter}`)).body;
  for (const filter of [
    'email=Ana@Lower-Cased.example',
    'email=ana@lower-cased.example',
    'email.in=b@x.example,ANA@lower-cased.example',
    'email.startsWith=Ana@Lower',
  ])
    expect([filter, await found(filter)]).toEqual([filter, { count: 1, capped: false }]);
  expect(await found(`email.ne=Ana@Lower-Cased.example&companyId=${String(user['companyId'])}`)).toMatchObject({
    count: 0,
  });
});
