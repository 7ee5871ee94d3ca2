/** Reading the audit trail and checking that it is whole. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { consoleOperations } from '../../contracts/operations/console';
import { problem } from '../../contracts/problem';
import { GENESIS, type ChainHead } from '../../domain/audit';
import { openPage } from '../../domain/list-page';
import { auditFrom, pageOfAudit, walkAudit } from '../../store/audit';

type AuditHandlers = Pick<Handlers<typeof consoleOperations, Context>, 'listAuditLog' | 'verifyAuditLog'>;

/** Where a walk begins: before the first entry, or at the entry before the one that is asked for. */
async function startOf(context: Context, orgId: string, from: number): Promise<ChainHead> {
  if (from <= 1) return GENESIS;
  const [before] = await auditFrom(context.store, orgId, from - 1, 1);
  if (before?.sequence === from - 1) return { sequence: before.sequence, hash: before.hash };
  throw problem('not_found', { message: `The audit trail has no entry ${from - 1} to go on from.` });
}

/** Handlers of `/console/api/audit-log`. */
export const auditHandlers: AuditHandlers = {
  async listAuditLog({ query, principal, context }) {
    const { action, actor, target, from, to } = query;
    const page = openPage(context, query, ['audit-log', principal.orgId, action, actor, target, from, to]);
    const filter = {
      action,
      actor,
      target,
      from: from ? new Date(from) : undefined,
      to: to ? new Date(to) : undefined,
    };
    const found = await pageOfAudit(context.store, principal.orgId, filter, {
      limit: page.readMax,
      before: page.after ? Number(page.after.value) : null,
    });
    const { rows: items, ...envelope } = page.cut(found, ({ sequence, id }) => ({ value: sequence, id }));
    return { status: 200, body: { items, ...envelope } };
  },

  async verifyAuditLog({ query, principal, context }) {
    const start = await startOf(context, principal.orgId, query.fromSequence ?? 1);
    const { head, fault, ended } = await walkAudit(context.store, principal.orgId, start);
    return {
      status: 200,
      body: {
        isIntact: fault === null,
        checked: head.sequence - start.sequence,
        head: head.sequence === 0 ? null : head,
        firstBroken: fault,
        nextSequence: ended ? null : head.sequence + 1,
      },
    };
  },
};
