/** Approvals: list and decide. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { AgentOperations } from '../../contracts/operations/agents';
import type { Approval, DecidedVia } from '../../contracts/approval';
import type { PortalPrincipal, Principal } from '../../contracts/principal';
import { problem } from '../../contracts/problem';
import { presentApproval, presentToContact } from '../../domain/present';
import { signalDecision } from '../../engine/executions';
import { faultOf } from '../../engine/outages';
import * as store from '../../store/approvals';
import { auditDecision } from '../../store/audit-trail';
import { findExecution, hasEnded } from '../../store/executions';
import { boundTo, openCursor, positionOf } from './executions';

type Names = 'listApprovals' | 'getApproval' | 'decideApproval';

const PATH = '/agents/api/approvals';
const VIA: Record<Principal['kind'], DecidedVia> = {
  session: 'console',
  key: 'api',
  portal: 'portal',
  anonymous: 'api',
};
/** What people know the caller by. */
function nameOf(principal: Principal): { name?: string } {
  if (principal.kind === 'anonymous') return {};
  return { name: principal.kind === 'key' ? principal.name : principal.email };
}

const COUNTED_MAX = 10_000;

function notFound(): never {
  throw problem('approval_not_found');
}

/** The contact a portal token stands for. Without one nothing can be addressed to it: no contact has an empty id. */
const addresseeOf = (principal: PortalPrincipal): store.Addressee => ({
  contactId: principal.contactId ?? '',
  clientId: principal.companyId,
});

const shownTo = (principal: Principal, record: store.ApprovalRecord): Approval =>
  principal.kind === 'portal' ? presentToContact(record, principal.id) : presentApproval(record);

/** The approval, when the caller may see it: to a portal token everything that is not addressed to it does not exist. */
async function requireApproval(context: Context, principal: Principal, id: string): Promise<store.ApprovalRecord> {
  const found = await store.findApproval(context.store, principal.orgId, id);
  if (!found) return notFound();
  if (principal.kind === 'portal' && !store.isAddressedTo(found, addresseeOf(principal))) return notFound();
  return found;
}

/** Why a decision came too late, from what the record says now. */
function refuse(principal: Principal, current: store.ApprovalRecord): never {
  const approval = shownTo(principal, current);
  if (current.decided_by === store.SYSTEM_CANCEL) throw problem('approval_closed', { facts: { approval } });
  if (current.status === 'expired' || current.status === 'pending') {
    throw problem('approval_expired', {
      message: `The approval expired at ${approval.expires_at}.`,
      facts: { approval },
    });
  }
  const how = current.status === 'approved' ? 'Approved' : 'Denied';
  const { decided_by: id, decided_by_name: name } = approval;
  const who = id && name ? `${name} (${id})` : (id ?? 'somebody else');
  throw problem('approval_already_decided', {
    message: `${how} by ${who} at ${String(approval.decided_at)}.`,
    facts: { approval },
  });
}

const isRepeat = (current: store.ApprovalRecord, principal: Principal, decision: string): boolean =>
  current.status === decision && current.decided_by === principal.id;

/** Wakes the gate without holding up the answer: the decision stands in the store, the relay repeats a lost signal. */
function wake(context: Context, approval: store.ApprovalRecord, decision: 'approved' | 'denied'): void {
  signalDecision(context.engine, approval.execution_id, { approval_id: approval._id, decision }).catch(
    (error: unknown) => {
      context.log.warn('signal deferred', { approval_id: approval._id, ...faultOf(error) });
    },
  );
}

export const approvalHandlers: Pick<Handlers<AgentOperations, Context>, Names> = {
  async listApprovals({ context, principal, query }) {
    const { limit, cursor, ...named } = query;
    const filter = principal.kind === 'portal' ? { ...named, addressee: addresseeOf(principal) } : named;
    const page = openCursor(context, { limit, cursor }, boundTo(principal.orgId, PATH, filter));
    const [found, total] = await Promise.all([
      store.pageOfApprovals(context.store, principal.orgId, filter, { limit: page.readMax, after: page.after }),
      store.countApprovals(context.store, principal.orgId, filter),
    ]);
    const { rows, continuationToken: next, limit: size } = page.cut(found, positionOf);
    const estimate = total > COUNTED_MAX ? { total_is_estimate: true } : {};
    return {
      status: 200,
      body: {
        approvals: rows.map((record) => shownTo(principal, record)),
        total: Math.min(total, COUNTED_MAX),
        ...estimate,
        next_cursor: next,
        limit: size,
      },
    };
  },

  async getApproval({ context, principal, params }) {
    return { status: 200, body: shownTo(principal, await requireApproval(context, principal, params.id)) };
  },

  async decideApproval(call) {
    const { context, principal, params, body } = call;
    const found = await requireApproval(context, principal, params.id);
    const execution = await findExecution(context.store, principal.orgId, found.execution_id);
    if (found.status === 'pending' && (!execution || hasEnded(execution.status))) throw problem('approval_closed');
    const decided = await store.decide(context.store, {
      id: params.id,
      orgId: principal.orgId,
      decision: body.decision,
      by: principal.id,
      ...nameOf(principal),
      via: VIA[principal.kind],
      note: body.note ?? null,
      now: context.clock.now(),
    });
    const current = decided ?? (await store.findApproval(context.store, principal.orgId, params.id)) ?? notFound();
    if (!decided && !isRepeat(current, principal, body.decision)) refuse(principal, current);
    await auditDecision(context, current, call);
    if (decided) wake(context, decided, body.decision);
    return { status: 200, body: shownTo(principal, current) };
  },
};
