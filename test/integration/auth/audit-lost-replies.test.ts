/** The line to the store breaks behind a change, so that nobody is answered: the repeat says in the trail what was done. */
import { activeAgent, definitionWith, VARIABLES } from '../../support/agents';
import { createOrg, joinStack, list, text, type Body, type Harness, type TestOrg } from '../../support/harness';
import { startApi } from '../../support/stack';
import { startLossyLine, type LossyLine } from '../../support/stand-ins/lossy-line';

let harness: Harness;
let line: LossyLine;
let own: Awaited<ReturnType<typeof startApi>>;
let org: TestOrg;
beforeAll(async () => {
  harness = joinStack();
  line = await startLossyLine(harness.address.env['MONGODB_URI'] ?? '');
  own = await startApi(harness.address, { MONGODB_URI: line.uri });
  org = await createOrg(harness.store, own);
});
afterAll(async () => {
  await own.api.stop();
  await line.stop();
  await harness.close();
});

/** How a command begins: its name and the length and text of its collection. */
const onCollection = (command: string, name: string): string =>
  `${command}\0${String.fromCodePoint(name.length + 1)}\0\0\0${name}\0`;

const trailOf = (id: string) =>
  harness.store.connection
    .collection<Body>('audit_entries')
    .find({ orgId: org.id, 'target.id': id } as never)
    .sort({ sequence: 1 })
    .toArray();
const actionsOf = async (id: string): Promise<string[]> => (await trailOf(id)).map(({ action }) => text(action));

test('the deletion of an agent that was done without an answer is answered and recorded by its repeat, once', async () => {
  const id = await activeAgent(org, definitionWith([VARIABLES]));
  const remove = async () => (await org.call('DELETE', `/agents/api/agents/${id}`)).status;
  line.loseReplyTo(onCollection('update', 'org_runtime'));
  expect([await remove(), await remove(), await remove()]).toEqual([503, 204, 404]);
  expect(await actionsOf(id)).toEqual(['agent.created', 'agent.activated', 'agent.deleted']);
});

test('an activation that was done without an answer is recorded as one by its repeat', async () => {
  const made = await org.call('POST', '/agents/api/agents', definitionWith([VARIABLES]));
  const id = text(made.body['id']);
  const activate = async () => (await org.call('PUT', `/agents/api/agents/${id}`, { status: 'active' })).status;
  line.loseReplyTo(onCollection('findAndModify', 'agents'));
  expect([await activate(), await activate(), await activate()]).toEqual([503, 200, 200]);
  expect(await actionsOf(id)).toEqual(['agent.created', 'agent.activated', 'agent.updated']);
  expect(list((await trailOf(id))[1]?.['details']?.['fields'])).toEqual(['status']);
});
