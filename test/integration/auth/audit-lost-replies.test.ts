/** The line to the store breaks behind a change, so that nobody is answered: the repeat says in the trail what was done. */
import { readConfig } from '../../../src/config';
import { connectEngine, type Engine } from '../../../src/engine/connect';
import { agents } from '../../../src/store/agents';
import { executions } from '../../../src/store/executions';
import { activeAgent, definitionWith, fire, GATE, openGateOf, VARIABLES } from '../../support/agents';
import { sweep } from '../../support/engine';
import { list, request, text, waitFor, waitForExecution, type Answer, type Body } from '../../support/harness';
import { startLossyApi, type LossyApi } from '../../support/lossy-api';
import { commandOn } from '../../support/stand-ins/lossy-line';
import { signIn, testContext, type SignedIn } from './support';

let api: LossyApi;
let owner: SignedIn;
let engine: Engine;
beforeAll(async () => {
  api = await startLossyApi();
  const config = readConfig(api.harness.address.env);
  engine = connectEngine(config.temporal);
  owner = await signIn(testContext(api.harness.store, { config }), api.org.id);
});
afterAll(async () => {
  await engine.close();
  await api.stop();
});

const trailOf = (id: string) =>
  api.harness.store.connection
    .collection<Body>('audit_entries')
    .find({ orgId: api.org.id, 'target.id': id } as never)
    .sort({ sequence: 1 })
    .toArray();
const actionsOf = async (id: string): Promise<string[]> => (await trailOf(id)).map(({ action }) => text(action));

/** Calls as an owner of the org. */
const asOwner = (method: string, path: string, body?: unknown, headers = {}): Promise<Answer> => {
  const { cookie, csrfToken } = owner;
  return request(api.baseUrl, { method, path, body, headers: { cookie, 'x-csrf-token': csrfToken, ...headers } });
};

/**
 * The same call twice: the first is done, and the reply to its write is lost. The write is told by the record it is of,
 * because the API makes some of the same commands for other orgs, as to pace their deliveries.
 */
async function repeated(write: readonly [command: string, id: string], call: () => Promise<Answer>): Promise<Answer> {
  const before = api.line.lost();
  api.line.loseReplyTo(...write);
  const first = await call();
  expect([first.status, api.line.lost() - before]).toEqual([503, 1]);
  return call();
}

/** A version as `If-Match` names it. */
const ifMatch = ({ body, headers }: Answer) => ({
  'if-match': headers.get('etag') ?? `W/"${text(body['id'])}.${text(body['version'])}"`,
});

test.each([
  ['its end', 'sessions'],
  ['what tells other processes', 'guards'],
])(
  'a session that was ended without an answer, when the reply about %s was lost, is told of once',
  async (_what, name) => {
    const config = readConfig(api.harness.address.env);
    const own = await signIn(testContext(api.harness.store, { config }), api.org.id);
    const headers = { cookie: own.cookie, 'x-csrf-token': own.csrfToken };
    const signOut = () => request(api.baseUrl, { method: 'DELETE', path: '/console/api/session', headers });
    api.line.loseReplyTo(commandOn(name, 'update'), name === 'guards' ? api.org.id : own.sessionId);
    expect((await signOut()).status).toBe(503);
    const told = await waitFor(async () => (await actionsOf(own.sessionId)).length > 0 && actionsOf(own.sessionId));
    expect(told).toEqual(['session.signed_out']);
    expect((await signOut()).status).toBe(401);
  },
);

test('the deletion of an agent that was done without an answer is answered and recorded by its repeat, once', async () => {
  const id = await activeAgent(api.org, definitionWith([VARIABLES]));
  const remove = async () => (await api.org.call('DELETE', `/agents/api/agents/${id}`)).status;
  api.line.loseReplyTo(commandOn('org_runtime', 'update'), api.org.id);
  expect([await remove(), await remove(), await remove()]).toEqual([503, 204, 404]);
  expect(await actionsOf(id)).toEqual(['agent.created', 'agent.activated', 'agent.deleted']);
});

test('an activation that was done without an answer is recorded as one by its repeat', async () => {
  const made = await api.org.call('POST', '/agents/api/agents', definitionWith([VARIABLES]));
  const id = text(made.body['id']);
  const activate = async () => (await api.org.call('PUT', `/agents/api/agents/${id}`, { status: 'active' })).status;
  api.line.loseReplyTo(commandOn('agents', 'findAndModify'), id);
  expect([await activate(), await activate(), await activate()]).toEqual([503, 200, 200]);
  expect(await actionsOf(id)).toEqual(['agent.created', 'agent.activated', 'agent.updated']);
  expect(list((await trailOf(id))[1]?.['details']?.['fields'])).toEqual(['status']);
});

