/** Executions in the engine: start, signal, cancel and look. Nothing here decides; the store does. */
import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type WorkflowExecutionStatusName,
} from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import {
  AGENT_EXECUTION,
  APPROVAL_DECISION,
  workflowIdOf,
  type DecisionSignal,
  type ExecutionInput,
} from '../contracts/messages';
import type { Engine } from './connect';

const PRIORITY_EVENT = 3;

const WAITING_APPROVAL = defineSearchAttributeKey('WaitingApproval', 'BOOL');
const CURRENT_STEP = defineSearchAttributeKey('CurrentStep', 'KEYWORD');

const keyword = (name: string) => defineSearchAttributeKey(name, 'KEYWORD');

/** Which workflow that has ended an execution may follow under its id, and what becomes of one that runs. */
const REUSE = {
  none: { workflowIdReusePolicy: 'REJECT_DUPLICATE', workflowIdConflictPolicy: 'USE_EXISTING' },
  failed: { workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY', workflowIdConflictPolicy: 'USE_EXISTING' },
  ended: { workflowIdReusePolicy: 'ALLOW_DUPLICATE', workflowIdConflictPolicy: 'USE_EXISTING' },
  any: { workflowIdReusePolicy: 'ALLOW_DUPLICATE', workflowIdConflictPolicy: 'TERMINATE_EXISTING' },
} as const;
type Reuse = keyof typeof REUSE;

/**
 * Starts the workflow of an execution. Starting it again is harmless: the id is taken, whether it runs or has ended.
 * Answers false when it has ended; then `reuse` says whether it is run anew. With `any` one that runs is replaced.
 */
export async function startExecution(
  engine: Engine,
  input: ExecutionInput,
  traceUrl: string,
  reuse: Reuse = 'none',
): Promise<boolean> {
  try {
    await engine.client.workflow.start(AGENT_EXECUTION, {
      workflowId: workflowIdOf(input.execution_id),
      taskQueue: engine.taskQueue,
      args: [input],
      ...REUSE[reuse],
      priority: { priorityKey: PRIORITY_EVENT, fairnessKey: input.org_id.slice(0, 64) },
      staticSummary: `${input.agent_name} · ${input.trigger}`.slice(0, 200),
      staticDetails: `Execution \`${input.execution_id}\` of agent \`${input.agent_id}\`, org \`${input.org_id}\`.\n\nTrace, with an API key: \`GET ${traceUrl}\``,
      typedSearchAttributes: [
        { key: keyword('OrgId'), value: input.org_id },
        { key: keyword('AgentId'), value: input.agent_id },
        { key: keyword('ExecutionId'), value: input.execution_id },
        { key: keyword('TriggerEvent'), value: input.trigger },
      ],
    });
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return false;
  }
}

/** Wakes a gate. The workflow reads the decision from the approval's record. */
export async function signalDecision(engine: Engine, executionId: string, decision: DecisionSignal): Promise<void> {
  try {
    await engine.client.workflow.getHandle(workflowIdOf(executionId)).signal(APPROVAL_DECISION, decision);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

/** Asks the workflow to stop; one that never started or has ended needs nothing. */
export async function cancelWorkflow(engine: Engine, executionId: string): Promise<void> {
  try {
    await engine.client.workflow.getHandle(workflowIdOf(executionId)).cancel();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

export const terminateWorkflow = async (engine: Engine, executionId: string, reason: string): Promise<void> => {
  await engine.client.workflow.getHandle(workflowIdOf(executionId)).terminate(reason);
};

/** What the engine says of a workflow. */
export interface Seen {
  status: WorkflowExecutionStatusName;
  /** The id of the gate at which it waits for a decision. */
  gate: string | null;
}

/** The workflow as the engine has it, or null when the engine does not know it. */
export async function lookAtWorkflow(engine: Engine, executionId: string): Promise<Seen | null> {
  try {
    const found = await engine.client.workflow.getHandle(workflowIdOf(executionId)).describe();
    const attributes = found.typedSearchAttributes;
    const gate = attributes.get(WAITING_APPROVAL) === true ? (attributes.get(CURRENT_STEP) ?? null) : null;
    return { status: found.status.name, gate };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** The workflow's own status, or null when the engine does not know it. */
export const workflowStatus = async (
  engine: Engine,
  executionId: string,
): Promise<WorkflowExecutionStatusName | null> => (await lookAtWorkflow(engine, executionId))?.status ?? null;
