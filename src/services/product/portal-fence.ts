/** Changes of client users, contacts and companies that portal tokens must feel before the change is answered. */
import type { AnyRecord } from '../../resources/resource';
import { raiseEpoch, raiseLater } from '../../store/guards';
import { endPortalSessions } from '../../store/portal-sessions';
import type { Place } from '../../store/resources';
import type { ProductCall } from './call';

/** The resources whose records portal tokens stand on. */
const FENCED: ReadonlySet<string> = new Set(['client-users', 'companies', 'contacts']);

const isSuspended = (record: AnyRecord): boolean => record['status'] === 'suspended';

/**
 * True when the person lost what the open sessions were given for: getting it back means signing in anew. Who was
 * suspended can have none open, unless the suspension was written and its fence was not.
 */
const endsSessions = (before: AnyRecord, after: AnyRecord | null): boolean =>
  after === null || isSuspended(before) || isSuspended(after) || after['companyId'] !== before['companyId'];

type Version = AnyRecord | null;

/** A contact speaks for its company alone, and for nobody once it is deleted. A repetition may follow a lost fence. */
const movesContact = ({ isRepeat }: ProductCall, before: Version, after: Version): boolean =>
  before?.['companyId'] !== after?.['companyId'] || (isRepeat && before === after);

/**
 * What a write leaves that the store may have done without saying so: whoever it concerns is looked at anew as soon as
 * that can be, whether or not the request is sent again.
 */
export const fenceUnknown =
  ({ context }: ProductCall, { row, tenantId }: Place) =>
  (error: unknown): never => {
    if (FENCED.has(row.key)) raiseLater(context.store, tenantId);
    throw error;
  };

const endAll = ({ context, principal }: ProductCall, { tenantId: orgId }: Place, clientUserId: string): Promise<void> =>
  endPortalSessions(context.store, { orgId, clientUserId }, { id: principal.id, at: context.clock.now() });

/**
 * Called before a deleted record comes back. The sessions of a client user ended with the deletion, unless that was
 * written and its fence was not.
 */
export async function endLeftSessions(call: ProductCall, place: Place, id: string): Promise<void> {
  if (place.row.key === 'client-users') await endAll(call, place, id);
}

/**
 * Called after the write and before the answer; `before` is null for a restore, `after` for a deletion. Harmless when it
 * is repeated.
 */
export async function fencePortal(call: ProductCall, place: Place, before: Version, after: Version): Promise<void> {
  const { row, tenantId } = place;
  if (row.key === 'client-users' && before && endsSessions(before, after)) return endAll(call, place, before.id);
  const isFelt =
    row.key === 'client-users' ||
    (row.key === 'companies' && (!before || !after)) ||
    (row.key === 'contacts' && movesContact(call, before, after));
  if (isFelt) await raiseEpoch(call.context.store, tenantId);
}
