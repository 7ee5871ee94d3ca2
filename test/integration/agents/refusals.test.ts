/** What every endpoint refuses, and how: keys nobody issued, unknown ids, methods, bodies, parameters. */
import { agentOperations } from '../../../src/contracts/operations/agents';
import type { Operation } from '../../../src/contracts/operation';
import { definitionWith, VARIABLES } from '../../support/agents';
import { joinStack, request, type Answer, type Harness, type TestOrg } from '../../support/harness';
import { API, expectRefusal, get, post } from './support';

let harness: Harness;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  org = await harness.newOrg();
});
afterAll(() => harness.close());

const operations: Operation[] = Object.values(agentOperations);
const listAgents: Operation = agentOperations.listAgents;
const nameOf = ({ method, path }: Operation): string => `${method} ${path}`;
const everyOperation = operations.map((operation) => [nameOf(operation), operation] as const);
const withId = everyOperation.filter(([, { path }]) => path.includes(':id'));
const withBody = everyOperation.filter(([, { body }]) => body);

/** The specification's table; what the service serves beside it is ours. */
const SPECIFIED = [
  'GET /api/agents',
  'POST /api/agents',
  'GET /api/agents/:id',
  'PUT /api/agents/:id',
  'DELETE /api/agents/:id',
  'GET /api/executions',
  'GET /api/executions/:id',
  'POST /api/executions/:id/cancel',
  'POST /api/executions/:id/retry',
  'GET /api/approvals',
  'POST /api/approvals/:id/decision',
  'GET /api/templates',
  'POST /api/templates/:id/clone',
  'GET /api/events',
  'GET /api/credits',
  'GET /api/credits/history',
];

/** Bodies that would be taken if the resource were there. */
const BODIES: Record<string, unknown> = {
  createAgent: definitionWith([VARIABLES]),
  updateAgent: { name: 'Taken over' },
  cloneAgent: {},
  cloneTemplate: {},
  decideApproval: { decision: 'approved' },
  ingestEvent: { event_type: 'custom.nobody', source_product: 'psa', payload: {} },
};

const pathOf = (operation: Operation, id = 'unknown_1'): string => `/agents${operation.path.replace(':id', id)}`;

const callWith = (
  operation: Operation,
  headers: Record<string, string>,
  more: { id?: string; body?: unknown } = {},
): Promise<Answer> => {
  const body = more.body ?? BODIES[operation.id];
  return request(harness.address.baseUrl, {
    method: operation.method,
    path: pathOf(operation, more.id),
    headers,
    ...(body === undefined ? {} : { body }),
  });
};

const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
test('every endpoint of the specification is served', () => {
  const served = operations.map(nameOf);
  expect(SPECIFIED.filter((name) => !served.includes(name))).toEqual([]);
});

describe('401', () => {
  test('a key nobody issued, in whatever form it comes', async () => {
    const changed = `${org.key.slice(0, -1)}${org.key.endsWith('a') ? 'b' : 'a'}`;
    const headers = [
      bearer(''),
      bearer('plat_nobody'),
      bearer(changed),
      { 'x-integration-key': changed },
      { authorization: `Basic ${org.key}` },
    ];
    for (const header of headers) expectRefusal(await callWith(listAgents, header), 401, 'unauthorized');
  });

  test('both headers of the service take the same key', async () => {
    for (const headers of [bearer(org.key), { 'x-integration-key': org.key }]) {
      const answer = await request(harness.address.baseUrl, { method: 'GET', path: `${API}/agents`, headers });
      expect(answer.status).toBe(200);
    }
  });
});

describe('403', () => {
  test.each(['Agents', 'Console'])('the scope %s alone is enough', async (scope) => {
    const scoped = await harness.newOrg({ scopes: [scope] });
    expect((await get(scoped, '/agents')).status).toBe(200);
    expect((await post(scoped, '/agents', definitionWith([VARIABLES]))).status).toBe(201);
  });
});

describe('404', () => {
  const CODES: Record<string, string> = {
    agents: 'agent_not_found',
    executions: 'execution_not_found',
    approvals: 'approval_not_found',
    templates: 'template_not_found',
    'event-log': 'event_not_found',
  };
  const kindOf = (operation: Operation): string => operation.path.split('/')[2] ?? '';

  test.each(withId)('%s for an id nobody has', async (_name, operation) => {
    const ids = ['unknown_1', 'x', 'a'.repeat(64), 'a'.repeat(200), 'a%20b', '..%2Fagents', '%00', 'null', '0', '$ne'];
    for (const id of ids)
      expectRefusal(await callWith(operation, bearer(org.key), { id }), 404, CODES[kindOf(operation)] ?? '');
  });

  test('a path the service does not have', async () => {
    for (const path of ['/agents/api/nothing', '/agents/api', '/agents/api/agents/a/b/c', '/agents/API/agents'])
      expectRefusal(await org.call('GET', path), 404, 'not_found');
  });
});

