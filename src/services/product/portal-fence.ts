/** Changes of client users and companies that portal tokens must feel before the change is answered. */
import type { AnyRecord } from '../../resources/resource';
import { raiseEpoch } from '../../store/guards';
import { endPortalSessions } from '../../store/portal-sessions';
import type { Place } from '../../store/resources';
import type { ProductCall } from './call';

const isSuspended = (record: AnyRecord): boolean => record['status'] === 'suspended';

/**
 * True when the person lost what the open sessions were given for: getting it back means signing in anew. Who was
 * suspended can have none open, unless the suspension was written and its fence was not.
 */
const endsSessions = (before: AnyRecord, after: AnyRecord | null): boolean =>
  after === null || isSuspended(before) || isSuspended(after) || after['companyId'] !== before['companyId'];

/** Called after the write and before the answer; `after` is null for a deletion. Harmless when it is repeated. */
export async function fencePortal(
  call: ProductCall,
  { row, tenantId }: Place,
  before: AnyRecord,
  after: AnyRecord | null,
): Promise<void> {
  const { store, clock } = call.context;
  const whose = { orgId: tenantId, clientUserId: before.id };
  if (row.key === 'client-users' && endsSessions(before, after)) {
    return endPortalSessions(store, whose, { id: call.principal.id, at: clock.now() });
  }
  if (row.key === 'client-users' || (row.key === 'companies' && after === null)) await raiseEpoch(store, tenantId);
}
