/** Every route of the agent service. The specification's part B, and after it our own additions. */
import { Agent, AGENT_CATEGORIES, AGENT_STATUSES, AGENT_TYPES, CreateAgent, SYSTEM_AGENTS, UpdateAgent } from '../agent';
import { Approval, APPROVAL_STATUSES, DecideApproval } from '../approval';
import { CreditHistory, CreditUsage } from '../credit';
import { EventCatalogEntry, EventInput, EventLogEntry, EVENT_CATEGORIES, IngestResult } from '../event';
import { Execution, ExecutionSummary, EXECUTION_STATUSES } from '../execution';
import { operation } from '../operation';
import { Limit } from '../page';
import { EVENT_ADDRESS_PATTERN } from '../patterns';
import type { Access, Permission } from '../principal';
import { Closed, Enum, Id, Nullable, TimestampOrDay, Type } from '../schema';
import { CloneTemplate, Template, TEMPLATE_CATEGORIES } from '../template';

const access = (permission: Permission): Access => ({ kind: 'product', scopes: ['Agents', 'Console'], permission });
const byId = Closed({ id: Id() });
const cursor = Type.Optional(Type.String({ maxLength: 1_000, description: '`next_cursor` of the page before' }));
const listMeta = { total: Type.Integer(), total_is_estimate: Type.Optional(Type.Boolean()), next_cursor: Nullable(Type.String()) };

const triage = {
  name: 'Escalated ticket: summarise, ask, notify',
  category: 'service_desk',
  trigger: {
    type: 'bus_event',
    event_type: 'ticket.escalated',
    source_product: 'psa',
    filters: [{ field: 'priority', operator: 'eq', value: 'critical' }],
  },
  conditions: [],
  steps: [
    { type: 'ai_reason', id: 'summary', tier: 'quick', prompt: 'Summarise for an engineer: {{event_payload.title}}' },
    { type: 'approval_gate', id: 'ok', message: 'Notify on-call about {{event_payload.ticket_number}}?' },
    { type: 'notification', id: 'tell', channel: 'email', recipients: ['oncall@example.com'], body: '{{steps.summary.output.text}}' },
  ],
  conflict_behavior: 'additive',
  client_scope: 'all',
};

const agents = {
  listAgents: operation({
    id: 'listAgents', service: 'agents', method: 'GET', path: '/api/agents', tag: 'Agents',
    summary: 'List the agents of the org, system agents included',
    access: access('agents:read'),
    query: Closed({
      status: Type.Optional(Enum(AGENT_STATUSES)),
      type: Type.Optional(Enum(AGENT_TYPES)),
      category: Type.Optional(Enum(AGENT_CATEGORIES)),
    }),
    responses: { 200: Type.Object({ agents: Type.Array(Agent), total: Type.Integer() }) },
  }),
  createAgent: operation({
    id: 'createAgent', service: 'agents', method: 'POST', path: '/api/agents', tag: 'Agents',
    summary: 'Create an agent as a draft',
    access: access('agents:write'),
    body: CreateAgent, invalidBody: 'invalid_agent_config', examples: { triage },
    responses: { 201: Agent },
    errors: ['invalid_agent_config'],
  }),
  getAgent: operation({
    id: 'getAgent', service: 'agents', method: 'GET', path: '/api/agents/:id', tag: 'Agents',
    summary: 'Read one agent with its definition and stats',
    access: access('agents:read'), params: byId,
    responses: { 200: Agent }, errors: ['agent_not_found'],
  }),
  updateAgent: operation({
    id: 'updateAgent', service: 'agents', method: 'PUT', path: '/api/agents/:id', tag: 'Agents',
    summary: 'Change an agent; only the fields sent are changed',
    description: '`status` = `active` activates a draft. A system agent takes only `status` = `paused` or `active`, for your org alone.',
    access: access('agents:write'), params: byId,
    body: UpdateAgent, invalidBody: 'invalid_agent_config', fixed: SYSTEM_AGENTS, examples: { activate: { status: 'active' } },
    responses: { 200: Agent },
    errors: ['agent_not_found', 'invalid_agent_config', 'invalid_status_transition', 'agent_limit_reached', 'version_conflict'],
  }),
  deleteAgent: operation({
    id: 'deleteAgent', service: 'agents', method: 'DELETE', path: '/api/agents/:id', tag: 'Agents',
    summary: 'Cancel the active executions of an agent, then remove it',
    access: access('agents:write'), params: byId,
    responses: { 204: null }, errors: ['agent_not_found', 'version_conflict', 'store_unavailable'],
  }),
  cloneAgent: operation({
    id: 'cloneAgent', service: 'agents', method: 'POST', path: '/api/agents/:id/clone', tag: 'Agents',
    summary: 'Copy an agent, a system agent too, into a draft of the org',
    access: access('agents:write'), params: byId, body: CloneTemplate, examples: { named: { name: 'Our triage' } },
    responses: { 201: Agent }, errors: ['agent_not_found'],
  }),
};

