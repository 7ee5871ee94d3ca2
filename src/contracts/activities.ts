/** All a workflow may ask of the world. Implemented in activities/, called through policies in workflows/policies.ts. */
import type {
  BeginInput,
  DeliveryInput,
  FinishInput,
  GateOpened,
  GateSettled,
  Progress,
  ProgressInput,
  StepInput,
  StepResult,
  Tried,
} from './messages';
import type { Decision } from './approval';

export interface Activities {
  /** Marks an execution running that begins with light steps or with none that is recorded at once. */
  beginExecution(input: BeginInput): Promise<StepResult>;
  aiReason(input: StepInput): Promise<StepResult>;
  notification(input: StepInput): Promise<StepResult>;
  httpRequest(input: StepInput): Promise<StepResult>;
  setVariables(input: StepInput): Promise<StepResult>;
  /** Writes what the workflow has worked out by itself, before a wait that may be long. */
  recordProgress(input: ProgressInput): Promise<Progress>;
  openApproval(input: StepInput): Promise<GateOpened>;
  /** Settles the gate by compare-and-set and answers what its record says. `signal` and `expired` are proposals. */
  settleApproval(
    input: StepInput & {
      approval_id: string;
      proposal: { decision: Decision; note?: string } | 'expired' | 'cancelled' | null;
    },
  ): Promise<GateSettled>;
  /** Records a failed step whose error policy is `continue`. */
  recordFailure(input: StepInput & { error: { code: string; message: string }; tried?: Tried }): Promise<StepResult>;
  /** Records a step that an operator completed in the engine, with what they gave as its result. */
  recordByHand(input: StepInput & { given?: unknown }): Promise<StepResult>;
  /** Ends the execution by compare-and-set; answers the status the record really has. */
  finishExecution(input: FinishInput): Promise<{ status: string; credits_used: number }>;
  /** Attempts a webhook delivery that is due; answers when to come again, or null when it has ended. */
  attemptDelivery(input: Pick<DeliveryInput, 'delivery_id'>): Promise<{ wait_ms: number | null }>;
  /** One pass of the repairs; answers how many of each were needed. A healthy system repairs nothing. */
  sweepOnce(): Promise<Record<string, number>>;
  /** One pass over a product's records whose moment has come; answers how many changed per resource. */
  emitTimed(product: string): Promise<Record<string, number>>;
}
