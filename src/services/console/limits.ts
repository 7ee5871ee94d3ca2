/** The live state of the limits, free of charge. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { consoleOperations } from '../../contracts/operations/console';
import { problem } from '../../contracts/problem';
import {
  bucketState,
  CONDITIONAL_FACTOR,
  MAIL_PER_MINUTE,
  windowLimit,
  windowState,
  type PolicyName,
  type PolicyState,
} from '../../domain/rate-limit';
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
    const state = (name: PolicyName, limit: number, used: number) =>
      windowState(name, { limit, used, endsAtMs: reading.windowEndsAtMs }, reading.atMs);
    const policies = [
      state('tenant', limit, reading.tenant),
      state('conditional', limit * CONDITIONAL_FACTOR, reading.conditional),
      state('mail', MAIL_PER_MINUTE, reading.mail),
    ];
    if (principal.kind === 'key') policies.unshift(bucketState(principal.keyTier, reading.tatMs, reading.atMs));
    return { status: 200, body: { tier: principal.tier, policies: policies.map(present) } };
  },
};
