/** A contact at a client decides what it was asked, through the portal; nobody else at the client even sees it. */
import { activeAgent, definitionWith, fire, openGateOf } from '../../support/agents';
import {
  joinStack,
  list,
  text,
  waitForExecution,
  type Answer,
  type Body,
  type Harness,
  type TestOrg,
} from '../../support/harness';
import { callWith, newClient, newPerson, patched, signedIn, type Client, type Person } from './portal-support';

const ASK_CONTACT = {
  type: 'approval_gate',
  id: 'gate',
  message: 'Replace the printer for {{event_payload.name}}?',
  approvers: { type: 'portal_contact', contact: '{{event_payload.contact_id}}' },
};

let stack: Harness;
let org: TestOrg;
let client: Client;
let asked: Person;
let colleague: Person;
let stranger: Person;

beforeAll(async () => {
  stack = joinStack();
  org = await stack.newOrg();
  client = await newClient(org, 'Northwind');
  asked = await signedIn(org, await newPerson(org, client, 'viewer'));
  colleague = await signedIn(org, await newPerson(org, client, 'admin'));
  stranger = await signedIn(org, await newPerson(org, await newClient(org, 'Bluefin'), 'admin'));
  await activeAgent(org, definitionWith([ASK_CONTACT]));
});
afterAll(() => stack.close());

const as = (person: Person, method: string, path: string, body?: unknown): Promise<Answer> =>
  callWith(stack.address.baseUrl, person.token, {
    method,
    path: `/agents/api${path}`,
    ...(body === undefined ? {} : { body }),
  });

interface Gate {
  executionId: string;
  approval: Body;
  id: string;
}

async function openGate(payload: Record<string, unknown>, event: Record<string, unknown> = {}): Promise<Gate> {
  const [executionId = ''] = await fire(org, { name: 'Ada', ...payload }, event);
  const approval = await openGateOf(org, executionId);
  return { executionId, approval, id: text(approval['id']) };
}
const toAsked = () => openGate({ contact_id: asked.contactId });
const listed = async (person: Person): Promise<string[]> =>
  list((await as(person, 'GET', '/approvals')).body['approvals']).map(({ id }) => text(id));
const saying = ({ status, body }: Answer): unknown => ({ status, body: { ...body, request_id: null } });

test('the contact sees the approval, decides it, and the execution goes on', async () => {
  const { executionId, approval, id } = await toAsked();
  expect(approval['approver']).toEqual({
    kind: 'portal_contact',
    contact_id: asked.contactId,
    client_id: client.companyId,
    unaddressed: null,
  });
  expect(await listed(asked)).toContain(id);
  expect((await as(asked, 'GET', `/approvals/${id}`)).body).toMatchObject({ status: 'pending', id });
  const decided = await as(asked, 'POST', `/approvals/${id}/decision`, { decision: 'approved', note: 'Yes please' });
  expect(decided.body).toMatchObject({
    status: 'approved',
    decided_by: asked.id,
    decided_by_name: asked.email.toLowerCase(),
    decided_via: 'portal',
    note: 'Yes please',
  });
  await waitForExecution(org, executionId, ['completed']);
  const entries = await stack.store.connection
    .collection('audit_entries')
    .find({ orgId: org.id, 'target.id': id })
    .toArray();
  expect(entries).toMatchObject([
    {
      action: 'approval.approved',
      actor: { kind: 'client_user', id: asked.id, label: asked.email.toLowerCase(), ip: null },
    },
  ]);
});

test('a denial by the contact ends the execution', async () => {
  const { executionId, id } = await toAsked();
  expect((await as(asked, 'POST', `/approvals/${id}/decision`, { decision: 'denied' })).status).toBe(200);
  expect(await waitForExecution(org, executionId, ['cancelled'])).toMatchObject({ status_reason: 'approval_denied' });
});

test('threat: another contact. Colleagues and other clients are answered as if it did not exist', async () => {
  const { id } = await toAsked();
  for (const person of [colleague, stranger]) {
    expect(await listed(person)).toEqual([]);
    const read = [await as(person, 'GET', `/approvals/${id}`), await as(person, 'GET', '/approvals/apr_none')] as const;
    expect(saying(read[0])).toEqual(saying(read[1]));
    const decision = { decision: 'approved' };
    const decided = [
      await as(person, 'POST', `/approvals/${id}/decision`, decision),
      await as(person, 'POST', '/approvals/apr_none/decision', decision),
    ] as const;
    expect(saying(decided[0])).toEqual(saying(decided[1]));
    expect([read[0].status, decided[0].status]).toEqual([404, 404]);
  }
  expect((await as(asked, 'GET', `/approvals/${id}`)).body['status']).toBe('pending');
});

test('staff decide too, and what they noted stays with them', async () => {
  const { id } = await toAsked();
  const path = `/agents/api/approvals/${id}/decision`;
  expect((await org.call('POST', path, { decision: 'denied', note: 'They never pay' })).status).toBe(200);
  const late = await as(asked, 'POST', `/approvals/${id}/decision`, { decision: 'approved' });
  expect([late.status, text(late.body['error'])]).toEqual([409, 'approval_already_decided']);
  const read = await as(asked, 'GET', `/approvals/${id}`);
  expect(read.body).toMatchObject({ status: 'denied', decided_by: null, decided_by_name: null, note: null });
  for (const answer of [late, read]) expect(answer.text).not.toContain('They never pay');
});

