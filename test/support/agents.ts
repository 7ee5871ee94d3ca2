/** Agents that tests run, and the events that start them. */
import type { Answer, TestOrg } from './harness';
import { list, text, waitFor, waitForExecution, type Body } from './harness';

type Fields = Record<string, unknown>;

/** A definition that a `custom.test` event of product psa starts. */
export const definitionWith = (steps: Fields[], more: Fields = {}): Fields => ({
  name: 'Test agent',
  trigger: { type: 'bus_event', event_type: 'custom.test', source_product: 'psa', filters: [] },
  steps,
  ...more,
});

export const VARIABLES = { type: 'set_variables', id: 'vars', values: { greeting: 'Hello {{event_payload.name}}' } };
/** A definition that every new ticket starts. */
export const onTicketCreated = (): Fields => ({
  ...definitionWith([{ type: 'set_variables', id: 'note', values: { ticket: '{{event_payload.ticket_number}}' } }]),
  trigger: { type: 'bus_event', event_type: 'ticket.created', source_product: 'psa', filters: [] },
});
export const GATE = { type: 'approval_gate', id: 'gate', message: 'Go on for {{event_payload.name}}?' };
export const REASON = { type: 'ai_reason', id: 'think', tier: 'quick', prompt: 'Summarise {{event_payload.name}}' };
export const mailTo = (recipient: string): Fields => ({
  type: 'notification',
  id: 'mail',
  channel: 'email',
  recipients: [recipient],
  subject: 'For {{event_payload.name}}',
  body: 'Hello {{event_payload.name}}',
});

/** Creates and activates an agent; answers its id. */
export async function activeAgent(org: TestOrg, definition: Fields): Promise<string> {
  const created = await org.call('POST', '/agents/api/agents', definition);
  if (created.status !== 201) throw new Error(`agent not created: ${created.text}`);
  const id = text(created.body['id']);
  const activated = await org.call('PUT', `/agents/api/agents/${id}`, { status: 'active' });
  if (activated.status !== 200) throw new Error(`agent not activated: ${activated.text}`);
  return id;
}

/** Posts an event, whatever the answer is. */
export const postEvent = (org: TestOrg, payload: Fields, more: Fields = {}): Promise<Answer> =>
  org.call('POST', '/agents/api/events/ingest', {
    event_type: 'custom.test',
    source_product: 'psa',
    payload,
    ...more,
  });

/** The ids of the executions that an accepted event started. */
export const startedBy = ({ body }: Answer): string[] =>
  list(body['executions']).map((execution) => text(execution['id']));

/** Posts an event that is accepted; answers the ids of the executions it started. */
export async function fire(org: TestOrg, payload: Fields = { name: 'Ada' }, more: Fields = {}): Promise<string[]> {
  const answer = await postEvent(org, payload, more);
  if (answer.status !== 202 && answer.status !== 200) throw new Error(`event refused: ${answer.text}`);
  return startedBy(answer);
}

/** Posts an event that starts exactly one execution. */
export async function run(org: TestOrg, payload?: Fields): Promise<string> {
  const [id, ...rest] = await fire(org, payload);
  if (!id || rest.length > 0) throw new Error('the event did not start exactly one execution');
  return id;
}

/** The approval an execution waits on. */
export async function openGateOf(org: TestOrg, executionId: string): Promise<Body> {
  await waitForExecution(org, executionId, ['waiting_approval']);
  return waitFor(
    async () => list((await org.call('GET', `/agents/api/approvals?execution_id=${executionId}`)).body['approvals'])[0],
  );
}

/** The record of one step, by the id its definition gives it. */
export const stepOf = (execution: Body, id: string): Body =>
  list(execution['steps']).find((step) => text(step['step_id']) === id) ?? {};