describe('405', () => {
  const paths = [...new Set(operations.map(({ path }) => path))];
  test.each(paths)('%s names the methods it takes', async (path) => {
    const taken = operations.filter((operation) => operation.path === path).map(({ method }): string => method);
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((one) => !taken.includes(one))) {
      const answer = await org.call(method, `/agents${path.replace(':id', 'unknown_1')}`);
      expectRefusal(answer, 405, 'method_not_allowed');
      const allowed = (answer.headers.get('allow') ?? '').split(', ').filter((one) => one !== 'HEAD');
      expect(allowed.toSorted()).toEqual(taken.toSorted());
    }
  });
});

describe('400 and 413', () => {
  test.each(withBody)('%s with a body that is not JSON', async (_name, operation) => {
    for (const body of ['{"a":', '{a: 1}', 'name=x', "{'a': 1}", '{"a":1}}', '\u0000'])
      expectRefusal(await callWith(operation, bearer(org.key), { body }), 400, 'invalid_json');
  });

  test.each(withBody)('%s with a body that is not an object', async (_name, operation) => {
    const code = operation.invalidBody ?? 'validation_error';
    for (const body of ['null', '[]', '"text"', '7', 'true'])
      expectRefusal(await callWith(operation, bearer(org.key), { body }), 400, code);
  });

  test.each(withBody)('%s with a field it does not know names the field', async (_name, operation) => {
    const body = { ...(BODIES[operation.id] as object), surprise: 1 };
    const answer = await callWith(operation, bearer(org.key), { body });
    expectRefusal(answer, 400, operation.invalidBody ?? 'validation_error');
    expect(answer.text).toContain('"path":"/surprise"');
  });

  test.each(withBody)('%s with 5 000 levels of nesting', async (_name, operation) => {
    const nested = `${'{"not":'.repeat(5_000)}1${'}'.repeat(5_000)}`;
    const body = `{"conditions":[${nested}],"payload":${nested}}`;
    const code = operation.invalidBody ?? 'validation_error';
    expectRefusal(await callWith(operation, bearer(org.key), { body }), 400, code);
  });

  test.each(withBody)('%s with more than 256 KiB', async (_name, operation) => {
    const body = JSON.stringify({ ...(BODIES[operation.id] as object), filler: 'x'.repeat(256 * 1024) });
    expectRefusal(await callWith(operation, bearer(org.key), { body }), 413, 'payload_too_large');
  });

  const suggestions: [string, string, string, string][] = [
    ['/agents?statuss=active', 'statuss', 'status', 'validation_error'],
    ['/agents?Type=custom', 'Type', 'type', 'validation_error'],
    ['/executions?agentId=agt_1', 'agentId', 'agent_id', 'validation_error'],
    ['/executions?limits=5', 'limits', 'limit', 'validation_error'],
    ['/executions?curser=x', 'curser', 'cursor', 'validation_error'],
    ['/approvals?stauts=pending', 'stauts', 'status', 'validation_error'],
    ['/templates?categories=hr', 'categories', 'category', 'validation_error'],
    ['/events?source=psa', 'source', 'source_product', 'validation_error'],
  ];
  test.each(suggestions)('%s is refused; %s may have meant %s', async (path, parameter, meant, code) => {
    const answer = await get(org, path);
    expectRefusal(answer, 400, code);
    expect(answer.body['details']).toEqual([
      expect.objectContaining({ path: parameter, code: 'unknown_field', suggestion: meant }),
    ]);
  });

  test.each(everyOperation.filter(([, { query }]) => !query))('%s takes no parameters', async (_name, operation) => {
    const answer = await org.call(operation.method, `${pathOf(operation)}?force=true`, BODIES[operation.id]);
    expectRefusal(answer, 400, 'validation_error');
    expect(answer.text).toContain('"path":"force"');
  });

  const BAD_VALUES = [
    '/agents?status=running',
    '/agents?status=',
    '/agents?type=user',
    '/agents?category=nothing',
    '/agents?status=active&status=draft',
    '/executions?status=done',
    '/executions?from=yesterday',
    '/executions?to=2026-13-01T00:00:00Z',
    '/executions?agent_id=a%20b',
    '/approvals?status=open',
    '/approvals?limit=0',
    '/templates?category=service_desk',
    '/events?category=hr',
  ];
  test.each(BAD_VALUES)('%s is refused and names the parameter', async (path) => {
    const answer = await get(org, path);
    expectRefusal(answer, 400, 'validation_error');
    const parameter = /\?(\w+)=/.exec(path)?.[1] ?? '';
    expect(answer.text).toContain(`"path":"${parameter}"`);
  });
});
