/** The line to the store breaks behind a change, so that nobody is answered: the repeat says in the trail what was done. */
import { activeAgent, definitionWith, VARIABLES } from '../../support/agents';
import { list, text, type Body } from '../../support/harness';
import { startLossyApi, type LossyApi } from '../../support/lossy-api';
import { commandOn } from '../../support/stand-ins/lossy-line';

let api: LossyApi;
beforeAll(async () => {
  api = await startLossyApi();
});
afterAll(() => api.stop());

const trailOf = (id: string) =>
  api.harness.store.connection
    .collection<Body>('audit_entries')
    .find({ orgId: api.org.id, 'target.id': id } as never)
    .sort({ sequence: 1 })
    .toArray();
const actionsOf = async (id: string): Promise<string[]> => (await trailOf(id)).map(({ action }) => text(action));

test('the deletion of an agent that was done without an answer is answered and recorded by its repeat, once', async () => {
  const id = await activeAgent(api.org, definitionWith([VARIABLES]));
  const remove = async () => (await api.org.call('DELETE', `/agents/api/agents/${id}`)).status;
  api.line.loseReplyTo(commandOn('org_runtime', 'update'));
  expect([await remove(), await remove(), await remove()]).toEqual([503, 204, 404]);
  expect(await actionsOf(id)).toEqual(['agent.created', 'agent.activated', 'agent.deleted']);
});

test('an activation that was done without an answer is recorded as one by its repeat', async () => {
  const made = await api.org.call('POST', '/agents/api/agents', definitionWith([VARIABLES]));
  const id = text(made.body['id']);
  const activate = async () => (await api.org.call('PUT', `/agents/api/agents/${id}`, { status: 'active' })).status;
  api.line.loseReplyTo(commandOn('agents', 'findAndModify'));
  expect([await activate(), await activate(), await activate()]).toEqual([503, 200, 200]);
  expect(await actionsOf(id)).toEqual(['agent.created', 'agent.activated', 'agent.updated']);
  expect(list((await trailOf(id))[1]?.['details']?.['fields'])).toEqual(['status']);
});