test('of contact and staff who decide at once, one is right', async () => {
  const { executionId, id } = await toAsked();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      index % 2 === 0
        ? as(asked, 'POST', `/approvals/${id}/decision`, { decision: 'approved' })
        : org.call('POST', `/agents/api/approvals/${id}/decision`, { decision: 'denied' }),
    ),
  );
  const winners = new Set(answers.filter(({ status }) => status === 200).map(({ body }) => text(body['status'])));
  expect(winners.size).toBe(1);
  const [outcome] = winners;
  await waitForExecution(org, executionId, [outcome === 'approved' ? 'completed' : 'cancelled']);
});

describe('a gate that nobody at a client can be asked for', () => {
  const cases: Record<string, [() => Promise<Gate>, string]> = {
    'the event names no contact': [() => openGate({}), 'no_contact'],
    'there is no such contact': [() => openGate({ contact_id: 'con_none' }), 'contact_not_found'],
    'the event is about another client': [
      () => openGate({ contact_id: asked.contactId }, { client_id: 'cmp_other' }),
      'contact_of_another_client',
    ],
  };

  test.each(Object.entries(cases))('%s: it opens, says so, and staff decide', async (_name, [open, reason]) => {
    const { executionId, approval, id } = await open();
    expect(approval['approver']).toEqual({
      kind: 'portal_contact',
      contact_id: null,
      client_id: null,
      unaddressed: reason,
    });
    expect(await listed(asked)).not.toContain(id);
    const path = `/agents/api/approvals/${id}/decision`;
    expect((await org.call('POST', path, { decision: 'approved' })).status).toBe(200);
    await waitForExecution(org, executionId, ['completed']);
  });
});

test('a contact who moved to another client is no longer asked', async () => {
  const mover = await newPerson(org, client);
  const { id } = await openGate({ contact_id: mover.contactId });
  const { companyId } = await newClient(org, 'Harbor');
  await org.call('PATCH', `/psa/api/contacts/${mover.contactId}`, { companyId });
  await org.call('PATCH', `/portal/api/client-users/${mover.id}`, { companyId });
  const moved = await signedIn(org, mover);
  expect(await listed(moved)).toEqual([]);
  expect((await as(moved, 'GET', `/approvals/${id}`)).status).toBe(404);
});

test('a contact that was deleted is asked nothing any more, from the answer on, until it is restored', async () => {
  const leaver = await signedIn(org, await newPerson(org, client));
  const { executionId, id } = await openGate({ contact_id: leaver.contactId });
  const contact = `/psa/api/contacts/${leaver.contactId}`;
  const decide = () => as(leaver, 'POST', `/approvals/${id}/decision`, { decision: 'approved' });
  expect(await listed(leaver)).toEqual([id]);
  expect((await org.call('DELETE', contact)).status).toBe(204);
  expect(await listed(leaver)).toEqual([]);
  expect([(await as(leaver, 'GET', `/approvals/${id}`)).status, (await decide()).status]).toEqual([404, 404]);
  expect((await org.call('POST', `${contact}/restore`)).status).toBe(200);
  expect((await decide()).status).toBe(200);
  await waitForExecution(org, executionId, ['completed']);
});

test('a contact that moved to another client is asked nothing by the client user who stayed', async () => {
  const stayer = await signedIn(org, await newPerson(org, client));
  const { id } = await openGate({ contact_id: stayer.contactId });
  expect(await listed(stayer)).toEqual([id]);
  const { companyId } = await newClient(org, 'Quay');
  await patched(org, `/psa/api/contacts/${stayer.contactId}`, { companyId });
  expect(await listed(stayer)).toEqual([]);
  const decided = await as(stayer, 'POST', `/approvals/${id}/decision`, { decision: 'approved' });
  expect(decided.status).toBe(404);
});

test('the rest of the agent service stays closed, in its own words', async () => {
  const answer = await as(asked, 'GET', '/executions');
  expect([answer.status, text(answer.body['error'])]).toEqual([403, 'forbidden']);
});

test('a gate names whom it asks when it is saved, or is refused with the place and the fix', async () => {
  const refused = async (approvers: unknown): Promise<string> => {
    const definition = definitionWith([{ ...ASK_CONTACT, approvers }]);
    const answer = await org.call('POST', '/agents/api/agents', definition);
    const [finding] = list(answer.body['details']);
    return `${answer.status} ${text(finding?.['path'])} ${text(finding?.['code'])}`;
  };
  expect(await refused({ type: 'portal_contact', contact: 'Ana Reyes' })).toBe(
    '400 /steps/0/approvers/contact invalid_approver',
  );
  expect(await refused({ type: 'portal_contact', contact: '{{steps.later.output.id}}' })).toMatch(
    /^400 \/steps\/0\/approvers\/contact unknown_/,
  );
  expect(await refused({ type: 'portal_contakt', contact: 'con_1' })).toMatch(/^400 \/steps\/0\/approvers/);
  expect(await refused({ type: 'portal_contact' })).toMatch(/^400 \/steps\/0\/approvers/);
});