test('a change of an agent that names its version is repeated although the first has made another of it', async () => {
  const made = await api.org.call('POST', '/agents/api/agents', definitionWith([VARIABLES]));
  const id = text(made.body['id']);
  const activate = () => api.org.call('PUT', `/agents/api/agents/${id}`, { status: 'active' }, ifMatch(made));
  const again = await repeated([commandOn('agents', 'findAndModify'), id], activate);
  expect([again.status, text(again.body['status'])]).toEqual([200, 'active']);
  expect((await activate()).status).toBe(412);
  expect(await actionsOf(id)).toEqual(['agent.created', 'agent.activated']);
});

const newWebhook = async (): Promise<Answer> =>
  api.org.call('POST', '/console/api/webhooks', { url: 'https://hooks.example/in', eventTypes: ['psa:custom.*'] });

test('the deletion of a webhook that was done without an answer is answered and recorded by its repeat, once', async () => {
  const id = text((await newWebhook()).body['id']);
  const remove = () => api.org.call('DELETE', `/console/api/webhooks/${id}`);
  expect((await repeated([commandOn('webhooks', 'delete'), id], remove)).status).toBe(204);
  expect((await remove()).status).toBe(404);
  expect(await actionsOf(id)).toEqual(['webhook.created', 'webhook.deleted']);
  expect(text((await trailOf(id))[1]?.['target']?.['name'])).toBe('hooks.example');
});

test('a change of a webhook that was done without an answer is recorded by its repeat, which may name the version before', async () => {
  const made = await newWebhook();
  const id = text(made.body['id']);
  const change = { eventTypes: ['psa:ticket.*'] };
  const update = () => api.org.call('PATCH', `/console/api/webhooks/${id}`, change, ifMatch(made));
  const write = [commandOn('webhooks', 'findAndModify'), id] as const;
  const again = await repeated(write, update);
  expect([again.status, again.body['version']]).toEqual([200, 2]);
  expect((await update()).status).toBe(412);
  const disable = () => api.org.call('POST', `/console/api/webhooks/${id}/disable`, undefined, ifMatch(again));
  expect((await repeated(write, disable)).status).toBe(200);
  expect(await actionsOf(id)).toEqual(['webhook.created', 'webhook.updated', 'webhook.disabled']);
});

test('changes of a key that were done without an answer are recorded by their repeats, by their fields', async () => {
  const made = await asOwner('POST', '/console/api/api-keys', { kind: 'platform', name: 'One', scopes: ['PSA'] });
  expect(made.status).toBe(201);
  const id = text(made.body['id']);
  const path = `/console/api/api-keys/${id}`;
  const write = [commandOn('api_keys', 'findAndModify'), id] as const;
  const rename = () => asOwner('PATCH', path, { name: 'Two' });
  const again = await repeated(write, rename);
  expect([again.status, again.body['version']]).toEqual([200, 2]);
  const widen = () => asOwner('PATCH', path, { scopes: ['PSA', 'RMM'] }, ifMatch(again));
  expect((await repeated(write, widen)).status).toBe(200);
  const revoke = () => asOwner('DELETE', path);
  expect((await repeated([commandOn('api_keys', 'update'), id], revoke)).status).toBe(204);
  expect((await trailOf(id)).map(({ action, details }) => [action, details?.['fields']])).toEqual([
    ['api_key.created', undefined],
    ['api_key.updated', ['name']],
    ['api_key.updated', ['scopes']],
    ['api_key.revoked', undefined],
  ]);
});

test('a key whose revocation nobody answered is refused everywhere, also when nobody asks again', async () => {
  const made = await asOwner('POST', '/console/api/api-keys', { kind: 'platform', name: 'One', scopes: ['PSA'] });
  const bearer = { authorization: `Bearer ${text(made.body['key'])}` };
  const read = async (baseUrl: string): Promise<number> =>
    (await request(baseUrl, { method: 'GET', path: '/psa/api/tickets', headers: bearer })).status;
  const { baseUrl: elsewhere } = api.harness.address;
  expect([await read(api.baseUrl), await read(elsewhere)]).toEqual([200, 200]);
  api.line.loseReplyTo(commandOn('api_keys', 'update'), text(made.body['id']));
  expect((await asOwner('DELETE', `/console/api/api-keys/${text(made.body['id'])}`)).status).toBe(503);
  await waitFor(async () => (await read(api.baseUrl)) === 401 && (await read(elsewhere)) === 401, { timeoutMs: 5_000 });
});

const GATED = 'custom.gated';
const gated = (): Promise<string> =>
  activeAgent(
    api.org,
    definitionWith([GATE], { trigger: { type: 'bus_event', event_type: GATED, source_product: 'psa', filters: [] } }),
  );

/** An execution that waits at its gate, and the approval. */
async function waiting(): Promise<{ execution: string; approval: string }> {
  const [execution = ''] = await fire(api.org, { name: 'Ada' }, { event_type: GATED });
  return { execution, approval: text((await openGateOf(api.org, execution))['id']) };
}

