/** Gates: open the approval, and settle it by what its record says. */
import type { GateOpened, GateSettled, StepInput } from '../src/contracts/messages';
import { ORG_USERS, type Approver, type Decision } from '../src/contracts/approval';
import type { StepOf } from '../src/contracts/step';
import { durationMs } from '../src/domain/durations';
import { approvalIdFor } from '../src/domain/ids';
import { GATE_LIFETIME } from '../src/domain/plan';
import { renderText, truncate } from '../src/domain/text';
import * as approvals from '../src/store/approvals';
import { auditDecision, denyGates } from '../src/store/audit-trail';
import { companyOfContact } from '../src/store/client-users';
import { writeExecution } from '../src/store/execution-rounds';
import type { SlotWrite } from '../src/store/execution-writes';
import { hasEnded, type ExecutionRecord } from '../src/store/executions';
import type { Deps } from './deps';
import { permanent, unrenderable } from './failures';
import { recorded, withLight } from './light';
import { afterWrite, readForStep, readRunning, stepOf } from './record';
import { scopeOf } from './scope';

export const OPERATOR = 'temporal:operator';
/** A list holds up to 200 approvals; nobody reads more than this before deciding one. */
const MESSAGE_MAX = 16_000;

/**
 * Whom the gate asks beside the org's users. A contact that cannot be found, or that belongs to another client than the
 * event is about, is not asked: the org's users still decide, and the approval says why nobody else can.
 */
async function approverOf(deps: Deps, record: ExecutionRecord, step: StepOf<'approval_gate'>): Promise<Approver> {
  if (step.approvers?.type !== 'portal_contact') return ORG_USERS;
  const scope = scopeOf(record, deps.config.publicUrl);
  const contactId = renderText(step.approvers.contact, scope, { escapeHtml: false }).trim();
  const nobody = { kind: 'portal_contact', contact_id: null, client_id: null } as const;
  if (contactId === '') return { ...nobody, unaddressed: 'no_contact' };
  const clientId = await companyOfContact(deps.store, record.org_id, contactId);
  if (clientId === null) return { ...nobody, unaddressed: 'contact_not_found' };
  const about = record.trigger_event.client_id;
  if (about !== null && about !== clientId) return { ...nobody, unaddressed: 'contact_of_another_client' };
  return { kind: 'portal_contact', contact_id: contactId, client_id: clientId, unaddressed: null };
}

/** The approval's text, lifetime and address, from the definition the execution runs by. */
async function approvalRecord(deps: Deps, record: ExecutionRecord, slot: number): Promise<approvals.ApprovalRecord> {
  const { path, step } = stepOf(record, slot);
  if (step.type !== 'approval_gate') throw permanent('invalid_state', `Step ${step.id} is not a gate.`);
  const now = deps.clock.now();
  const message = renderText(step.message, scopeOf(record, deps.config.publicUrl), { escapeHtml: false });
  return {
    _id: approvalIdFor(record._id, path),
    org_id: record.org_id,
    execution_id: record._id,
    agent_id: record.agent_id,
    step_id: step.id,
    message: truncate(message, MESSAGE_MAX),
    status: 'pending',
    expires_at: new Date(now.getTime() + durationMs(step.expires_in ?? GATE_LIFETIME)),
    created_at: now,
    decided_by: null,
    decided_at: null,
    decided_via: null,
    note: null,
    approver: await approverOf(deps, record, step),
    consumed_at: null,
    watched: record.watched ?? false,
    unreported: true,
    execution_seq: record.seq + 1,
  };
}

/** A gate of an execution that is over: what an attempt before this one has opened is closed, and nothing else opened. */
async function staysClosed(deps: Deps, record: ExecutionRecord, slot: number): Promise<GateOpened> {
  const now = deps.clock.now();
  await denyGates(deps, record._id, now);
  const { path } = stepOf(record, slot);
  const { seq, status } = record;
  return { approval_id: approvalIdFor(record._id, path), expires_at: now.toISOString(), seq, status, ended: true };
}

/**
 * Opens a gate: approval first, then the execution's status. An execution that was cancelled in between closes the
 * approval again, so nobody can decide for an execution that is over.
 */
