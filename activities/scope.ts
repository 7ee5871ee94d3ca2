/** What placeholders and conditions can see of an execution. */
import type { ExecutionRecord } from '../src/store/executions';
import { pickPaths } from '../src/domain/paths';

/** The roots of every placeholder: `event_payload`, `event`, `steps`, `vars`, `agent`, `execution`, `org`. */
export function scopeOf(record: ExecutionRecord, publicUrl: string): Record<string, unknown> {
  const { payload, ...event } = record.trigger_event;
  const done = record.steps.filter((slot) => slot.step_type === 'set_variables' && slot.status === 'completed');
  return {
    event_payload: payload,
    event,
    steps: Object.fromEntries(record.steps.map((slot) => [slot.step_id, { status: slot.status, output: slot.output }])),
    vars: Object.assign({}, ...done.map((slot) => slot.output)) as Record<string, unknown>,
    agent: { id: record.agent_id, name: record.agent_name },
    execution: { id: record._id, url: `${publicUrl}/agents/api/executions/${record._id}` },
    org: { id: record.org_id, name: record.org_name, timezone: record.org_timezone ?? 'UTC' },
  };
}

/** The values of one step that conditions ask for; everything else stays out of the workflow's history. */
export function factsOf(record: ExecutionRecord, slot: number, asked: readonly string[]): Record<string, unknown> {
  const step = record.steps[slot];
  if (!step) return {};
  const setsVariables = step.step_type === 'set_variables';
  const mine = asked.filter(
    (path) => path.startsWith(`steps.${step.step_id}.`) || (setsVariables && path.startsWith('vars.')),
  );
  return mine.length === 0 ? {} : pickPaths(scopeOf(record, ''), mine);
}