test('a cancel that was done without an answer is recorded by its repeat, once', async () => {
  const agent = await gated();
  const { execution: id } = await waiting();
  const cancel = () => api.org.call('POST', `/agents/api/executions/${id}/cancel`);
  const again = await repeated([commandOn('executions', 'findAndModify'), id], cancel);
  expect([again.status, text(again.body['status'])]).toEqual([200, 'cancelled']);
  expect((await cancel()).status).toBe(200);
  expect((await trailOf(id)).map(({ action, details }) => [action, details])).toEqual([
    ['execution.cancelled', { agentId: agent }],
  ]);
  await api.org.call('DELETE', `/agents/api/agents/${agent}`);
});

test('a retry that was opened without an answer is recorded by its repeat, as that of whoever opened it', async () => {
  const agent = await gated();
  const { execution: id } = await waiting();
  expect((await api.org.call('POST', `/agents/api/executions/${id}/cancel`)).status).toBe(200);
  const retry = () => asOwner('POST', `/agents/api/executions/${id}/retry`);
  api.line.loseReplyTo(commandOn('executions', 'insert'), agent);
  const unanswered = await retry();
  const again = await api.org.call('POST', `/agents/api/executions/${id}/retry`);
  expect([unanswered.status, again.status]).toEqual([503, 409]);
  const { body: shown } = await api.org.call('GET', `/agents/api/executions/${id}`);
  const retryId = text(list(again.body['details'])[0]?.['execution_id']);
  expect([text(shown['retried_by']), (await retry()).status]).toEqual([retryId, 409]);
  expect((await trailOf(id)).slice(1)).toMatchObject([
    {
      action: 'execution.retried',
      actor: { kind: 'user', id: owner.user._id },
      details: { agentId: agent, retryId },
      requestId: unanswered.headers.get('x-request-id'),
    },
  ]);
  await api.org.call('DELETE', `/agents/api/agents/${agent}`);
});

test('a decision that was done without an answer is recorded, goes on and is answered by its repeat', async () => {
  const agent = await gated();
  const { execution, approval } = await waiting();
  const decide = () => api.org.call('POST', `/agents/api/approvals/${approval}/decision`, { decision: 'approved' });
  const again = await repeated([commandOn('approvals', 'findAndModify'), approval], decide);
  expect([again.status, text(again.body['status'])]).toEqual([200, 'approved']);
  await waitForExecution(api.org, execution, ['completed']);
  expect(await actionsOf(approval)).toEqual(['approval.approved']);
  await api.org.call('DELETE', `/agents/api/agents/${agent}`);
});

test('a decision that nobody answered and nobody asked for again goes on, and is recorded as that of whoever made it', async () => {
  const agent = await gated();
  const { execution, approval } = await waiting();
  api.line.loseReplyTo(commandOn('approvals', 'findAndModify'), approval);
  const path = `/agents/api/approvals/${approval}/decision`;
  expect((await asOwner('POST', path, { decision: 'denied' })).status).toBe(503);
  await waitForExecution(api.org, execution, ['cancelled', 'failed', 'completed']);
  expect(await trailOf(approval)).toMatchObject([
    { action: 'approval.denied', actor: { kind: 'user', id: owner.user._id } },
  ]);
  expect((await asOwner('POST', path, { decision: 'denied' })).status).toBe(200);
  expect((await asOwner('POST', path, { decision: 'approved' })).status).toBe(409);
  await api.org.call('DELETE', `/agents/api/agents/${agent}`);
});

test('what nobody answered and nobody asked for again is recorded by the sweep, as that of whoever asked for it', async () => {
  const { store } = api.harness;
  const agent = await gated();
  const { execution } = await waiting();
  const ago = new Date(Date.now() - 120_000);
  api.line.loseReplyTo(commandOn('executions', 'findAndModify'), execution);
  expect((await asOwner('POST', `/agents/api/executions/${execution}/cancel`)).status).toBe(503);
  api.line.loseReplyTo(commandOn('agents', 'findAndModify'), agent);
  const unanswered = await asOwner('DELETE', `/agents/api/agents/${agent}`);
  expect(unanswered.status).toBe(503);
  await executions.in(store).updateOne({ _id: execution }, { $set: { completed_at: ago } });
  await agents.in(store).updateOne({ _id: agent }, { $set: { updated_at: ago } });
  await sweep(engine);
  await waitFor(async () => !(await agents.in(store).exists({ _id: agent })));
  const asker = { kind: 'user', id: owner.user._id, label: owner.user.email, ip: null };
  expect((await trailOf(agent)).at(-1)).toMatchObject({
    action: 'agent.deleted',
    actor: asker,
    target: { id: agent, name: 'Test agent' },
    requestId: unanswered.headers.get('x-request-id'),
  });
  expect(await trailOf(execution)).toMatchObject([{ action: 'execution.cancelled', actor: asker }]);
});
