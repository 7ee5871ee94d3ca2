/** An agent's life: created as a draft, changed, activated, paused, resumed, deleted, and never lost between two writers. */
import { agents } from '../../../src/store/agents';
import { activeAgent, definitionWith, fire, GATE, openGateOf, run, VARIABLES } from '../../support/agents';
import {
  joinStack,
  list,
  text,
  waitForExecution,
  type Answer,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { expectRefusal, get, outcomeOf, post, put, remove, statusesOf } from './support';

let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());

const draft = async (of: TestOrg = org, more: Record<string, unknown> = {}): Promise<string> =>
  text((await post(of, '/agents', definitionWith([VARIABLES], more))).body['id']);
const move = (id: string, status: string, of: TestOrg = org): Promise<Answer> => put(of, `/agents/${id}`, { status });
const statusOf = async (id: string, of: TestOrg = org): Promise<string> =>
  text((await get(of, `/agents/${id}`)).body['status']);
const parallel = <Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_unused, index) => work(index)));

describe('create and change', () => {
  test('what is left out gets its default, what is given is kept as given', async () => {
    const full = {
      name: 'Full',
      description: 'Everything given',
      category: 'finance',
      trigger: {
        type: 'bus_event',
        event_type: 'invoice.overdue',
        source_product: 'books',
        filters: [{ field: 'days_overdue', operator: 'gt', value: 30 }],
      },
      conditions: [{ field: 'event_payload.amount', operator: 'gte', value: 100 }],
      steps: [{ ...GATE, name: 'Ask', message: 'Remind about {{event_payload.amount}}?', expires_in: '30m' }],
      conflict_behavior: 'exclusive',
      priority: 7,
      client_scope: 'selected',
      client_ids: ['cli_1', 'cli_2'],
    };
    const created = await post(org, '/agents', full);
    expect([created.status, created.body]).toEqual([201, expect.objectContaining(full)]);
    expect((await get(org, `/agents/${text(created.body['id'])}`)).body).toEqual(created.body);
  });

  test('PUT changes the fields it names and no others', async () => {
    const id = await draft();
    const before = (await get(org, `/agents/${id}`)).body;
    const changes: Record<string, unknown>[] = [
      { name: 'Second name' },
      { description: 'Says more' },
      { category: 'hr' },
      { steps: [GATE] },
      { conditions: [{ field: 'event_payload.name', operator: 'exists' }] },
      { trigger: { type: 'bus_event', event_type: 'custom.other', source_product: 'rmm', filters: [] } },
      { conflict_behavior: 'defer' },
      { priority: -3 },
      { client_scope: 'excluded', client_ids: ['cli_9'] },
      { client_scope: 'internal', client_ids: [] },
      { description: '' },
    ];
    let expected: Record<string, unknown> = before;
    for (const change of changes) {
      const answer = await put(org, `/agents/${id}`, change);
      expected = { ...expected, ...change, version: expect.any(Number), updated_at: expect.any(String) };
      expect([answer.status, answer.body]).toEqual([200, expected]);
    }
    expect((await get(org, `/agents/${id}`)).body).toEqual(expected);
  });

  test('an active agent can be changed; later events run the new definition, the running one keeps its own', async () => {
    const other = await harness.newOrg();
    const id = await activeAgent(other, definitionWith([GATE, VARIABLES]));
    const first = await run(other);
    await openGateOf(other, first);
    const changed = await put(other, `/agents/${id}`, { steps: [{ ...VARIABLES, values: { greeting: 'New' } }] });
    expect(changed.body).toMatchObject({ status: 'active' });
    const second = await waitForExecution(other, await run(other), ['completed']);
    expect(list(second['steps'])).toHaveLength(1);
    expect(list(second['steps'])[0]).toMatchObject({ output: { greeting: 'New' } });
    const gate = await openGateOf(other, first);
    await post(other, `/approvals/${text(gate['id'])}/decision`, { decision: 'approved' });
    const done = await waitForExecution(other, first, ['completed']);
    expect(statusesOf(done)).toEqual(['gate completed', 'vars completed']);
    expect(list(done['steps'])[1]).toMatchObject({ output: { greeting: 'Hello Ada' } });
    expect(Number(second['agent_version'])).toBeGreaterThan(Number(done['agent_version']));
  });
});

