/** Reading the audit trail and checking that it is whole. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { consoleOperations } from '../../contracts/operations/console';
import { problem } from '../../contracts/problem';
import { followChain, GENESIS, type ChainHead } from '../../domain/audit';
import { openPage } from '../../domain/list-page';
import { auditFrom, pageOfAudit, rememberedHead } from '../../store/audit';

type AuditHandlers = Pick<Handlers<typeof consoleOperations, Context>, 'listAuditLog' | 'verifyAuditLog'>;

const BATCH = 1_000;
const BATCHES_MAX = 100;

/** Where a walk begins: before the first entry, or at the entry before the one that is asked for. */
async function startOf(context: Context, orgId: string, from: number): Promise<ChainHead> {
  if (from <= 1) return GENESIS;
  const [before] = await auditFrom(context.store, orgId, from - 1, 1);
  if (before?.sequence === from - 1) return { sequence: before.sequence, hash: before.hash };
  throw problem('not_found', { message: `The audit trail has no entry ${from - 1} to go on from.` });
}

async function walk(context: Context, orgId: string, start: ChainHead) {
  // Read before the walk: what this process had written by now must be met on the way.
  const written = rememberedHead(context.store, orgId);
  let head = start;
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const entries = await auditFrom(context.store, orgId, head.sequence + 1, BATCH);
    const followed = followChain(head, entries);
    head = followed.head;
    if (followed.fault) return { head, fault: followed.fault, ended: true };
    if (entries.length < BATCH) {
      const isCutOff = written !== null && written.sequence > head.sequence;
      const fault = isCutOff ? { sequence: head.sequence + 1, reason: 'missing' as const } : null;
      return { head, fault, ended: true };
    }
  }
  return { head, fault: null, ended: false };
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
    const { head, fault, ended } = await walk(context, principal.orgId, start);
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
