/** The live state of the limits, free of charge. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { consoleOperations } from '../../contracts/operations/console';
import { problem } from '../../contracts/problem';
import { bucketState, windowLimit, windowState, type PolicyState } from '../../domain/rate-limit';
import { readGuard } from '../../store/guards';
import { readTenant } from '../../store/tenants';

const present = (state: PolicyState) => ({
  name: state.name,
  limit: state.limit,
  remaining: state.remaining,
  window: '1m',
  resetAt: new Date(state.resetAtMs).toISOString(),
  sustainedPerMinute: state.sustained ?? null,
});

/** Handler of `/console/api/rate-limit`. */
export const limitHandlers: Pick<Handlers<typeof consoleOperations, Context>, 'getRateLimit'> = {
  async getRateLimit({ context, principal }) {
    const keyId = principal.kind === 'key' ? principal.keyId : undefined;
    const nowMs = context.clock.now().getTime();
    const [reading, tenant] = await Promise.all([
      readGuard(context.store, principal.orgId, { keyId, nowMs }),
      readTenant(context.store, principal.orgId),
    ]);
    if (!tenant) throw problem('unauthorized');
    const limit = windowLimit(tenant, context.config.rateTenantFlat);
    const window = { limit, used: reading.tenant, endsAtMs: reading.windowEndsAtMs };
    const policies = [windowState('tenant', window, reading.atMs)];
    if (principal.kind === 'key') policies.unshift(bucketState(principal.keyTier, reading.tatMs, reading.atMs));
    return { status: 200, body: { tier: principal.tier, policies: policies.map(present) } };
  },
};