export async function openApproval(deps: Deps, input: StepInput): Promise<GateOpened> {
  const { stored, record } = await readForStep(deps, input, true);
  if (hasEnded(record.status)) return staysClosed(deps, record, input.slot);
  const asked = await approvalRecord(deps, record, input.slot).catch((error: unknown) => {
    throw unrenderable(error);
  });
  const approval = await approvals.openApproval(deps.store, asked);
  const now = deps.clock.now();
  // An engine that lost its data runs the step again: a gate that was decided before is settled at once.
  const until = approval.status === 'pending' ? approval.expires_at : now;
  const opened = { approval_id: approval._id, expires_at: until.toISOString() };
  const isPassed = record.steps[input.slot]?.status === 'completed';
  if (isPassed) return { ...opened, seq: record.seq, status: record.status, ended: false };
  const written = await writeExecution(deps.store, {
    known: stored,
    now,
    pure: input.pure,
    status: 'waiting_approval',
    ends: input.slot,
    slots: [
      {
        index: input.slot,
        fields: { status: 'waiting_approval', approval_id: approval._id, started_at: approval.created_at, attempts: 1 },
      },
    ],
  });
  if (written) {
    deps.cache.put(written);
    return { ...opened, seq: written.seq, status: written.status, ended: false };
  }
  const found = await readRunning(deps, { execution_id: record._id, seq: -1 });
  if (hasEnded(found.status)) return staysClosed(deps, found, input.slot);
  // Another attempt has gone past it since this one read the record.
  return { ...opened, seq: found.seq, status: found.status, ended: false };
}

type Proposal = { decision: Decision; note?: string } | 'expired' | 'cancelled' | null;

async function propose(deps: Deps, input: StepInput & { approval_id: string }, proposal: Proposal): Promise<void> {
  const now = deps.clock.now();
  if (proposal === 'cancelled') await denyGates(deps, input.execution_id, now);
  else if (proposal === 'expired') await approvals.expire(deps.store, input.approval_id, now);
  else if (proposal !== null) {
    await approvals.decide(deps.store, {
      id: input.approval_id,
      orgId: input.org_id,
      decision: proposal.decision,
      by: OPERATOR,
      via: 'temporal',
      note: proposal.note ?? null,
      now,
    });
  }
}

const gateOutput = (approval: approvals.ApprovalRecord): Record<string, unknown> => ({
  decision: approval.status,
  decided_by: approval.decided_by,
  decided_by_name: approval.decided_by_name ?? null,
  decided_at: approval.decided_at?.toISOString() ?? null,
  note: approval.note,
});

/** The gate's record after a decision: the execution goes on, or waits for its end to be written. */
async function recordGate(deps: Deps, input: StepInput, approval: approvals.ApprovalRecord): Promise<ExecutionRecord> {
  const now = deps.clock.now();
  const slot: SlotWrite = {
    index: input.slot,
    fields: {
      status: approval.status === 'expired' ? 'failed' : 'completed',
      output: gateOutput(approval),
      completed_at: approval.decided_at ?? now,
    },
  };
  const goesOn = approval.status === 'approved';
  const known = await readRunning(deps, input);
  const follows = goesOn ? withLight(deps, known, input, [slot]) : { slots: [slot] };
  const [written] = await Promise.all([
    writeExecution(deps.store, {
      known,
      now,
      ends: input.slot,
      ...(goesOn ? { status: 'running' as const } : {}),
      ...follows,
    }),
    // The workflow is here because it knows the outcome, so nobody needs to tell it again.
    approvals.markConsumed(deps.store, approval._id, now),
  ]);
  return afterWrite(deps, input.execution_id, written);
}

/**
 * Settles a gate. A proposal only counts while the approval is still pending; what the record says afterwards is what
 * the workflow follows, so exactly one of approval, denial, expiry and cancellation ever takes effect.
 */
export async function settleApproval(
  deps: Deps,
  input: StepInput & { approval_id: string; proposal: Proposal },
): Promise<GateSettled> {
  const read = () => approvals.findApproval(deps.store, input.org_id, input.approval_id);
  let approval = await read();
  if (approval?.status === 'pending' && input.proposal !== null) {
    await propose(deps, input, input.proposal);
    approval = await read();
  }
  if (!approval) throw permanent('invalid_state', `Approval ${input.approval_id} has no record.`);
  if (approval.status === 'pending')
    return { outcome: 'pending', seq: input.seq, status: 'waiting_approval', ended: false, facts: {}, light: 0 };
  // An entry that cannot be written is in the log; the execution must not wait for it.
  await auditDecision(deps, approval).catch(() => undefined);
  const record = await recordGate(deps, input, approval);
  return { ...recorded(record, input, [input.slot]), outcome: approval.status };
}
