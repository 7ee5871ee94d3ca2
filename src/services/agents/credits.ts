/** Credits: the current month and the past twelve. */
import type { Context } from '../../context';
import { MODEL_TIERS, type ModelTier } from '../../contracts/step';
import type { CreditUsage } from '../../contracts/credit';
import type { Handlers } from '../../contracts/operation';
import type { AgentOperations } from '../../contracts/operations/agents';
import { ALLOCATION, monthOf, monthsBefore } from '../../domain/credits';
import { stateTag } from '../../domain/etag';
import { readMonth, readMonths } from '../../store/credits';
import { readTenant } from '../../store/tenants';

type Names = 'getCredits' | 'listCreditHistory';

const HISTORY_MONTHS = 12;

async function allocationOf(context: Context, orgId: string): Promise<number> {
  const tenant = await readTenant(context.store, orgId);
  return tenant?.creditAllocation ?? ALLOCATION[tenant?.tier ?? 'standard'];
}

export const creditHandlers: Pick<Handlers<AgentOperations, Context>, Names> = {
  async getCredits({ context, principal }) {
    const now = context.clock.now();
    const [month, standard] = await Promise.all([
      readMonth(context.store, principal.orgId, monthOf(now)),
      allocationOf(context, principal.orgId),
    ]);
    const allocation = month?.allocation ?? standard;
    const used = month?.total_used ?? 0;
    const body: CreditUsage = {
      org_id: principal.orgId,
      month: monthOf(now),
      total_used: used,
      allocation,
      // One call may cost more than was held for it: below zero says by how much the month is over.
      remaining: allocation - used,
      by_agent: month?.by_agent ?? {},
      by_model: Object.fromEntries(MODEL_TIERS.map((tier) => [tier, month?.by_model[tier] ?? 0])) as Record<
        ModelTier,
        number
      >,
      reserved: month ? Math.max(0, allocation - used - month.available) : 0,
      updated_at: (month?.updated_at ?? now).toISOString(),
    };
    return { status: 200, body, etag: stateTag(body.org_id, body.month, used, allocation, body.reserved) };
  },

  async listCreditHistory({ context, principal }) {
    const months = monthsBefore(context.clock.now(), HISTORY_MONTHS);
    const [rows, allocation] = await Promise.all([
      readMonths(context.store, principal.orgId, months),
      allocationOf(context, principal.orgId),
    ]);
    const history = months.map((month) => {
      const row = rows.find((candidate) => candidate.month === month);
      return { month, total_used: row?.total_used ?? 0, allocation: row?.allocation ?? allocation };
    });
    return { status: 200, body: { history }, etag: stateTag(history) };
  },
};
