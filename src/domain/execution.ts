/** From a definition and an event to the record of an execution, and from the record to what its workflow is told. */
import type { BusEvent } from '../contracts/event';
import type { ExecutionInput } from '../contracts/messages';
import type { ExecutionRecord, StepSlot } from '../store/executions';
import type { Candidate } from './matching';
import { pickPaths } from './paths';
import { planOf } from './plan';

interface Opening {
  id: string;
  event: BusEvent;
  agent: Pick<Candidate, 'id' | 'name' | 'version' | 'definition'>;
  now: Date;
  org: { name: string; timezone?: string | undefined };
  /** Whether its end is to be reported to an endpoint. */
  watched?: boolean;
  attemptNo?: number;
  retryOf?: { id: string; root: string };
}

const emptySlot = (slot: { path: string; step: { id: string; type: string } }): StepSlot => ({
  step_id: slot.step.id,
  step_type: slot.step.type,
  path: slot.path,
  status: 'pending',
  output: {},
  error: null,
  attempts: 0,
  credits_used: 0,
  started_at: null,
  completed_at: null,
});

/** The record as it is first written: pending, with one empty slot per step and the definition it will run by. */
export function executionRecord({ id, event, agent, now, org, watched, attemptNo, retryOf }: Opening): ExecutionRecord {
  const { org_id: orgId, sequence: _sequence, subject: _subject, ...trigger } = event;
  return {
    _id: id,
    org_id: orgId,
    org_name: org.name,
    ...(org.timezone === undefined ? {} : { org_timezone: org.timezone }),
    agent_id: agent.id,
    agent_name: agent.name,
    agent_version: agent.version,
    status: 'pending',
    status_reason: null,
    error: null,
    credits_used: 0,
    created_at: now,
    started_at: null,
    completed_at: null,
    attempt_no: attemptNo ?? 1,
    root_id: retryOf?.root ?? id,
    retry_of: retryOf?.id ?? null,
    retried_by: null,
    event_id: event.id,
    trigger_event: trigger,
    definition: agent.definition,
    steps: planOf(agent.definition).slots.map(emptySlot),
    seq: 0,
    start_pending: true,
    touched_at: now,
    ...(watched ? { watched } : {}),
  };
}

/** The workflow's input: the plan and the few payload values its conditions ask for; prompts stay in the store. */
export function workflowInput(
  record: ExecutionRecord,
  org: { id: string; tier: string; name: string },
): ExecutionInput {
  const plan = planOf(record.definition);
  const { payload, ...event } = record.trigger_event;
  const known = {
    event_payload: payload,
    event,
    org,
    agent: { id: record.agent_id, name: record.agent_name },
  };
  return {
    execution_id: record._id,
    org_id: record.org_id,
    agent_id: record.agent_id,
    agent_name: record.agent_name,
    trigger: `${record.trigger_event.source_product}:${record.trigger_event.event_type}`,
    facts: pickPaths(known, plan.asked),
    steps: plan.steps,
    asked: plan.asked,
    semantics: 1,
  };
}
