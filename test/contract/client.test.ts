/** The typed client: every operation is called as it is declared, and every answer and refusal comes back as it was sent. */
import { call, CallProblem, type Credentials, type Input, type Output } from '../../src/client/call';
import { agentOperations } from '../../src/contracts/operations/agents';
import type { Agent } from '../../src/contracts/agent';
import type { Operation } from '../../src/contracts/operation';
import { boundOperations } from '../../src/http/app';
import { startHttpServer, type Answer, type HttpStandIn } from '../support/stand-ins/http-server';

let server: HttpStandIn;
let reply: Answer = {};
beforeAll(async () => {
  server = await startHttpServer(() => reply);
});
beforeEach(() => {
  reply = { body: {} };
});
afterAll(() => server.stop());

const KEY: Credentials = { kind: 'key', key: 'plat_test' };
const everyOperation = boundOperations()
  .flatMap(({ operations }) => operations)
  .map((operation) => [`${operation.method} /${operation.service}${operation.path}`, operation] as const);

const lastRequest = () => server.requests.at(-1) ?? { method: '', path: '', headers: {}, body: undefined };

/** True where both types are the same; anything else does not compile. */
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
type CreateAgent = typeof agentOperations.createAgent;
type GetAgent = typeof agentOperations.getAgent;
type ListAgents = typeof agentOperations.listAgents;
type DeleteAgent = typeof agentOperations.deleteAgent;
type Decide = typeof agentOperations.decideApproval;

test('what a call takes and answers is what its operation declares', () => {
  const checks: true[] = [
    true satisfies Same<Input<GetAgent>['params'], { id: string }>,
    true satisfies Same<Input<Decide>['body'], { decision: 'approved' | 'denied'; note?: string }>,
    true satisfies Same<Output<GetAgent>['body'], Agent | undefined>,
    true satisfies Same<Output<CreateAgent>['body'], Agent | undefined>,
    true satisfies Same<Output<ListAgents>['body'], { agents: Agent[]; total: number } | undefined>,
    true satisfies Same<Output<DeleteAgent>['body'], undefined>,
  ];
  expect(new Set(checks)).toEqual(new Set([true]));
});

test.each(everyOperation)(
  '%s goes to its address with its method and its body',
  async (_name, operation: Operation) => {
    const params = Object.fromEntries(
      [...operation.path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, 'a/b c?d#e']),
    );
    const body = operation.body ? { some: 'body' } : undefined;
    await call(server.url, operation, { params, body }, KEY);
    const { method, path, headers, body: received } = lastRequest();
    expect(method).toBe(operation.method);
    expect(path).toBe(`/${operation.service}${operation.path.replaceAll(/:\w+/g, 'a%2Fb%20c%3Fd%23e')}`);
    expect(headers['authorization']).toBe('Bearer plat_test');
    expect(received).toEqual(operation.body ? body : '');
    expect(headers['content-type']).toBe(operation.body ? 'application/json' : undefined);
  },
);

test.each(['', '.', '..'])(
  'an id that would change the address is refused before anything is sent: "%s"',
  async (id) => {
    const sent = server.requests.length;
    const deleted = call(server.url, agentOperations.deleteAgent, { params: { id } }, KEY);
    await expect(deleted).rejects.toThrow(`id: "${id}" cannot be part of an address`);
    const unnamed = call(server.url, agentOperations.getAgent as Operation, {}, KEY);
    await expect(unnamed).rejects.toThrow('id: "" cannot be part of an address');
    expect(server.requests).toHaveLength(sent);
  },
);

test('query parameters are written once each, lists with commas, and those left out are not sent', async () => {
  const query = { status: 'active', agent_id: undefined, limit: 5, tags: ['a b', 'c&d'], deep: true };
  await call(server.url, agentOperations.listExecutions as Operation, { query }, KEY);
  const { searchParams, pathname } = new URL(lastRequest().path, server.url);
  expect(pathname).toBe('/agents/api/executions');
  expect([...searchParams]).toEqual([
    ['status', 'active'],
    ['limit', '5'],
    ['tags', 'a b,c&d'],
    ['deep', 'true'],
  ]);
});

