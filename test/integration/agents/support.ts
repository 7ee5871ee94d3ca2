/** What the agent service's suites share: short calls, shapes of the interface, and past executions in the store. */
import { executionRecord } from '../../../src/domain/execution';
import { executionIdFor } from '../../../src/domain/ids';
import type { Store } from '../../../src/store/collection';
import { executions, type ExecutionRecord } from '../../../src/store/executions';
import { list, text, type Answer, type Body, type TestOrg } from '../../support/harness';

export const API = '/agents/api';

export const get = (org: TestOrg, path: string): Promise<Answer> => org.call('GET', `${API}${path}`);
export const post = (org: TestOrg, path: string, body?: unknown): Promise<Answer> =>
  org.call('POST', `${API}${path}`, body);
export const put = (org: TestOrg, path: string, body: unknown, headers?: Record<string, string>): Promise<Answer> =>
  org.call('PUT', `${API}${path}`, body, headers);
export const remove = (org: TestOrg, path: string): Promise<Answer> => org.call('DELETE', `${API}${path}`);

/** A matcher inside an expected object, typed so that it can stand for any value. */
export const like = (pattern: RegExp): unknown => expect.stringMatching(pattern);
export const ISO = like(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);

/** The refusal an answer must be: status and body agree, and the code is the one given. */
export function expectRefusal(answer: Answer, status: number, code: string): void {
  expect([answer.status, answer.text.slice(0, 1_000)]).toEqual([status, expect.stringContaining(`"error":"${code}"`)]);
  expect(answer.body).toMatchObject({ error: code, message: expect.any(String) as unknown, status });
}

/** The findings of a refusal as `path code`. */
export const findingsOf = (answer: Answer): string[] =>
  list(answer.body['details']).map((finding) => `${text(finding['path'])} ${text(finding['code'])}`);

export const statusesOf = (execution: Body): string[] =>
  list(execution['steps']).map((step) => `${text(step['step_id'])} ${text(step['status'])}`);

/** How the event turned out for one agent. */
export async function outcomeOf(org: TestOrg, eventId: string, agentId: string): Promise<Body> {
  const { body } = await get(org, `/event-log/${eventId}`);
  return list(body['outcomes']).find((outcome) => text(outcome['agent_id']) === agentId) ?? {};
}

const PAST: ExecutionRecord['definition'] = {
  name: 'Past agent',
  description: '',
  category: 'custom',
  trigger: { type: 'bus_event', event_type: 'custom.test', source_product: 'psa', filters: [] },
  conditions: [],
  steps: [{ type: 'set_variables', id: 'vars', values: { one: '1' } }],
  conflict_behavior: 'additive',
  priority: 0,
  client_scope: 'all',
  client_ids: [],
};

/** A finished execution as it stands in the store. */
export function pastExecution(
  orgId: string,
  eventId: string,
  fields: Partial<ExecutionRecord> & { created_at: Date },
): ExecutionRecord {
  const agentId = fields.agent_id ?? 'agt_past';
  const record = executionRecord({
    id: executionIdFor(agentId, `${orgId}:${eventId}`, 1),
    event: {
      id: eventId,
      org_id: orgId,
      event_type: 'custom.test',
      source_product: 'psa',
      occurred_at: fields.created_at.toISOString(),
      client_id: null,
      payload: {},
    },
    agent: { id: agentId, name: 'Past agent', version: 1, definition: PAST },
    now: fields.created_at,
    org: { name: 'Test org' },
  });
  return { ...record, status: 'completed', completed_at: fields.created_at, start_pending: false, ...fields };
}

export const storeExecutions = async (store: Store, records: ExecutionRecord[]): Promise<void> => {
  await executions.in(store).collection.insertMany(records as never);
};
