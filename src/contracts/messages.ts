/** What crosses the engine: workflow and signal names, their inputs and the plan a workflow walks. */
import type { Condition } from './condition';
import type { Decision } from './approval';
import type { StatusReason } from './execution';
import type { StepType } from './step';

export const AGENT_EXECUTION = 'agentExecution';
export const SWEEP = 'sweep';
export const TIMED_EVENTS = 'timedEvents';
export const WEBHOOK_DELIVERY = 'webhookDelivery';
export const APPROVAL_DECISION = 'approvalDecision';
/** What a workflow fails with that waited for its record in vain. */
export const ORPHAN_WORKFLOW = 'OrphanWorkflow';

/** Custom search attributes and their Temporal types; registered at deploy, checked when a worker starts. */
export const SEARCH_ATTRIBUTES = {
  OrgId: 'KEYWORD',
  AgentId: 'KEYWORD',
  ExecutionId: 'KEYWORD',
  TriggerEvent: 'KEYWORD',
  Outcome: 'KEYWORD',
  CurrentStep: 'KEYWORD',
  WaitingApproval: 'BOOL',
  CreditsUsed: 'INT',
} as const;

export const workflowIdOf = (executionId: string): string => `exec_${executionId}`;

/** One step as the workflow needs it: order and time only; prompts, recipients and URLs stay in the store. */
export interface PlanStep {
  /** Index of the step's record in the execution. */
  slot: number;
  path: string;
  id: string;
  type: StepType;
  label: string;
  when?: Condition;
  on_error: 'fail' | 'continue';
  timeout_ms?: number;
  retry?: { max_attempts: number; initial_ms?: number; max_ms?: number };
  /** approval_gate: lifetime; delay: length. */
  duration_ms?: number;
  branches?: { name: string; when: Condition; steps: PlanStep[] }[];
  else?: PlanStep[];
}

export interface ExecutionInput {
  execution_id: string;
  org_id: string;
  agent_id: string;
  agent_name: string;
  trigger: string;
  /** The values of the payload that conditions of the plan ask for, by dotted path, and nothing else. */
  facts: Record<string, unknown>;
  steps: PlanStep[];
  /** Paths that conditions ask for; step activities return just these of their output. */
  asked: string[];
  /** Version of the interpreter's meaning; raised when a definition would run differently. */
  semantics: 1;
}

/** A step the workflow worked out by itself (branch, delay, skipped), written by the next activity that records. */
export interface PureRecord {
  slot: number;
  /** `running` is a delay that goes on. */
  status: 'running' | 'completed' | 'skipped';
  output: Record<string, unknown>;
  started_at: string;
  completed_at: string | null;
}

/** What every step activity is told beside its step. */
export interface StepInput {
  execution_id: string;
  org_id: string;
  slot: number;
  /** How many records the execution holds already; lets a worker trust its copy of the execution. */
  seq: number;
  /** Set on the first step, when no record was written before: it marks the execution running. */
  begins: boolean;
  pure: PureRecord[];
  asked: string[];
  /** Slots of the light steps straight behind this one: worked out and recorded in the same write. */
  light: number[];
  /** Slot to mark running in the same write: the step that comes straight after all of these. */
  next?: number;
  /** Set when nothing comes after these: their record also completes the execution. */
  completes: boolean;
}

/** What the first record of an execution is told: like a step, but before all of them. */
export type BeginInput = Omit<StepInput, 'slot' | 'seq' | 'pure' | 'begins'> & { run_id: string };

/** What every write to the record answers. */
export interface Recorded {
  seq: number;
  status: string;
  /** The execution reached an end in the store; the workflow stops here. */
  ended: boolean;
}

/** Steps that the workflow worked out by itself, the last of which begins. */
export interface ProgressInput {
  execution_id: string;
  /** Records seen so far; absent from workflows of an older version. */
  seq?: number;
  pure: PureRecord[];
}

export interface Progress extends Recorded {
  /** When the step had begun by the record; absent unless an engine that lost its data begins it again. */
  begun_at?: string;
}

export interface StepResult extends Recorded {
  /** Values of the recorded steps that conditions ask for, by dotted path. */
  facts: Record<string, unknown>;
  credits: number;
  /** How many of the light steps were recorded along; the first that failed, if any, is left for its own turn. */
  light: number;
}

export interface GateOpened extends Recorded {
  approval_id: string;
  expires_at: string;
}

/** What the gate's record finally says; the workflow follows nothing else. */
export interface GateSettled extends Recorded {
  outcome: 'approved' | 'denied' | 'expired' | 'pending';
  facts: Record<string, unknown>;
  light: number;
}

/** What the trace tells of a failed step beside its error. */
export interface Tried {
  attempts: number;
  /** The model that an AI step asked. */
  model?: Record<string, unknown>;
}

export interface FinishInput {
  execution_id: string;
  org_id: string;
  status: 'completed' | 'failed' | 'cancelled';
  reason: StatusReason | null;
  error: { code: string; message: string } | null;
  /** Slot of the step that failed, if one did. */
  failed_slot: number | null;
  tried?: Tried;
  /** The outside step that a cancel found under way. */
  interrupted?: { slot: number; started_at: string };
  /** Records seen so far; absent from workflows of an older version. */
  seq?: number;
  pure: PureRecord[];
}

/** Payload of the approval signal. It wakes the gate and proposes; the approval's record decides. */
export interface DecisionSignal {
  approval_id: string;
  decision: Decision;
  note?: string;
}

/** Id of the workflow that retries a delivery. */
export const deliveryWorkflowIdOf = (webhookId: string, eventId: string): string => `wh-${webhookId}-${eventId}`;

/** What the retries of a delivery begin with; all else is in its record. */
export interface DeliveryInput {
  delivery_id: string;
  wait_ms: number;
}
