/** The state of one execution inside its workflow: what conditions can see, what is still to be recorded, what was decided. */
import { patched, setCurrentDetails } from '@temporalio/workflow';
import type {
  DecisionSignal,
  ExecutionInput,
  PlanStep,
  PureRecord,
  Recorded,
  StepInput,
  StepResult,
} from '../src/contracts/messages';
import { scopeFrom } from '../src/domain/paths';

const WAITING_DECISIONS_MAX = 100;

export interface Run {
  readonly input: ExecutionInput;
  seq: number;
  facts: Record<string, unknown>;
  /** Steps the workflow worked out by itself since the last record was written. */
  pure: PureRecord[];
  decisions: Map<string, DecisionSignal>;
  openGate: string | null;
  /** The step under way, for the failure record. */
  current: PlanStep | null;
  /** The outside step whose effect is under way, for the trace of a cancel. */
  effect: { slot: number; started_at: string } | null;
  /** The record has reached an end; nothing more is to be done. */
  ended: boolean;
  /** The record's status as last seen. */
  status: string;
  progress: string[];
}

/** A worker without the key gets them as they were sealed; conditions must not be decided by that. */
function readable(facts: Record<string, unknown>): Record<string, unknown> {
  if (typeof facts !== 'string') return facts;
  throw new Error('TEMPORAL_PAYLOAD_KEY is not set on this worker, and this workflow was sealed with one');
}

export const newRun = (input: ExecutionInput): Run => ({
  input,
  seq: 0,
  facts: { ...readable(input.facts) },
  pure: [],
  decisions: new Map(),
  openGate: null,
  current: null,
  effect: null,
  ended: false,
  status: 'pending',
  progress: [],
});

export const scopeOf = (run: Run): Record<string, unknown> => scopeFrom(run.facts);

export const learn = (run: Run, facts: Record<string, unknown>): void => {
  Object.assign(run.facts, readable(facts));
};

/** The moment by the workflow's own clock, which is the same in every replay. */
export const workflowNow = (): Date => new Date(Date.now());

/** What comes straight behind a step and is recorded with it. */
export interface Following {
  light: readonly PlanStep[];
  /** The outside step after all of these. */
  next: PlanStep | undefined;
  completes: boolean;
}

export const NOTHING_FOLLOWS: Following = { light: [], next: undefined, completes: false };

/** What an activity that records steps is told of the execution, whichever step it is. */
export const recordInput = (run: Run, { light, next, completes }: Following) => ({
  execution_id: run.input.execution_id,
  org_id: run.input.org_id,
  asked: run.input.asked,
  light: light.map(({ slot }) => slot),
  ...(next ? { next: next.slot } : {}),
  completes,
});

/** What an activity that records this step is told. */
export const stepInput = (run: Run, step: PlanStep, following: Following = NOTHING_FOLLOWS): StepInput => ({
  ...recordInput(run, following),
  slot: step.slot,
  seq: run.seq,
  begins: run.seq === 0,
  pure: run.pure,
});

/** Takes over what the record says after a write. */
export function follow(run: Run, { seq, status, ended }: Recorded): void {
  run.seq = seq;
  run.pure = [];
  run.status = status;
  run.ended = ended;
}

/** Notes a step that needs no activity; the next record that is written carries it along. */
export function notePure(
  run: Run,
  step: PlanStep,
  record: { status: PureRecord['status']; output: Record<string, unknown>; startedAt: Date },
): void {
  run.pure.push({
    slot: step.slot,
    status: record.status,
    output: record.output,
    started_at: record.startedAt.toISOString(),
    completed_at: record.status === 'running' ? null : workflowNow().toISOString(),
  });
  learn(run, { [`steps.${step.id}.status`]: record.status, [`steps.${step.id}.output`]: record.output });
}

/** A step that a rule left out, with everything inside it. */
export function noteSkipped(run: Run, step: PlanStep, reason: string): void {
  notePure(run, step, { status: 'skipped', output: { reason }, startedAt: workflowNow() });
  for (const branch of step.branches ?? []) for (const inner of branch.steps) noteSkipped(run, inner, reason);
  for (const inner of step.else ?? []) noteSkipped(run, inner, reason);
}

/** Since then the open gate hears its decision past the bound, too; executions that began before go on as they did. */
const OPEN_GATE_HEARD = 'open-gate-heard';

/**
 * Keeps the first decision per gate. A sender that floods the workflow is ignored past a bound, whatever it calls its
 * gates; what decides the open one is not.
 */
export function noteDecision(run: Run, signal: DecisionSignal): void {
  if (run.decisions.has(signal.approval_id)) return;
  const isFull = run.decisions.size >= WAITING_DECISIONS_MAX;
  if (isFull && !(signal.approval_id === run.openGate && patched(OPEN_GATE_HEARD))) return;
  run.decisions.set(signal.approval_id, signal);
}

/** Live progress on the workflow's page in the Web UI. */
export function showProgress(run: Run, ...lines: string[]): void {
  run.progress.push(...lines);
  setCurrentDetails(run.progress.map((entry) => `- ${entry}`).join('\n'));
}

/** Takes over what a record says, and shows the light steps that were written along. */
export function noteRecorded(run: Run, result: Omit<StepResult, 'credits'>, light: readonly PlanStep[]): void {
  follow(run, result);
  learn(run, result.facts);
  const done = light.slice(0, result.light);
  if (done.length > 0) showProgress(run, ...done.map(({ label }) => `${label}: done`));
}
