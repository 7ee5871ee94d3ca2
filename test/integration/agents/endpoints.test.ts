/** Every endpoint of the agent service answers with its path, its status and exactly its fields. */
import { activeAgent, definitionWith, fire, GATE, openGateOf, REASON, run, VARIABLES } from '../../support/agents';
import {
  joinStack,
  list,
  text,
  waitFor,
  waitForExecution,
  type Answer,
  type Body,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { get, ISO, like, post, put, remove } from './support';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

const whole: unknown = expect.any(Number);
const words: unknown = expect.any(String);
const anObject: unknown = expect.any(Object);

const STATS = {
  total_runs: whole,
  success_rate: whole,
  avg_duration_ms: whole,
  last_run_at: null,
  credits_used_this_month: whole,
};

const agentOf = (org: TestOrg, fields: Record<string, unknown>): unknown => ({
  id: like(/^agt_[0-9A-Z]{26}$/),
  org_id: org.id,
  name: 'Test agent',
  description: '',
  type: 'custom',
  status: 'draft',
  category: 'custom',
  trigger: { type: 'bus_event', event_type: 'custom.test', source_product: 'psa', filters: [] },
  conditions: [],
  steps: [VARIABLES],
  conflict_behavior: 'additive',
  client_scope: 'all',
  stats: STATS,
  priority: 0, // From here on ours, beside the specified fields.
  client_ids: [],
  version: whole,
  error_info: null,
  source: null,
  created_at: ISO,
  updated_at: ISO,
  ...fields,
});

const approvalOf = (execution: Body, fields: Record<string, unknown>): unknown => ({
  id: like(/^apr_/),
  execution_id: execution['id'],
  agent_id: execution['agent_id'],
  step_id: 'gate',
  message: 'Go on for Ada?',
  status: 'pending',
  expires_at: ISO,
  created_at: ISO,
  decided_by: null,
  decided_by_name: null,
  decided_at: null,
  decided_via: null,
  note: null,
  approver: { kind: 'org_users', contact_id: null, client_id: null, unaddressed: null },
  ...fields,
});

const summaryOf = (fields: Record<string, unknown>): Record<string, unknown> => ({
  id: like(/^exe_/),
  agent_id: like(/^agt_/),
  status: 'completed',
  status_reason: null,
  credits_used: 0,
  created_at: ISO,
  completed_at: ISO,
  ...fields,
});

const executionOf = (fields: Record<string, unknown>): unknown => ({
  ...summaryOf({}),
  agent_version: 2,
  started_at: ISO,
  error: null,
  attempt_no: 1,
  retry_of: null,
  retried_by: null,
  trigger_event: { id: like(/^evt_/), event_type: 'custom.test', source_product: 'psa', payload: { name: 'Ada' } },
  steps: anObject,
  workflow_id: like(/^exec_exe_/),
  workflow_url: words,
  ...fields,
});

const CREDITS = {
  org_id: words,
  month: like(/^\d{4}-\d{2}$/),
  total_used: 0,
  allocation: 50,
  remaining: 50,
  by_agent: {},
  by_model: { quick: 0, standard: 0, premium: 0, expert: 0 },
  reserved: 0,
  updated_at: ISO,
};

const created = async (org: TestOrg): Promise<string> =>
  text((await post(org, '/agents', definitionWith([VARIABLES]))).body['id']);

describe('agents', () => {
  let org: TestOrg;
  beforeAll(async () => {
    org = await harness.newOrg();
  });

  test('POST /api/agents answers 201 with the created draft and where it is', async () => {
    const answer = await post(org, '/agents', definitionWith([VARIABLES]));
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual(agentOf(org, {}));
    expect(answer.headers.get('location')).toBe(`/agents/api/agents/${text(answer.body['id'])}`);
  });

  test('GET /api/agents/:id answers the full definition with its stats', async () => {
    const id = await created(org);
    const answer = await get(org, `/agents/${id}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(agentOf(org, { id }));
  });

  test('PUT /api/agents/:id answers the updated agent in the shape of GET', async () => {
    const id = await created(org);
    const answer = await put(org, `/agents/${id}`, { name: 'Renamed' });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(agentOf(org, { id, name: 'Renamed' }));
    expect((await get(org, `/agents/${id}`)).body).toEqual(answer.body);
  });

  test('DELETE /api/agents/:id answers 204 without a body', async () => {
    const answer = await remove(org, `/agents/${await created(org)}`);
    expect([answer.status, answer.text]).toEqual([204, '']);
  });

  test('POST /api/agents/:id/clone answers 201 with a draft that names its source', async () => {
    const id = await created(org);
    const answer = await post(org, `/agents/${id}/clone`, { name: 'Copy' });
    expect(answer.status).toBe(201);
    const source = { kind: 'agent', id, version: '1' };
    expect(answer.body).toEqual(agentOf(org, { id: words, name: 'Copy', type: 'cloned', source }));
    expect(answer.headers.get('location')).toBe(`/agents/api/agents/${text(answer.body['id'])}`);
  });

  test('GET /api/agents answers {agents, total} with the system agents among them', async () => {
    const answer = await get(org, '/agents');
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body).toSorted()).toEqual(['agents', 'total']);
    const agents = list(answer.body['agents']);
    expect(answer.body['total']).toBe(agents.length);
    expect(new Set(agents.map((agent) => text(agent['org_id'])))).toEqual(new Set(['system', org.id]));
    for (const agent of agents) {
      expect(Object.keys(agent).toSorted()).toEqual(Object.keys(agentOf(org, {}) as object).toSorted());
      expect(Object.keys(agent['stats'] ?? {}).toSorted()).toEqual(Object.keys(STATS).toSorted());
    }
  });

  test('GET /api/agents filters by status, type and category, alone and together', async () => {
    const other = await harness.newOrg();
    const active = await activeAgent(other, definitionWith([VARIABLES], { category: 'security' }));
    const draft = text((await post(other, '/agents', definitionWith([VARIABLES]))).body['id']);
    const cloned = text((await post(other, `/agents/${active}/clone`, {})).body['id']);
    const ids = async (query: string): Promise<string[]> => {
      const { body } = await get(other, `/agents?${query}`);
      const found = list(body['agents']).map((agent) => text(agent['id']));
      expect(body['total']).toBe(found.length);
      return found;
    };
    expect(await ids('status=draft')).toEqual([draft, cloned]);
    expect(await ids('type=custom')).toEqual([active, draft]);
    expect(await ids('type=cloned')).toEqual([cloned]);
    expect(await ids('status=error')).toEqual([]);
    expect(await ids('type=template')).toEqual([]);
    expect(await ids('category=security&type=custom')).toEqual([active]);
    expect(await ids('status=active&type=custom&category=security')).toEqual([active]);
    expect(await ids('status=paused')).toEqual([]);
    expect((await ids('type=system')).every((id) => id.startsWith('agt_system_'))).toBe(true);
    expect(await ids('status=active')).toEqual([...(await ids('type=system')), active]);
  });

  test('stats count runs, their rate, their length and the month’s credits', async () => {
    const other = await harness.newOrg();
    const id = await activeAgent(other, definitionWith([REASON]));
    await waitForExecution(other, await run(other), ['completed']);
    const seen = await waitFor(async () => {
      const { stats } = (await get(other, `/agents/${id}`)).body;
      return Number(stats?.['total_runs']) > 0 && stats;
    });
    expect(seen).toEqual({ ...STATS, total_runs: 1, success_rate: 1, last_run_at: ISO, credits_used_this_month: 1 });
    expect(Number.isInteger(seen['avg_duration_ms'])).toBe(true);
  });
});

describe('executions and approvals', () => {
  let org: TestOrg;
  let waiting: Body;
  beforeAll(async () => {
    org = await harness.newOrg();
    await activeAgent(org, definitionWith([VARIABLES, GATE]));
    const id = await run(org);
    await openGateOf(org, id);
    waiting = (await get(org, `/executions/${id}`)).body;
  });

  test('GET /api/executions answers {executions, total, next_cursor} with the summary of each', async () => {
    const answer = await get(org, '/executions?status=waiting_approval');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      executions: [summaryOf({ status: 'waiting_approval', completed_at: null })],
      total: 1,
      next_cursor: null,
      limit: 50,
    });
  });

  test('GET /api/executions/:id answers the trigger event and the step trace', async () => {
    expect(waiting).toEqual(
      executionOf({
        status: 'waiting_approval',
        completed_at: null,
        steps: [
          {
            step_id: 'vars',
            step_type: 'set_variables',
            path: '0',
            status: 'completed',
            output: { greeting: 'Hello Ada' },
            error: null,
            attempts: 1,
            credits_used: 0,
            duration_ms: whole,
            started_at: ISO,
            completed_at: ISO,
          },
          {
            step_id: 'gate',
            step_type: 'approval_gate',
            path: '1',
            status: 'waiting_approval',
            output: {},
            error: null,
            attempts: 1,
            credits_used: 0,
            duration_ms: null,
            started_at: ISO,
            completed_at: null,
            approval_id: like(/^apr_/),
          },
        ],
      }),
    );
  });

  test('GET /api/approvals answers {approvals} and filters by status', async () => {
    const answer = await get(org, '/approvals?status=pending');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ approvals: [approvalOf(waiting, {})], total: 1, next_cursor: null, limit: 50 });
    for (const status of ['approved', 'denied', 'expired'])
      expect((await get(org, `/approvals?status=${status}`)).body['approvals']).toEqual([]);
  });

  test('a gate that names no lifetime stays open for 24 hours', async () => {
    const [approval] = list((await get(org, '/approvals')).body['approvals']);
    const lifetime = Date.parse(text(approval?.['expires_at'])) - Date.parse(text(approval?.['created_at']));
    expect(lifetime).toBe(24 * 3_600_000);
  });

  test('POST /api/approvals/:id/decision answers the approval with decided_by and decided_at', async () => {
    const executionId = await run(org);
    const approval = await openGateOf(org, executionId);
    const yes = { decision: 'approved', note: 'Fine by me' };
    const answer = await post(org, `/approvals/${text(approval['id'])}/decision`, yes);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(
      approvalOf((await get(org, `/executions/${executionId}`)).body, {
        status: 'approved',
        decided_by: like(/^key_/),
        decided_by_name: 'test',
        decided_at: ISO,
        decided_via: 'api',
        note: 'Fine by me',
      }),
    );
    const done = await waitForExecution(org, executionId, ['completed']);
    expect(done).toEqual(executionOf({}));
    const gate = list(done['steps'])[1];
    expect(gate).toMatchObject({
      status: 'completed',
      output: {
        decision: 'approved',
        decided_by: answer.body['decided_by'],
        decided_by_name: 'test',
      },
    });
  });

  test('POST /api/executions/:id/cancel answers 200 with the cancelled execution', async () => {
    const id = await run(org);
    await openGateOf(org, id);
    const answer = await post(org, `/executions/${id}/cancel`);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(executionOf({ status: 'cancelled', status_reason: 'cancelled_by_user' }));
  });

  test('POST /api/executions/:id/retry answers 202 with the new execution and where it is', async () => {
    const id = await run(org);
    await openGateOf(org, id);
    await post(org, `/executions/${id}/cancel`);
    const answer = await post(org, `/executions/${id}/retry`);
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual(
      executionOf({ status: 'pending', started_at: null, completed_at: null, attempt_no: 2, retry_of: id }),
    );
    expect(answer.headers.get('location')).toBe(`/agents/api/executions/${text(answer.body['id'])}`);
    expect((await get(org, `/executions/${id}`)).body['retried_by']).toBe(answer.body['id']);
  });
});

describe('templates, events and credits', () => {
  let org: TestOrg;
  beforeAll(async () => {
    org = await harness.newOrg({ credits: 50 });
  });

  test('GET /api/templates answers {templates} in the order of their categories', async () => {
    const answer = await get(org, '/templates');
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body)).toEqual(['templates']);
    const templates = list(answer.body['templates']);
    const order = ['operations', 'security', 'billing', 'hr', 'custom'];
    const categories = templates.map((template) => text(template['category']));
    expect([...new Set(categories)]).toEqual(order);
    expect(categories).toEqual(categories.toSorted((one, other) => order.indexOf(one) - order.indexOf(other)));
    for (const template of templates)
      expect(template).toEqual({
        id: like(/^tpl_/),
        category: words,
        name: words,
        description: words,
        version: like(/^\d+\.\d+\.\d+$/),
        trigger: expect.objectContaining({ type: 'bus_event', event_type: words, source_product: words }) as unknown,
        definition: anObject,
      });
    for (const category of order) {
      const filtered = list((await get(org, `/templates?category=${category}`)).body['templates']);
      expect(filtered).toEqual(templates.filter((template) => text(template['category']) === category));
    }
  });

  test('POST /api/templates/:id/clone answers 201 with a draft, by the template’s name or the one given', async () => {
    const [template] = list((await get(org, '/templates')).body['templates']);
    const id = text(template?.['id']);
    const source = { kind: 'template', id, version: template?.['version'] };
    for (const [body, name] of [
      [undefined, template?.['name']],
      [{}, template?.['name']],
      [{ name: 'Ours' }, 'Ours'],
    ] as const) {
      const answer = await post(org, `/templates/${id}/clone`, body);
      expect([answer.status, answer.body]).toEqual([
        201,
        agentOf(org, {
          ...(template?.['definition'] as object),
          name,
          type: 'cloned',
          source,
          version: 1,
        }),
      ]);
      expect(answer.headers.get('location')).toBe(`/agents/api/agents/${text(answer.body['id'])}`);
    }
  });

  test('every template can be cloned and its clone activated', async () => {
    for (const template of list((await get(org, '/templates')).body['templates'])) {
      const clone = await post(org, `/templates/${text(template['id'])}/clone`, {});
      const active = await put(org, `/agents/${text(clone.body['id'])}`, { status: 'active' });
      expect([text(template['id']), active.status]).toEqual([text(template['id']), 200]);
    }
  });

  test('GET /api/events answers {events}, filtered by product and category', async () => {
    const answer = await get(org, '/events');
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body)).toEqual(['events']);
    const events = list(answer.body['events']);
    for (const event of events) {
      expect(event).toEqual({
        id: `${text(event['source_product'])}:${text(event['event_type'])}`,
        source_product: words,
        event_type: words,
        category: words,
        display_name: words,
        description: words,
        filterable_fields: anObject,
        sample_payload: anObject,
      });
      for (const field of list(event['filterable_fields'])) {
        const keys = ['label', 'path', 'type', ...(text(field['type']) === 'enum' ? ['enum_values'] : [])];
        expect(Object.keys(field).toSorted()).toEqual(keys.toSorted());
      }
    }
    const ids = events.map((event) => text(event['id']));
    expect(ids).toEqual(
      expect.arrayContaining([
        'psa:ticket.created',
        'psa:ticket.escalated',
        'psa:ticket.sla_warning',
        'psa:ticket.updated',
      ]),
    );
    for (const product of ['psa', 'defend', 'rmm']) {
      const filtered = list((await get(org, `/events?source_product=${product}`)).body['events']);
      expect(filtered.length).toBeGreaterThan(0);
      expect(filtered).toEqual(events.filter((event) => text(event['source_product']) === product));
    }
    const security = list((await get(org, '/events?category=security&source_product=defend')).body['events']);
    expect(security).toEqual(
      events.filter((event) => text(event['category']) === 'security' && text(event['source_product']) === 'defend'),
    );
    expect((await get(org, '/events?source_product=nothing')).body['events']).toEqual([]);
  });

  test('POST /api/events/ingest answers 202 with what the event started, GET /api/event-log/:id why', async () => {
    const other = await harness.newOrg();
    const agent = await activeAgent(other, definitionWith([VARIABLES]));
    const body = { event_type: 'custom.test', source_product: 'psa', payload: { name: 'Ada' } };
    const answer = await post(other, '/events/ingest', body);
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual({
      event_id: like(/^evt_/),
      duplicate: false,
      matched: 1,
      executions: [{ id: like(/^exe_/), agent_id: agent }],
    });
    const log = await get(other, `/event-log/${text(answer.body['event_id'])}`);
    expect(log.status).toBe(200);
    expect(log.body).toEqual({
      id: answer.body['event_id'],
      ...body,
      occurred_at: ISO,
      received_at: ISO,
      client_id: null,
      outcomes: [
        {
          agent_id: agent,
          agent_name: 'Test agent',
          outcome: 'started',
          reason: words,
          execution_id: list(answer.body['executions'])[0]?.['id'],
        },
      ],
    });
  });

  test('GET /api/credits answers the usage of the current month, before and after it was used', async () => {
    const other = await harness.newOrg({ credits: 50 });
    expect((await get(other, '/credits')).body).toEqual({ ...CREDITS, org_id: other.id });
    const agent = await activeAgent(other, definitionWith([REASON, { ...REASON, id: 'more', tier: 'standard' }]));
    const [id = ''] = await fire(other);
    await waitForExecution(other, id, ['completed']);
    const answer: Answer = await get(other, '/credits');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      ...CREDITS,
      org_id: other.id,
      month: new Date().toISOString().slice(0, 7),
      total_used: 4,
      remaining: 46,
      by_agent: { [agent]: 4 },
      by_model: { quick: 1, standard: 3, premium: 0, expert: 0 },
    });
  });

  test('GET /api/credits/history answers the past 12 months, newest first', async () => {
    const answer = await get(org, '/credits/history');
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body)).toEqual(['history']);
    const now = new Date();
    const months = Array.from({ length: 12 }, (_unused, index) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1 - index, 1)).toISOString().slice(0, 7),
    );
    expect(list(answer.body['history'])).toEqual(months.map((month) => ({ month, total_used: 0, allocation: 50 })));
  });
});