test('a base address may end with a slash', async () => {
  await call(`${server.url}/`, agentOperations.getCredits, {}, KEY);
  expect(lastRequest().path).toBe('/agents/api/credits');
});

describe('credentials', () => {
  test('none sends none; a session sends its token and leaves the cookie to the browser', async () => {
    await call(server.url, agentOperations.getCredits, {}, { kind: 'none' });
    expect(lastRequest().headers).not.toHaveProperty('authorization');
    await call(server.url, agentOperations.getCredits, {}, { kind: 'session', csrfToken: 'token-1' });
    expect(lastRequest().headers).toMatchObject({ 'x-csrf-token': 'token-1' });
    expect(lastRequest().headers).not.toHaveProperty('authorization');
  });
});

describe('answers', () => {
  const id = { params: { id: 'agt_1' } };

  test('carry status, body and tag', async () => {
    reply = { status: 201, headers: { etag: 'W/"agt_1.1"', location: '/x' }, body: { id: 'agt_1' } };
    const answer = await call(server.url, agentOperations.getAgent, id, KEY);
    expect(answer).toMatchObject({ status: 201, body: { id: 'agt_1' }, etag: 'W/"agt_1.1"' });
    expect(answer.headers.get('location')).toBe('/x');
  });

  test('204 and 304 have no body; the tags of both conditions are sent as given', async () => {
    reply = { status: 204, body: '' };
    expect(await call(server.url, agentOperations.deleteAgent, id, KEY)).toMatchObject({
      status: 204,
      body: undefined,
    });
    reply = { status: 304, body: '' };
    const answer = await call(
      server.url,
      agentOperations.getAgent,
      { ...id, ifNoneMatch: 'W/"t"', ifMatch: '"m"' },
      KEY,
    );
    expect(answer).toMatchObject({ status: 304, body: undefined, etag: null });
    expect(lastRequest().headers).toMatchObject({ 'if-none-match': 'W/"t"', 'if-match': '"m"' });
  });
});

describe('refusals', () => {
  const read = () => call(server.url, agentOperations.getAgent, { params: { id: 'agt_1' } }, KEY);

  test.each([
    [
      'the agent service’s body',
      { error: 'agent_not_found', message: 'No such agent in this org.', status: 404 },
      { code: 'agent_not_found', message: 'No such agent in this org.' },
    ],
    [
      'the products’ body',
      { error: 'No such ticket.', code: 'NOT_FOUND', details: {} },
      { code: 'NOT_FOUND', message: 'No such ticket.' },
    ],
    ['a body that says nothing', {}, { code: '404', message: 'HTTP 404' }],
    ['a text of something in between', 'Not here', { code: 'Not here', message: 'Not here' }],
  ])('%s is thrown with its code, its words and its status', async (_what, body, expected) => {
    reply = { status: 404, body };
    await expect(read()).rejects.toThrow(CallProblem);
    await expect(read()).rejects.toMatchObject({ name: 'CallProblem', status: 404, ...expected });
  });

  test('a refusal keeps its headers and its details', async () => {
    reply = {
      status: 429,
      headers: { 'retry-after': '7' },
      body: { error: 'Slow', code: 'RATE_LIMIT_EXCEEDED', details: { retryAfter: 7 } },
    };
    const thrown = await read().catch((error: unknown) => error as CallProblem);
    expect((thrown as CallProblem).headers.get('retry-after')).toBe('7');
    expect((thrown as CallProblem).body).toMatchObject({ details: { retryAfter: 7 } });
  });

  test('a call can be given up, and a server that hangs up is no answer', async () => {
    reply = { hang: true };
    const signal = AbortSignal.timeout(50);
    const waiting = call(server.url, agentOperations.getCredits, { signal }, KEY);
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
    reply = { destroy: true };
    await expect(read()).rejects.toMatchObject({ name: 'TypeError' });
  });
});
