import { mailbox } from '../support/mailbox';
import { joinStack, list, text, waitFor, waitForExecution, type Harness } from '../support/harness';

let harness: Harness;
beforeAll(() => {
  harness = joinStack();
});
afterAll(() => harness.close());

const AGENT = {
  name: 'Critical ticket: summarise, ask, notify',
  category: 'service_desk',
  trigger: {
    type: 'bus_event',
    event_type: 'ticket.created',
    source_product: 'psa',
    filters: [{ field: 'priority', operator: 'eq', value: 'critical' }],
  },
  conditions: [],
  steps: [
    { type: 'ai_reason', id: 'summary', tier: 'quick', prompt: 'Summarise: {{event_payload.title}}' },
    { type: 'approval_gate', id: 'ok', message: 'Notify on-call about {{event_payload.ticket_number}}?' },
    {
      type: 'notification',
      id: 'tell',
      channel: 'email',
      recipients: ['oncall@example.com'],
      subject: 'Critical: {{event_payload.ticket_number}}',
      body: '{{event_payload.title}} / {{steps.ok.output.note}}',
    },
  ],
  conflict_behavior: 'additive',
  client_scope: 'all',
};

test('a critical ticket is summarised, approved by a person and mailed once, and its trace can be read back', async () => {
  const org = await harness.newOrg();
  const created = await org.call('POST', '/agents/api/agents', AGENT);
  expect(created.status).toBe(201);
  expect(created.body['status']).toBe('draft');
  await org.call('PUT', `/agents/api/agents/${text(created.body['id'])}`, { status: 'active' });

  const ticket = await org.call('POST', '/psa/api/tickets', { subject: 'Mail server down', priority: 'critical' });
  expect(ticket.status).toBe(201);

  const execution = await waitFor(
    async () => list((await org.call('GET', '/agents/api/executions')).body['executions'])[0],
  );
  const waiting = await waitForExecution(org, text(execution['id']), ['waiting_approval']);
  expect(waiting['trigger_event']).toMatchObject({
    event_type: 'ticket.created',
    source_product: 'psa',
    payload: { title: 'Mail server down' },
  });

  const approval = list((await org.call('GET', '/agents/api/approvals?status=pending')).body['approvals'])[0];
  expect(approval).toMatchObject({ execution_id: execution['id'], step_id: 'ok', status: 'pending' });
  const decided = await org.call('POST', `/agents/api/approvals/${text(approval?.['id'])}/decision`, {
    decision: 'approved',
    note: 'Call the client first',
  });
  expect(decided.status).toBe(200);
  expect(decided.body).toMatchObject({ status: 'approved', note: 'Call the client first' });
  expect(decided.body['decided_by']).toMatch(/^key_/);

  const done = await waitForExecution(org, text(execution['id']), ['completed']);
  expect(list(done['steps']).map((step) => [step['step_id'], step['status']])).toEqual([
    ['summary', 'completed'],
    ['ok', 'completed'],
    ['tell', 'completed'],
  ]);
  expect(done['credits_used']).toBe(1);
  const mails = await mailbox(harness.address.inboxUrl, text(done['id']));
  expect(mails).toHaveLength(1);
  expect(mails[0]?.text).toContain('Mail server down / Call the client first');
  expect((await org.call('GET', '/agents/api/credits')).body).toMatchObject({
    total_used: 1,
    by_model: { quick: 1 },
    reserved: 0,
  });
});