const executions = {
  listExecutions: operation({
    id: 'listExecutions', service: 'agents', method: 'GET', path: '/api/executions', tag: 'Executions',
    summary: 'List executions, newest first',
    access: access('executions:read'),
    query: Closed({
      agent_id: Type.Optional(Id()),
      status: Type.Optional(Enum(EXECUTION_STATUSES)),
      from: Type.Optional(TimestampOrDay({ description: 'Created at or after; a date is its beginning in UTC' })),
      to: Type.Optional(TimestampOrDay({ description: 'Created at or before; a date is its end in UTC' })),
      event_id: Type.Optional(Type.String({ maxLength: 128 })),
      limit: Limit,
      cursor,
      next_cursor: cursor,
    }),
    responses: {
      200: Type.Object({ executions: Type.Array(ExecutionSummary), ...listMeta, limit: Type.Integer() }),
    },
    errors: ['invalid_cursor'],
  }),
  getExecution: operation({
    id: 'getExecution', service: 'agents', method: 'GET', path: '/api/executions/:id', tag: 'Executions',
    summary: 'Read one execution with its trigger event and step trace',
    access: access('executions:read'), params: byId,
    responses: { 200: Execution }, errors: ['execution_not_found'],
  }),
  cancelExecution: operation({
    id: 'cancelExecution', service: 'agents', method: 'POST', path: '/api/executions/:id/cancel', tag: 'Executions',
    summary: 'Cancel an execution; open gates are denied and pending steps skipped',
    access: access('executions:operate'), params: byId,
    responses: { 200: Execution }, errors: ['execution_not_found', 'execution_not_cancellable'],
  }),
  retryExecution: operation({
    id: 'retryExecution', service: 'agents', method: 'POST', path: '/api/executions/:id/retry', tag: 'Executions',
    summary: 'Run a failed or cancelled execution again from the beginning, as a new execution',
    access: access('executions:operate'), params: byId,
    responses: { 202: Execution },
    errors: [
      'execution_not_found', 'execution_not_retryable', 'already_retried', 'agent_not_found', 'agent_not_active',
      'credit_insufficient', 'engine_unavailable',
    ],
  }),
};

const approvals = {
  listApprovals: operation({
    id: 'listApprovals', service: 'agents', method: 'GET', path: '/api/approvals', tag: 'Approvals',
    summary: 'List approvals, newest first',
    description: 'A portal token lists what is addressed to its own contact.',
    access: access('approvals:read'), portal: 'approvals:read',
    query: Closed({
      status: Type.Optional(Enum(APPROVAL_STATUSES)),
      execution_id: Type.Optional(Id()),
      agent_id: Type.Optional(Id()),
      limit: Limit,
      cursor,
    }),
    responses: { 200: Type.Object({ approvals: Type.Array(Approval), ...listMeta, limit: Type.Integer() }) },
    errors: ['invalid_cursor'],
  }),
  getApproval: operation({
    id: 'getApproval', service: 'agents', method: 'GET', path: '/api/approvals/:id', tag: 'Approvals',
    summary: 'Read one approval',
    description: 'A portal token reads what is addressed to its own contact; `decided_by`, its name and `note` are shown to whoever decided.',
    access: access('approvals:read'), portal: 'approvals:read', params: byId,
    responses: { 200: Approval }, errors: ['approval_not_found'],
  }),
  decideApproval: operation({
    id: 'decideApproval', service: 'agents', method: 'POST', path: '/api/approvals/:id/decision', tag: 'Approvals',
    summary: 'Approve or deny; exactly one decision is ever recorded',
    access: access('approvals:decide'), portal: 'approvals:decide', params: byId, body: DecideApproval,
    examples: { approve: { decision: 'approved', note: 'Call the client first' } },
    responses: { 200: Approval },
    errors: ['approval_not_found', 'approval_already_decided', 'approval_expired', 'approval_closed'],
  }),
};

