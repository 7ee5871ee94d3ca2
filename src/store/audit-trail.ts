/** What people and the system did, written to the audit trail before it is answered. */
import { setTimeout } from 'node:timers/promises';
import type { Context } from '../context';
import type { AuditEntry } from '../contracts/audit';
import type { Principal } from '../contracts/principal';
import type { AuditDraft } from '../domain/audit';
import { stopOf } from '../domain/agent-breaker';
import { derivedId, newId } from '../domain/ids';
import { appendAudit, hasAudit } from './audit';
import type { AgentRecord } from './agents';
import { approvals, denyForEnd, SYSTEM_CANCEL, type ApprovalRecord } from './approvals';
import type { WebhookRecord } from './webhooks';

export type Place = Pick<Context, 'store' | 'clock' | 'log'>;
export type Actor = AuditEntry['actor'];

/** Who asked: the part of a call that the trail keeps. */
export interface Asked {
  context: Place;
  principal: Principal;
  requestId: string;
}

/** What was done. */
export interface Deed {
  action: AuditEntry['action'];
  target: AuditEntry['target'];
  details?: AuditEntry['details'];
  /** What makes the deed the same one when it is reported again, beside action and target; without it each is new. */
  cause?: (string | number)[];
}

/** Whom the trail, and the keys it made, name for the setup command. */
export const SETUP_ACTOR = 'setup';
/** How long a failed append waits before each further attempt. */
const PAUSES_MS = [50, 200, 800];
/** A store that takes this long to fail is not asked again while the caller waits. */
const PATIENCE_MS = 5_000;
/** Gates that one execution can have. */
const GATES_MAX = 100;

/**
 * Writes the entry or throws. The change it tells of stands either way, so what cannot be written goes to the log as a
 * whole, for people to see that something is missing, and what.
 */
export async function write({ store, log }: Place, draft: AuditDraft): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  for (let attempt = 0; ; attempt += 1) {
    try {
      const { sequence, hash, action } = await appendAudit(store, draft);
      // The line lets logs that are kept elsewhere witness against a chain that was rewritten as a whole.
      log.info('audit', { org: draft.tenantId, sequence, hash, action });
      return;
    } catch (error) {
      const pauseMs = PAUSES_MS[attempt];
      if (pauseMs === undefined || performance.now() > until) {
        log.error('audit entry not written', { entry: draft, error });
        throw error;
      }
      await setTimeout(pauseMs);
    }
  }
}

export function actorOf(principal: Principal): Actor {
  const { id } = principal;
  if (principal.kind === 'session') return { kind: 'user', id, label: principal.email, ip: null };
  if (principal.kind === 'portal') return { kind: 'client_user', id, label: principal.email, ip: null };
  if (principal.kind === 'key') return { kind: 'api_key', id, label: principal.name, ip: null };
  return { kind: 'anonymous', id, label: null, ip: networkOf(principal) };
}

/** Anonymous callers are named after their network address. */
const networkOf = (principal: Principal): string | null =>
  principal.kind === 'anonymous' ? principal.id.replace(/^ip:/, '') : null;

/** The same for a deed that is reported again; null for one that is new each time. */
export const deedId = (orgId: string, { action, target, cause }: Deed): string | null =>
  cause ? derivedId('aud', orgId, action, target.id, ...cause) : null;

export function draftOf(context: Place, orgId: string, actor: Actor, deed: Deed): Omit<AuditDraft, 'requestId'> {
  const { action, target, details = {} } = deed;
  const now = context.clock.now();
  return {
    id: deedId(orgId, deed) ?? newId('aud', now),
    tenantId: orgId,
    at: now.toISOString(),
    actor,
    action,
    target,
    details,
  };
}

/** Records what the caller has just done. */
export function audit({ context, principal, requestId }: Asked, deed: Deed): Promise<void> {
  return write(context, { ...draftOf(context, principal.orgId, actorOf(principal), deed), requestId });
}

/** True when a deed is in the trail. It is written before the answer: without it, nobody was answered yet. */
export const isAudited = (
  { context, principal }: Pick<Asked, 'context' | 'principal'>,
  deed: Deed & { cause: (string | number)[] },
): Promise<boolean> => hasAudit(context.store, deedId(principal.orgId, deed) ?? '');

/**
 * True when no entry with one of these actions tells of the version a record has: it was changed, and whoever asked for
 * that got no answer.
 */
export async function isUntold(
  asked: Pick<Asked, 'context' | 'principal'>,
  { target, version }: { target: AuditEntry['target']; version: number },
  actions: readonly AuditEntry['action'][],
): Promise<boolean> {
  if (version === 1) return false;
  const told = await Promise.all(actions.map((action) => isAudited(asked, { action, target, cause: [version] })));
  return !told.includes(true);
}

/** Records what the setup command did for whoever may run it beside the store. */
export function auditSetup(context: Place, orgId: string, deed: Deed): Promise<void> {
  const actor: Actor = { kind: 'operator', id: SETUP_ACTOR, label: null, ip: null };
  return write(context, { ...draftOf(context, orgId, actor, deed), requestId: null });
}

