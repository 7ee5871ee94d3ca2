/** Portal sessions: opened, listed and ended by staff, renewed and ended by the client user. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { portalOperations } from '../../contracts/operations/portal';
import type { PortalSession } from '../../contracts/portal';
import type { PortalPrincipal, Principal } from '../../contracts/principal';
import { problem } from '../../contracts/problem';
import { openPage } from '../../domain/list-page';
import { audit } from '../../store/audit-trail';
import { findClientUser, type ClientUser } from '../../store/client-users';
import {
  findPortalSession,
  listPortalSessions,
  revokePortalSession,
  type PortalSessionRecord,
} from '../../store/portal-sessions';
import { portalMailHandlers } from './portal-mail';
import { checkMailSignIn } from './portal-settings';
import { answerToken, enterPortal } from './portal-sign-in';

const PATH = '/portal/api/client-users';

const present = (session: PortalSessionRecord): PortalSession => ({
  id: session._id,
  clientUserId: session.clientUserId,
  companyId: session.companyId,
  via: session.via,
  status: session.revokedAt ? 'revoked' : 'active',
  createdAt: session.createdAt.toISOString(),
  createdBy: session.createdBy,
  expiresAt: session.expiresAt.toISOString(),
  revokedAt: session.revokedAt?.toISOString() ?? null,
  revokedBy: session.revokedBy,
});

async function requireClientUser(context: Context, orgId: string, id: string): Promise<ClientUser> {
  const user = await findClientUser(context.store, orgId, id);
  if (!user) throw problem('not_found', { message: 'No such client user.' });
  return user;
}

/** The guard lets only portal tokens in here. */
function requirePortal(principal: Principal): PortalPrincipal {
  if (principal.kind !== 'portal') throw problem('forbidden');
  return principal;
}

const targetOf = (user: Pick<ClientUser, 'email'>, sessionId: string) =>
  ({ kind: 'portal_session', id: sessionId, name: user.email }) as const;

/** One handler per operation of `contracts/operations/portal.ts`. */
export const portalHandlers: Handlers<typeof portalOperations, Context> = {
  ...portalMailHandlers,

  async createPortalSession(call) {
    const { context, principal, params } = call;
    const user = await requireClientUser(context, principal.orgId, params.id);
    const whose = { orgId: principal.orgId, clientUserId: user.id };
    const sessionId = call.newId('pse');
    const entered = await enterPortal(context, whose, { sessionId, via: 'staff', by: principal.id });
    if (!entered) {
      throw problem('conflict', {
        message: 'The client user is suspended; set status to active before signing them in.',
        facts: { field: 'status', status: 'suspended' },
      });
    }
    await audit(call, {
      action: 'portal_session.created',
      target: targetOf(user, sessionId),
      details: { clientUserId: user.id, companyId: user.companyId },
      cause: [],
    });
    return { status: 201, body: entered, headers: { Location: `${PATH}/${user.id}/sessions/${sessionId}` } };
  },

  async listPortalSessions({ context, principal, params, query }) {
    const user = await requireClientUser(context, principal.orgId, params.id);
    const page = openPage(context, query, [principal.orgId, PATH, user.id, 'sessions']);
    const { after, now, readMax } = page;
    const whose = { orgId: principal.orgId, clientUserId: user.id };
    const found = await listPortalSessions(context.store, whose, { after, limit: readMax, now });
    const { rows, ...envelope } = page.cut(found, ({ createdAt, _id: id }) => ({ value: createdAt.getTime(), id }));
    return { status: 200, body: { items: rows.map(present), ...envelope } };
  },

  async revokePortalSession(call) {
    const { context, principal, params } = call;
    const user = await requireClientUser(context, principal.orgId, params.id);
    const session = await findPortalSession(context.store, principal.orgId, params.sessionId);
    if (session?.clientUserId !== user.id) throw problem('not_found', { message: 'No such portal session.' });
    await revokePortalSession(context.store, session, { id: principal.id, at: context.clock.now() });
    const details = { clientUserId: user.id };
    const deed = { action: 'portal_session.revoked', target: targetOf(user, session._id), details, cause: [] } as const;
    // Ending it again changes nothing: the entry belongs to whoever came first.
    if (!session.revokedAt || session.revokedBy === principal.id) await audit(call, { ...deed, cause: [] });
    return { status: 204 };
  },

  async renewPortalSession({ context, principal }) {
    const own = requirePortal(principal);
    const session = await findPortalSession(context.store, own.orgId, own.sessionId);
    if (!session) throw problem('unauthorized');
    if (session.via === 'mail') await checkMailSignIn(context.store, own.orgId);
    return { status: 200, body: await answerToken(context, session, own) };
  },

  async endPortalSession({ context, principal }) {
    const own = requirePortal(principal);
    const by = { id: own.id, at: context.clock.now() };
    await revokePortalSession(context.store, { orgId: own.orgId, _id: own.sessionId }, by);
    return { status: 204 };
  },
};
