/** A gate: open its approval, wait for a decision or its time, and follow what the approval's record says. */
import { ApplicationFailure, condition, upsertSearchAttributes } from '@temporalio/workflow';
import {
  ApplicationFailureCategory,
  defaultPayloadConverter,
  defineSearchAttributeKey,
  type RawValue,
} from '@temporalio/common';
import type { DecisionSignal, GateOpened, GateSettled, PlanStep } from '../src/contracts/messages';
import { records } from './policies';
import { follow, noteRecorded, showProgress, stepInput, type Following, type Run } from './run';

const WAITING_APPROVAL = defineSearchAttributeKey('WaitingApproval', 'BOOL');
const CURRENT_STEP = defineSearchAttributeKey('CurrentStep', 'KEYWORD');

/** A second look after a timer that fired early by the store's clock. */
const RECHECK_MS = 1_000;

const isText = (value: unknown): value is string => typeof value === 'string' && value.length > 0;

/** What was sent; undefined when it was encoded in a way that nobody here reads. */
function readSent(sent: RawValue): unknown {
  try {
    return defaultPayloadConverter.fromPayload(sent.payload);
  } catch {
    return undefined;
  }
}

/** Reads a signal that anyone with access to the engine may send. Null for everything that is not a decision. */
export function parseDecision(sent: RawValue | undefined, openGate: string | null): DecisionSignal | null {
  const payload = sent && readSent(sent);
  if (typeof payload !== 'object' || payload === null) return null;
  const { approval_id: named, decision, note } = payload as Record<string, unknown>;
  const approvalId = isText(named) ? named : openGate;
  if (!approvalId || (decision !== 'approved' && decision !== 'denied')) return null;
  return { approval_id: approvalId, decision, ...(isText(note) ? { note: note.slice(0, 2_000) } : {}) };
}

/** The end of an execution that people, not faults, brought about. */
const refused = (type: string, message: string) =>
  ApplicationFailure.create({ type, message, nonRetryable: true, category: ApplicationFailureCategory.BENIGN });

async function settle(run: Run, step: PlanStep, opened: GateOpened, following: Following): Promise<GateSettled> {
  const expiresAt = Date.parse(opened.expires_at);
  for (;;) {
    const left = Math.max(RECHECK_MS, expiresAt - Date.now());
    const woken = await condition(() => run.decisions.has(opened.approval_id), left, {
      summary: `${step.label} expires`,
    });
    const signal = run.decisions.get(opened.approval_id);
    const settled = await records.settleApproval({
      ...stepInput(run, step, following),
      approval_id: opened.approval_id,
      proposal:
        woken && signal ? { decision: signal.decision, ...(signal.note ? { note: signal.note } : {}) } : 'expired',
    });
    if (settled.outcome !== 'pending') return settled;
    run.decisions.delete(opened.approval_id);
  }
}

/**
 * Waits at the gate. Answers how many light steps behind it are done too; throws how the execution ends when it was not
 * approved.
 */
export async function awaitDecision(run: Run, step: PlanStep, following: Following): Promise<number> {
  const opened = await records.openApproval(stepInput(run, step));
  follow(run, opened);
  if (opened.ended) return 0;
  run.openGate = opened.approval_id;
  upsertSearchAttributes([
    { key: WAITING_APPROVAL, value: true },
    { key: CURRENT_STEP, value: step.id },
  ]);
  showProgress(run, `${step.label}: waiting for a decision on \`${opened.approval_id}\` until ${opened.expires_at}`);
  const settled = await settle(run, step, opened, following);
  run.openGate = null;
  upsertSearchAttributes([{ key: WAITING_APPROVAL, value: false }]);
  showProgress(run, `${step.label}: ${settled.outcome}`);
  noteRecorded(run, settled, following.light);
  if (settled.ended) return settled.light;
  if (settled.outcome === 'denied') throw refused('approval_denied', `Step ${step.id} was denied.`);
  if (settled.outcome === 'expired')
    throw refused('approval_expired', `Nobody decided step ${step.id} before ${opened.expires_at}.`);
  return settled.light;
}
