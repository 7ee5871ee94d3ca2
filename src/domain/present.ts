/** Record → resource: the shapes of the agent service's replies. */
import type { Agent, AgentDefinition, AgentStats, AgentStatus } from '../contracts/agent';
import { ORG_USERS, type Approval } from '../contracts/approval';
import type { Execution, ExecutionSummary, StepRecord } from '../contracts/execution';
import { workflowIdOf } from '../contracts/messages';
import type { AgentRuns } from '../store/agent-runs';
import type { AgentRecord } from '../store/agents';
import type { ApprovalRecord } from '../store/approvals';
import type { ExecutionRecord, ExecutionRow, StepSlot } from '../store/executions';

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;
const RATE_DIGITS = 10_000;

const NO_RUNS: AgentRuns = { total: 0, completed: 0, failed: 0, duration_ms: 0, last_run_at: null };

/** Run figures; agents that never ended a run by themselves have a rate of 0. */
export function agentStats(counted: AgentRuns | undefined, creditsUsed: number): AgentStats {
  const runs = counted ?? NO_RUNS;
  const ended = runs.completed + runs.failed;
  return {
    total_runs: runs.total,
    // Denials and cancels are people's decisions, so they count in neither direction.
    success_rate: ended === 0 ? 0 : Math.round((runs.completed / ended) * RATE_DIGITS) / RATE_DIGITS,
    avg_duration_ms: runs.total === 0 ? 0 : Math.round(runs.duration_ms / runs.total),
    last_run_at: iso(runs.last_run_at),
    credits_used_this_month: creditsUsed,
  };
}

const errorInfo = ({ status, error_info: info }: AgentRecord): Agent['error_info'] =>
  status === 'error' && info ? { ...info, since: info.since.toISOString() } : null;

export const presentAgent = (record: AgentRecord, stats: AgentStats): Agent => ({
  id: record._id,
  org_id: record.org_id,
  ...record.definition,
  type: record.type,
  status: record.status,
  error_info: errorInfo(record),
  version: record.version,
  source: record.source,
  stats,
  created_at: record.created_at.toISOString(),
  updated_at: record.updated_at.toISOString(),
});

/** When the shipped system agents were last changed. */
const SYSTEM_SINCE = '2026-11-01T00:00:00.000Z';

export const presentSystemAgent = (
  agent: { id: string; version: number; definition: AgentDefinition },
  state: { status: AgentStatus; stats: AgentStats },
): Agent => ({
  id: agent.id,
  org_id: 'system',
  ...agent.definition,
  type: 'system',
  status: state.status,
  error_info: null,
  version: agent.version,
  source: null,
  stats: state.stats,
  created_at: SYSTEM_SINCE,
  updated_at: SYSTEM_SINCE,
});

export const presentRow = (row: ExecutionRow): ExecutionSummary => ({
  id: row._id,
  agent_id: row.agent_id,
  status: row.status,
  status_reason: row.status_reason,
  credits_used: row.credits_used,
  created_at: row.created_at.toISOString(),
  completed_at: iso(row.completed_at),
});

const presentStep = (slot: StepSlot): StepRecord => ({
  step_id: slot.step_id,
  step_type: slot.step_type,
  path: slot.path,
  status: slot.status,
  output: slot.output,
  error: slot.error,
  attempts: slot.attempts,
  credits_used: slot.credits_used,
  duration_ms: slot.started_at && slot.completed_at ? slot.completed_at.getTime() - slot.started_at.getTime() : null,
  started_at: iso(slot.started_at),
  completed_at: iso(slot.completed_at),
  ...(slot.approval_id ? { approval_id: slot.approval_id } : {}),
  ...(slot.model ? { model: slot.model } : {}),
  ...(slot.usage
    ? { usage: { input_tokens: slot.usage['input_tokens'], output_tokens: slot.usage['output_tokens'] } }
    : {}),
});

/** Where operators find the execution in the Temporal Web UI. */
const workflowUrl = (temporal: { uiUrl: string; namespace: string }, workflowId: string): string | null =>
  temporal.uiUrl
    ? `${temporal.uiUrl}/namespaces/${temporal.namespace}/workflows/${encodeURIComponent(workflowId)}`
    : null;

export function presentExecution(record: ExecutionRecord, temporal: { uiUrl: string; namespace: string }): Execution {
  const { id, event_type, source_product, payload } = record.trigger_event;
  const workflowId = workflowIdOf(record._id);
  return {
    ...presentRow(record),
    agent_version: record.agent_version,
    started_at: iso(record.started_at),
    error: record.error,
    attempt_no: record.attempt_no,
    retry_of: record.retry_of,
    retried_by: record.retried_by,
    trigger_event: { id, event_type, source_product, payload },
    steps: record.steps.map(presentStep),
    workflow_id: workflowId,
    workflow_url: workflowUrl(temporal, workflowId),
  };
}

export const presentApproval = (record: ApprovalRecord): Approval => ({
  id: record._id,
  execution_id: record.execution_id,
  agent_id: record.agent_id,
  step_id: record.step_id,
  message: record.message,
  status: record.status,
  expires_at: record.expires_at.toISOString(),
  created_at: record.created_at.toISOString(),
  decided_by: record.decided_by,
  decided_by_name: record.decided_by_name ?? null,
  decided_at: iso(record.decided_at),
  decided_via: record.decided_via,
  note: record.note,
  approver: record.approver ?? ORG_USERS,
});

/** The approval as the contact it is addressed to sees it: what staff noted among themselves stays with them. */
export function presentToContact(record: ApprovalRecord, clientUserId: string): Approval {
  const isOwn = record.decided_by === clientUserId;
  return { ...presentApproval(record), ...(isOwn ? {} : { decided_by: null, decided_by_name: null, note: null }) };
}