/** Records an attempt to sign in: the caller belongs to no org yet, the user does. */
export function auditSignIn(
  { context, principal, requestId }: Asked,
  user: { _id: string; orgId: string; email: string },
  outcome: { sessionId: string } | { reason: 'password' | 'disabled' },
): Promise<void> {
  const ip = networkOf(principal);
  const done = 'sessionId' in outcome;
  const actor: Actor = done ? { kind: 'user', id: user._id, label: user.email, ip } : actorOf(principal);
  const deed: Deed = done
    ? { action: 'session.signed_in', target: { kind: 'session', id: outcome.sessionId, name: null } }
    : {
        action: 'session.sign_in_failed',
        target: { kind: 'user', id: user._id, name: user.email },
        details: { reason: outcome.reason },
      };
  return write(context, { ...draftOf(context, user.orgId, actor, deed), requestId });
}

const DECIDERS = {
  api: 'api_key',
  console: 'user',
  portal: 'client_user',
  temporal: 'operator',
  system: 'system',
} as const;

/**
 * Records a decision as the approval tells it. Whoever decides calls this before answering, and the gate once more
 * before the execution goes on; the second finds the entry of the first, unless that one died.
 */
export async function auditDecision(context: Place, approval: ApprovalRecord, asked?: Asked): Promise<void> {
  const { status, decided_at: at } = approval;
  const decider = deciderOf(approval);
  if (status === 'pending' || status === 'expired' || !decider || !at) return;
  const isOwn = asked?.principal.id === decider.id;
  const draft = draftOf(context, approval.org_id, isOwn ? actorOf(asked.principal) : decider, {
    action: `approval.${status}`,
    target: { kind: 'approval', id: approval._id, name: null },
    details: {
      via: approval.decided_via,
      executionId: approval.execution_id,
      agentId: approval.agent_id,
      stepId: approval.step_id,
    },
    cause: [],
  });
  if (!asked && (await hasAudit(context.store, draft.id))) return;
  await write(context, { ...draft, at: at.toISOString(), requestId: asked?.requestId ?? null });
}

const deciderOf = ({ decided_by: id, decided_via: via }: ApprovalRecord): Actor | null =>
  id && via ? { kind: DECIDERS[via], id, label: null, ip: null } : null;

/** Writes what no request has asked for, and what may have been written before. */
async function writeOnce(context: Place, draft: Omit<AuditDraft, 'requestId'>): Promise<void> {
  if (!(await hasAudit(context.store, draft.id))) await write(context, { ...draft, requestId: null });
}

/** Records that an endpoint was switched off by its failures; told again, the same entry is found. */
export async function auditDisabled(
  context: Place,
  webhook: Pick<WebhookRecord, '_id' | 'orgId' | 'url' | 'disabledAt' | 'disabledReason' | 'lastOff'>,
): Promise<void> {
  const { _id: id, url, lastOff } = webhook;
  const { at, reason } = lastOff ?? { at: webhook.disabledAt, reason: webhook.disabledReason };
  // What somebody asked for is recorded with the request.
  if (!at || reason === 'by_user') return;
  const actor: Actor = { kind: 'system', id: 'system:webhooks', label: null, ip: null };
  const draft = draftOf(context, webhook.orgId, actor, {
    action: 'webhook.disabled',
    // The rest of the address may hold a secret of the receiver's.
    target: { kind: 'webhook', id, name: new URL(url).host },
    details: { reason },
    cause: [at.getTime()],
  });
  await writeOnce(context, { ...draft, at: at.toISOString() });
}

/** Records that an agent was stopped because its runs failed; told again, the same entry is found. */
export async function auditStopped(
  context: Place,
  agent: Pick<AgentRecord, '_id' | 'org_id' | 'name' | 'version' | 'error_info'>,
): Promise<void> {
  const actor: Actor = { kind: 'system', id: 'system:breaker', label: null, ip: null };
  const draft = draftOf(context, agent.org_id, actor, {
    action: 'agent.stopped',
    target: { kind: 'agent', id: agent._id, name: agent.name },
    details: { code: agent.error_info?.code ?? null, version: agent.version },
    cause: [stopOf(agent)],
  });
  await writeOnce(context, draft);
}

/** Denies whatever gate of an execution is still pending, because the execution ends, and records it. */
export async function denyGates(context: Place, executionId: string, now: Date): Promise<void> {
  if ((await denyForEnd(context.store, executionId, now)) > 0) await auditDenied(context, executionId);
}

/** Records that gates were denied because their execution ends, once each; answers how many were. */
export async function auditDenied(context: Place, executionId: string): Promise<number> {
  const denied = await approvals
    .in(context.store)
    .find({ execution_id: executionId, decided_by: SYSTEM_CANCEL })
    .limit(GATES_MAX)
    .lean<ApprovalRecord[]>();
  // An entry that cannot be written is in the log; the execution's end must not wait for it.
  for (const approval of denied) await auditDecision(context, approval).catch(() => undefined);
  return denied.length;
}
