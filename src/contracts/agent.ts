/** Agents: an org-scoped automation with a trigger, conditions and ordered steps. */
import type { Condition, Filter } from './condition';
import { EVENT_CATEGORIES } from './event';
import { EVENT_TYPE_LENGTH_MAX, HEADING_PATTERN } from './patterns';
import type { Step } from './step';
import { Closed, Enum, Json, Nullable, Reference, Timestamp, Type, type Static } from './schema';

export const AGENT_TYPES = ['system', 'template', 'custom', 'cloned'] as const;
export const AGENT_STATUSES = ['active', 'paused', 'draft', 'error'] as const;
export const AGENT_CATEGORIES = [...EVENT_CATEGORIES, 'billing', 'hr', 'custom'] as const;
export const CONFLICT_BEHAVIORS = ['additive', 'override', 'defer', 'exclusive'] as const;
export const CLIENT_SCOPES = ['all', 'selected', 'excluded', 'internal'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];
export type AgentType = (typeof AGENT_TYPES)[number];

export const Trigger = Closed(
  {
    type: Enum(['bus_event']),
    event_type: Type.String({ minLength: 1, maxLength: EVENT_TYPE_LENGTH_MAX }),
    source_product: Type.String({ minLength: 1, maxLength: 41 }),
    filters: Type.Optional(Type.Array(Reference<Filter>('Filter'), { maxItems: 20 })),
  },
  { $id: 'Trigger' },
);
export type Trigger = Static<typeof Trigger>;

const definition = {
  name: Type.String({ minLength: 1, maxLength: 120 }),
  description: Type.String({ maxLength: 2_000 }),
  category: Enum(AGENT_CATEGORIES),
  trigger: Reference<Trigger>('Trigger'),
  conditions: Type.Array(Reference<Condition>('Condition'), { maxItems: 20 }),
  steps: Type.Array(Reference<Step>('Step'), { minItems: 1, maxItems: 50 }),
  conflict_behavior: Enum(CONFLICT_BEHAVIORS),
  priority: Type.Integer({ minimum: -1_000, maximum: 1_000 }),
  client_scope: Enum(CLIENT_SCOPES),
  client_ids: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 500 }),
};

/** A name as it is sent: it heads mails and fills one line of every list. Split in one way only, so that it is judged in linear time. */
export const AgentName = Type.String({
  minLength: 1,
  maxLength: 120,
  pattern: HEADING_PATTERN,
  description: 'One line that is not blank',
});

/** What an author writes. Everything an execution depends on is in here and is copied into each execution. */
export const AgentDefinition = Type.Object(definition, { $id: 'AgentDefinition' });
export type AgentDefinition = Static<typeof AgentDefinition>;

export const CreateAgent = Closed(
  {
    ...Type.Partial(Type.Object(definition)).properties,
    name: AgentName,
    trigger: definition.trigger,
    steps: definition.steps,
  },
  { $id: 'CreateAgent' },
);
export type CreateAgent = Static<typeof CreateAgent>;

export const UpdateAgent = Closed(
  {
    ...Type.Partial(Type.Object(definition)).properties,
    name: Type.Optional(AgentName),
    status: Type.Optional(Enum(AGENT_STATUSES)),
  },
  { $id: 'UpdateAgent', minProperties: 1 },
);
export type UpdateAgent = Static<typeof UpdateAgent>;

export const AgentStats = Type.Object({
  total_runs: Type.Integer(),
  success_rate: Type.Number({ minimum: 0, maximum: 1 }),
  avg_duration_ms: Type.Integer(),
  last_run_at: Nullable(Timestamp()),
  credits_used_this_month: Type.Integer(),
});
export type AgentStats = Static<typeof AgentStats>;

export const AgentFault = Type.Object(
  {
    code: Enum(['runs_failed_in_a_row', 'runs_failed_often']),
    message: Type.String(),
    since: Timestamp({ description: 'When the first of the failed runs was opened' }),
    execution_ids: Type.Array(Type.String(), { description: 'The newest of the failed runs, newest first' }),
  },
  { $id: 'AgentFault' },
);
export type AgentFault = Static<typeof AgentFault>;

export const Agent = Type.Object(
  {
    id: Type.String(),
    org_id: Type.String({ description: 'The owning org, or `system`' }),
    ...definition,
    type: Enum(AGENT_TYPES),
    status: Enum(AGENT_STATUSES),
    error_info: Nullable(AgentFault),
    version: Type.Integer({ description: 'Rises with every change of the agent, of its status too' }),
    source: Nullable(Json({ description: 'What a cloned agent was made from: `{kind, id, version}`' })),
    stats: AgentStats,
    created_at: Timestamp(),
    updated_at: Timestamp(),
  },
  { $id: 'Agent' },
);
export type Agent = Static<typeof Agent>;

/** What may be said of a system agent, and what somebody is told who says more. */
export const SYSTEM_AGENTS = {
  isAt: ({ id }: Readonly<Record<string, unknown>>) => String(id).startsWith('agt_system_'),
  why: 'System agents cannot be changed; send only "status": "paused" or "active", or clone the agent and change the clone.',
};