describe('status', () => {
  test('draft → active → paused → active, and events reach it only while it is active', async () => {
    const other = await harness.newOrg();
    const id = await draft(other);
    const expectRun = async (outcome: string): Promise<void> => {
      const answer = await post(other, '/events/ingest', {
        event_type: 'custom.test',
        source_product: 'psa',
        payload: { name: 'Ada' },
      });
      expect(answer.body['matched']).toBe(outcome === 'started' ? 1 : 0);
      expect(await outcomeOf(other, text(answer.body['event_id']), id)).toMatchObject({ outcome });
    };
    await expectRun('draft');
    for (const [status, outcome] of [
      ['active', 'started'],
      ['paused', 'paused'],
      ['active', 'started'],
    ] as const) {
      const answer = await move(id, status, other);
      expect([answer.status, text(answer.body['status'])]).toEqual([200, status]);
      await expectRun(outcome);
    }
  });

  const ILLEGAL: [string, string[]][] = [
    ['draft', ['paused', 'error']],
    ['active', ['draft', 'error']],
    ['paused', ['draft', 'error']],
  ];
  test.each(ILLEGAL)('a %s agent cannot become %j', async (from, targets) => {
    const id = await draft();
    if (from !== 'draft') await move(id, 'active');
    if (from === 'paused') await move(id, 'paused');
    for (const to of targets) {
      const answer = await move(id, to);
      expectRefusal(answer, 409, 'invalid_status_transition');
      expect(answer.body['details']).toEqual([expect.objectContaining({ from, to })]);
    }
    // Together with another change nothing of it is done.
    expectRefusal(await put(org, `/agents/${id}`, { name: 'Half', status: 'error' }), 409, 'invalid_status_transition');
    expect((await get(org, `/agents/${id}`)).body).toMatchObject({ status: from, name: 'Test agent' });
    // The status it has is no move.
    expect((await move(id, from)).status).toBe(200);
  });

  test('pausing lets what runs go on', async () => {
    const other = await harness.newOrg();
    const id = await activeAgent(other, definitionWith([GATE, VARIABLES]));
    const execution = await run(other);
    const gate = await openGateOf(other, execution);
    await move(id, 'paused', other);
    await post(other, `/approvals/${text(gate['id'])}/decision`, { decision: 'approved' });
    await waitForExecution(other, execution, ['completed']);
  });
});

describe('delete', () => {
  test('cancels what is active first: gates are denied, steps skipped; then the agent is gone', async () => {
    const other = await harness.newOrg();
    const id = await activeAgent(other, definitionWith([GATE, VARIABLES]));
    const executions = [await run(other), await run(other)];
    const gates = [];
    for (const execution of executions) gates.push(await openGateOf(other, execution));
    const removed = await remove(other, `/agents/${id}`);
    expect([removed.status, removed.text]).toEqual([204, '']);
    for (const [index, executionId] of executions.entries()) {
      const execution = (await get(other, `/executions/${executionId}`)).body;
      expect(execution).toMatchObject({ status: 'cancelled', status_reason: 'agent_deleted' });
      expect(statusesOf(execution)).toEqual(['gate skipped', 'vars skipped']);
      const path = `/approvals/${text(gates[index]?.['id'])}/decision`;
      expectRefusal(await post(other, path, { decision: 'approved' }), 409, 'approval_closed');
    }
    const denied = list((await get(other, '/approvals?status=denied')).body['approvals']);
    expect(denied.map((approval) => text(approval['decided_by']))).toEqual([
      'system:execution_cancelled',
      'system:execution_cancelled',
    ]);
    for (const answer of [
      await get(other, `/agents/${id}`),
      await put(other, `/agents/${id}`, { name: 'Back' }),
      await remove(other, `/agents/${id}`),
      await post(other, `/agents/${id}/clone`, {}),
    ])
      expectRefusal(answer, 404, 'agent_not_found');
    expect(await fire(other)).toEqual([]);
    // What it did stays readable.
    expect((await get(other, `/executions?agent_id=${id}`)).body['total']).toBe(2);
  });

  test('a deletion that was broken off is finished by the next, whoever asks', async () => {
    const other = await harness.newOrg();
    const id = await activeAgent(other, definitionWith([GATE]));
    const waiting = await parallel(25, async () => run(other));
    for (const execution of waiting) await waitForExecution(other, execution, ['waiting_approval']);
    // As a process leaves it that dies behind the mark.
    await agents.in(harness.store).updateOne({ _id: id }, { $set: { deleting: true, updated_at: new Date() } });
    expect((await remove(other, `/agents/${id}`)).status).toBe(204);
    const cancelled = await get(other, `/executions?agent_id=${id}&status=cancelled`);
    expect(cancelled.body['total']).toBe(waiting.length);
    expectRefusal(await remove(other, `/agents/${id}`), 404, 'agent_not_found');
  });

  test('a draft, an active and a paused agent can all be deleted, twice at once or not, and it is recorded once', async () => {
    for (const statuses of [[], ['active'], ['active', 'paused']]) {
      const id = await draft();
      for (const status of statuses) await move(id, status);
      const answers = await parallel(2, () => remove(org, `/agents/${id}`));
      // The second comes before or after the first is answered: it repeats what has no answer yet, or finds nothing.
      expect([
        [204, 204],
        [204, 404],
      ]).toContainEqual(answers.map(({ status }) => status).toSorted((a, b) => a - b));
      expectRefusal(await remove(org, `/agents/${id}`), 404, 'agent_not_found');
      const trail = harness.store.connection.collection('audit_entries');
      expect(await trail.countDocuments({ 'target.id': id, action: 'agent.deleted' })).toBe(1);
    }
  });
});

