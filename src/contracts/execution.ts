/** Executions: one durable run of an agent for one event, and its step trace. */
import { Enum, Json, Nullable, Timestamp, Type, type Static } from './schema';

export const EXECUTION_STATUSES = [
  'pending',
  'running',
  'completed',
  'failed',
  'cancelled',
  'waiting_approval',
] as const;
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

export const STEP_STATUSES = ['pending', 'running', 'completed', 'failed', 'skipped', 'waiting_approval'] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

export const STATUS_REASONS = [
  'approval_denied',
  'approval_expired',
  'credit_insufficient',
  'cancelled_by_user',
  'agent_deleted',
  'step_failed',
  'terminated_by_operator',
] as const;
export type StatusReason = (typeof STATUS_REASONS)[number];

export const ErrorInfo = Type.Object({ code: Type.String(), message: Type.String() });
export type ErrorInfo = Static<typeof ErrorInfo>;

export const ExecutionSummary = Type.Object(
  {
    id: Type.String(),
    agent_id: Type.String(),
    status: Enum(EXECUTION_STATUSES),
    status_reason: Nullable(Enum(STATUS_REASONS)),
    credits_used: Type.Integer(),
    created_at: Timestamp(),
    completed_at: Nullable(Timestamp()),
  },
  { $id: 'ExecutionSummary' },
);
export type ExecutionSummary = Static<typeof ExecutionSummary>;

export const StepRecord = Type.Object(
  {
    step_id: Type.String(),
    step_type: Type.String(),
    path: Type.String({ description: 'Position in the definition, for example `2` or `3/else/0`' }),
    status: Enum(STEP_STATUSES),
    output: Json(),
    error: Nullable(ErrorInfo),
    attempts: Type.Integer(),
    credits_used: Type.Integer(),
    duration_ms: Nullable(Type.Integer()),
    started_at: Nullable(Timestamp()),
    completed_at: Nullable(Timestamp()),
    approval_id: Type.Optional(Type.String()),
    model: Type.Optional(Json({ description: '`{tier, provider, name}` of an AI step' })),
    usage: Type.Optional(Json({ description: '`{input_tokens, output_tokens}` of an AI step' })),
  },
  { $id: 'StepRecord' },
);
export type StepRecord = Static<typeof StepRecord>;

export const TriggerEvent = Type.Object(
  { id: Type.String(), event_type: Type.String(), source_product: Type.String(), payload: Json() },
  { $id: 'TriggerEvent' },
);

export const Execution = Type.Object(
  {
    ...ExecutionSummary.properties,
    agent_version: Type.Integer(),
    started_at: Nullable(Timestamp()),
    error: Nullable(ErrorInfo),
    attempt_no: Type.Integer(),
    retry_of: Nullable(Type.String()),
    retried_by: Nullable(Type.String()),
    trigger_event: TriggerEvent,
    steps: Type.Array(StepRecord),
    workflow_id: Type.String({ description: 'Identifier in the Temporal Web UI' }),
    workflow_url: Nullable(Type.String()),
  },
  { $id: 'Execution' },
);
export type Execution = Static<typeof Execution>;