const catalog = {
  listTemplates: operation({
    id: 'listTemplates', service: 'agents', method: 'GET', path: '/api/templates', tag: 'Templates',
    summary: 'List the shipped agent templates by category',
    access: access('agents:read'),
    query: Closed({ category: Type.Optional(Enum(TEMPLATE_CATEGORIES)) }),
    responses: { 200: Type.Object({ templates: Type.Array(Template) }) },
  }),
  cloneTemplate: operation({
    id: 'cloneTemplate', service: 'agents', method: 'POST', path: '/api/templates/:id/clone', tag: 'Templates',
    summary: 'Make a draft agent from a template, or from a system agent',
    access: access('agents:write'), params: byId, body: CloneTemplate, examples: { named: { name: 'Our phishing handler' } },
    responses: { 201: Agent }, errors: ['template_not_found'],
  }),
  listEvents: operation({
    id: 'listEvents', service: 'agents', method: 'GET', path: '/api/events', tag: 'Events',
    summary: 'List the event types that can trigger agents',
    access: access('events:read'),
    query: Closed({
      source_product: Type.Optional(Type.String({ maxLength: 41 })),
      category: Type.Optional(Enum(EVENT_CATEGORIES)),
    }),
    responses: { 200: Type.Object({ events: Type.Array(EventCatalogEntry) }) },
  }),
};

const credits = {
  getCredits: operation({
    id: 'getCredits', service: 'agents', method: 'GET', path: '/api/credits', tag: 'Credits',
    summary: 'Read the credit usage of the current month',
    access: access('credits:read'),
    responses: { 200: CreditUsage },
  }),
  listCreditHistory: operation({
    id: 'listCreditHistory', service: 'agents', method: 'GET', path: '/api/credits/history', tag: 'Credits',
    summary: 'Read the credit usage of the past 12 months, newest first',
    access: access('credits:read'),
    responses: { 200: CreditHistory },
  }),
};

const intake = {
  ingestEvent: operation({
    id: 'ingestEvent', service: 'agents', method: 'POST', path: '/api/events/ingest', tag: 'Events',
    summary: 'Put an event on the bus, in our own shape or as CloudEvents 1.0 JSON',
    description: 'An event id is idempotent for ever within the org: the same id again answers 200 with `duplicate` = true.',
    access: access('events:write'), body: EventInput,
    examples: {
      native: { event_type: 'ticket.escalated', source_product: 'psa', payload: { ticket_number: 'T-1042', priority: 'critical' } },
      cloudevents: {
        specversion: '1.0', id: 'a1', source: '/psa', type: 'psa.ticket.escalated',
        data: { ticket_number: 'T-1042', priority: 'critical' },
      },
    },
    responses: { 200: IngestResult, 202: IngestResult },
    errors: ['event_type_not_found', 'engine_unavailable'],
  }),
  explainEvent: operation({
    id: 'explainEvent', service: 'agents', method: 'GET', path: '/api/event-log/:id', tag: 'Events',
    summary: 'Read an event and why each agent ran, or did not run, for it',
    access: access('events:read'), params: Closed({ id: Type.String({ pattern: EVENT_ADDRESS_PATTERN }) }),
    responses: { 200: EventLogEntry }, errors: ['event_not_found'],
  }),
};

export const agentOperations = { ...agents, ...executions, ...approvals, ...catalog, ...credits, ...intake };
export type AgentOperations = typeof agentOperations;