describe('the cap of active agents', () => {
  test('is that of the tier, and the refusal names it', async () => {
    const capped = await harness.newOrg({ tier: 'standard' });
    for (let count = 0; count < 10; count += 1)
      expect((await move(await draft(capped), 'active', capped)).status).toBe(200);
    const answer = await move(await draft(capped), 'active', capped);
    expectRefusal(answer, 429, 'agent_limit_reached');
    expect(answer.body['details']).toEqual([{ limit: 10, active: 10, tier: 'standard' }]);
    // Waiting does not help, so nothing says how long to wait.
    expect(answer.headers.get('retry-after')).toBeNull();
  });

  test('of ten activations at once exactly as many succeed as there are places', async () => {
    const capped = await harness.newOrg({ agentLimit: 4 });
    const ids = await parallel(10, () => draft(capped));
    const answers = await Promise.all(ids.map((id) => move(id, 'active', capped)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(6);
    for (const answer of refused) expectRefusal(answer, 429, 'agent_limit_reached');
    expect((await get(capped, '/agents?status=active&type=custom')).body['total']).toBe(4);
    expect((await get(capped, '/agents?status=draft')).body['total']).toBe(6);
  });

  test('pausing and deleting give the place back; system agents take none', async () => {
    const capped = await harness.newOrg({ agentLimit: 1 });
    const [one = '', two = '', three = ''] = await parallel(3, () => draft(capped));
    expect((await move(one, 'active', capped)).status).toBe(200);
    expectRefusal(await move(two, 'active', capped), 429, 'agent_limit_reached');
    // Staying active and changing the definition need no second place.
    expect((await move(one, 'active', capped)).status).toBe(200);
    expect((await put(capped, `/agents/${one}`, { name: 'Changed' })).status).toBe(200);
    await move(one, 'paused', capped);
    expect((await move(two, 'active', capped)).status).toBe(200);
    expectRefusal(await move(one, 'active', capped), 429, 'agent_limit_reached');
    await remove(capped, `/agents/${two}`);
    expect((await move(three, 'active', capped)).status).toBe(200);
    expect((await get(capped, '/agents?type=system&status=active')).body['total']).toBeGreaterThan(1);
  });

  test('the same agent activated many times at once takes one place and keeps it', async () => {
    const capped = await harness.newOrg({ agentLimit: 1 });
    for (let round = 0; round < 5; round += 1) {
      const id = await draft(capped);
      const answers = await parallel(4, () => move(id, 'active', capped));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expectRefusal(await move(await draft(capped), 'active', capped), 429, 'agent_limit_reached');
      await move(id, 'paused', capped);
    }
  });

  test('an agent paused and resumed by two people at once holds a place exactly while it is active', async () => {
    const capped = await harness.newOrg({ agentLimit: 1 });
    const [id = '', rival = ''] = await parallel(2, () => draft(capped));
    await move(id, 'active', capped);
    for (let round = 0; round < 10; round += 1) {
      await Promise.all([move(id, 'paused', capped), move(id, 'active', capped)]);
      const isActive = (await statusOf(id, capped)) === 'active';
      const answer = await move(rival, 'active', capped);
      expect(answer.status).toBe(isActive ? 429 : 200);
      if (!isActive) await move(rival, 'paused', capped);
      expect((await move(id, 'active', capped)).status).toBe(200);
    }
  });
});

describe('two writers', () => {
  const nameAndTag = async (id: string): Promise<{ name: string; tag: string }> => {
    const { body, headers } = await get(org, `/agents/${id}`);
    return { name: text(body['name']), tag: headers.get('etag') ?? '' };
  };

  test('If-Match takes the tag of GET, PUT and POST, and refuses an older one', async () => {
    const created = await post(org, '/agents', definitionWith([VARIABLES]));
    const path = `/agents/${text(created.body['id'])}`;
    const { tag } = await nameAndTag(text(created.body['id']));
    const first = await put(org, path, { name: 'First' }, { 'if-match': created.headers.get('etag') ?? '' });
    expect(first.status).toBe(200);
    expectRefusal(await put(org, path, { name: 'Second' }, { 'if-match': tag }), 412, 'version_conflict');
    const refused = await put(org, path, { name: 'Second' }, { 'if-match': '"nonsense"' });
    expectRefusal(refused, 412, 'version_conflict');
    expect(refused.headers.get('etag')).toBe(`W/"${text(created.body['id'])}.2"`);
    const second = await put(org, path, { name: 'Second' }, { 'if-match': first.headers.get('etag') ?? '' });
    expect([second.status, text(second.body['name'])]).toEqual([200, 'Second']);
    expect((await put(org, path, { name: 'Third' }, { 'if-match': '*' })).status).toBe(200);
  });

  test('of several with the same tag one succeeds, the others are told', async () => {
    const id = await draft();
    const { tag } = await nameAndTag(id);
    const answers = await parallel(5, (index) =>
      put(org, `/agents/${id}`, { name: `Name ${index}` }, { 'if-match': tag }),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, 412, 'version_conflict');
    expect((await nameAndTag(id)).name).toBe(text(won[0]?.body['name']));
  });

  test('changes of different fields at once are all kept', async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = await draft();
      const changes = [
        { name: 'Both' },
        { description: 'Kept' },
        { category: 'hr' },
        { priority: 5 },
        { status: 'active' },
      ];
      const answers = await Promise.all(changes.map((change) => put(org, `/agents/${id}`, change)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      expect((await get(org, `/agents/${id}`)).body).toMatchObject(Object.assign({}, ...changes) as object);
    }
  });

  test('of sixty changes at once none is sent away', async () => {
    const id = await draft();
    const answers = await parallel(60, (index) => put(org, `/agents/${id}`, { priority: index + 1 }));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 60 }, () => 200));
  });

  test('a GET with the tag it gave is answered 304 until something changes', async () => {
    const id = await draft();
    const { tag } = await nameAndTag(id);
    const again = (): Promise<Answer> =>
      org.call('GET', `/agents/api/agents/${id}`, undefined, { 'if-none-match': tag });
    expect([(await again()).status, (await again()).text]).toEqual([304, '']);
    await put(org, `/agents/${id}`, { name: 'Other' });
    expect((await again()).status).toBe(200);
  });
});

test('a deletion with If-Match removes the version that was read, or nothing', async () => {
  const id = await draft();
  const path = `/agents/api/agents/${id}`;
  const read = await org.call('GET', path);
  const stale = { 'if-match': read.headers.get('etag') ?? '' };
  expect((await put(org, `/agents/${id}`, { description: 'Changed by a colleague' })).status).toBe(200);
  const refused = await org.call('DELETE', path, undefined, stale);
  expectRefusal(refused, 412, 'version_conflict');
  expect((await org.call('DELETE', path, undefined, { 'if-match': '' })).status).toBe(412);
  const fresh = { 'if-match': (await org.call('GET', path)).headers.get('etag') ?? '' };
  expect((await org.call('DELETE', path, undefined, fresh)).status).toBe(204);
  expect((await org.call('DELETE', path, undefined, fresh)).status).toBe(404);
});
