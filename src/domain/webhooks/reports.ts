/** What agents report about their work, and endpoints about theirs, as events of the bus. */
import type { BusEvent } from '../../contracts/event';
import type { AgentRecord } from '../../store/agents';
import type { ApprovalRecord } from '../../store/approvals';
import type { UsedAccount } from '../../store/credits';
import type { ExecutionRecord } from '../../store/executions';
import type { WebhookRecord } from '../../store/webhooks';
import { stopOf } from '../agent-breaker';
import { derivedId } from '../ids';

const AGENTS = 'agents';

interface Report {
  type: string;
  at: Date;
  about: { path: string; id: string; version: number };
  /** What tells this report from others about the same record. */
  cause: string | number;
}

const report = (
  { org_id, client_id }: Pick<BusEvent, 'org_id' | 'client_id'>,
  { type, at, about, cause }: Report,
  payload: Record<string, unknown>,
): BusEvent => ({
  id: derivedId('evt', about.id, cause, type),
  org_id,
  event_type: type,
  source_product: AGENTS,
  occurred_at: at.toISOString(),
  client_id,
  payload,
  sequence: about.version,
  subject: `${about.path}/${about.id}`,
});

/** The end of an execution. */
export function executionReport(record: ExecutionRecord): BusEvent {
  const { trigger_event: trigger, status } = record;
  const about = { path: 'executions', id: record._id, version: record.seq };
  return report(
    { org_id: record.org_id, client_id: trigger.client_id },
    { type: `execution.${status}`, at: record.completed_at ?? record.touched_at, about, cause: status },
    {
      execution_id: record._id,
      agent_id: record.agent_id,
      agent_name: record.agent_name,
      status,
      status_reason: record.status_reason,
      trigger: `${trigger.source_product}:${trigger.event_type}`,
      event_id: record.event_id,
      credits_used: record.credits_used,
      attempt_no: record.attempt_no,
      client_id: trigger.client_id,
      created_at: record.created_at.toISOString(),
    },
  );
}

function waitingReport(approval: ApprovalRecord): BusEvent {
  const about = { path: 'executions', id: approval.execution_id, version: approval.execution_seq ?? 1 };
  return report(
    { org_id: approval.org_id, client_id: null },
    { type: 'execution.waiting_approval', at: approval.created_at, about, cause: approval._id },
    {
      execution_id: approval.execution_id,
      agent_id: approval.agent_id,
      status: 'waiting_approval',
      approval_id: approval._id,
      client_id: null,
    },
  );
}

function approvalReport(approval: ApprovalRecord, name: string, version: number): BusEvent {
  const at = name === 'requested' ? approval.created_at : (approval.decided_at ?? approval.expires_at);
  return report(
    { org_id: approval.org_id, client_id: null },
    { type: `approval.${name}`, at, about: { path: 'approvals', id: approval._id, version }, cause: name },
    {
      approval_id: approval._id,
      execution_id: approval.execution_id,
      agent_id: approval.agent_id,
      step_id: approval.step_id,
      message: approval.message,
      status: name === 'requested' ? 'pending' : approval.status,
      decided_by: name === 'requested' ? null : approval.decided_by,
      decided_by_name: name === 'requested' ? null : (approval.decided_by_name ?? null),
      created_at: approval.created_at.toISOString(),
      expires_at: approval.expires_at.toISOString(),
    },
  );
}

/** Everything an approval has to tell so far; what was told before has the same id and changes nothing. */
export const approvalReports = (approval: ApprovalRecord): BusEvent[] => [
  approvalReport(approval, 'requested', 1),
  waitingReport(approval),
  ...(approval.status === 'pending' ? [] : [approvalReport(approval, approval.status, 2)]),
];

/** An agent was stopped; said once for each time it is. */
export function stoppedReport(agent: AgentRecord): BusEvent {
  const { _id, org_id, name, version, status, updated_at, error_info: info } = agent;
  return report(
    { org_id, client_id: null },
    { type: 'agent.stopped', at: updated_at, about: { path: 'agents', id: _id, version }, cause: stopOf(agent) },
    {
      agent_id: _id,
      agent_name: name,
      status,
      code: info?.code ?? null,
      message: info?.message ?? null,
      since: info?.since.toISOString() ?? null,
      execution_ids: info?.execution_ids ?? [],
    },
  );
}

/** So many percent of the month's credits are used. */
export const thresholdReport = (account: UsedAccount, percent: number): BusEvent => ({
  id: derivedId('evt', account._id, percent, 'credits.threshold'),
  org_id: account.org_id,
  event_type: 'credits.threshold',
  source_product: AGENTS,
  occurred_at: account.updated_at.toISOString(),
  client_id: null,
  payload: {
    percent,
    remaining: account.allocation - account.total_used,
    total_used: account.total_used,
    allocation: account.allocation,
    month: account.month,
  },
});

/** An endpoint was switched off. */
export function disabledReport(webhook: WebhookRecord): BusEvent {
  // It may be on again by now.
  const { at, reason } = webhook.lastOff ?? {
    at: webhook.disabledAt ?? webhook.updatedAt,
    reason: webhook.disabledReason,
  };
  return {
    id: derivedId('evt', webhook._id, at.getTime(), 'webhook.disabled'),
    org_id: webhook.orgId,
    event_type: 'webhook.disabled',
    source_product: 'console',
    occurred_at: at.toISOString(),
    client_id: null,
    sequence: webhook.version,
    subject: `webhooks/${webhook._id}`,
    payload: {
      webhook_id: webhook._id,
      host: new URL(webhook.url).host,
      reason,
      failing_since: webhook.failingSince?.toISOString() ?? null,
      failures: webhook.failures,
    },
  };
}
