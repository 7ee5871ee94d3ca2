/** A client user signs in: the record says so, a session is opened, and a token of it is answered. */
import type { Context } from '../../context';
import { problem } from '../../contracts/problem';
import { portalPermissionsOf } from '../../domain/portal';
import { eventsOf } from '../../events/record-events';
import { labelsFor } from '../../events/record-labels';
import { resourceOf } from '../../resources/registry';
import type { AnyRecord } from '../../resources/resource';
import type { ClientUser } from '../../store/client-users';
import {
  findPortalSession,
  insertPortalSession,
  type PortalSessionRecord,
  type Whose,
} from '../../store/portal-sessions';
import { untilWon } from '../../store/lost-race';
import { changeResource, findResource, pendingOf } from '../../store/resources';
import { PORTAL_SESSION_LIFETIME_MS, portalTokens } from '../../tokens/portal-token';

/** How somebody came in. */
export interface Entry {
  sessionId: string;
  via: PortalSessionRecord['via'];
  /** Who opened the session: staff, a key, or the client user by a code. */
  by: string;
  /** Asked of the very record that the sign-in is written to; without it, everybody who is not suspended may enter. */
  isStillFor?: (user: ClientUser) => boolean;
}

interface Answered {
  token: string;
  expiresAt: string;
  sessionId: string;
}

/** The token of a session as it stands now. */
export async function answerToken(
  { config, clock }: Pick<Context, 'config' | 'clock'>,
  session: PortalSessionRecord,
  user: Pick<ClientUser, 'role' | 'contactId'>,
): Promise<Answered> {
  const subject = {
    clientUserId: session.clientUserId,
    orgId: session.orgId,
    companyId: session.companyId,
    contactId: user.contactId,
    role: user.role,
    permissions: portalPermissionsOf(user.role),
    sessionId: session._id,
    endsAt: session.expiresAt,
  };
  const { token, expiresAt } = await portalTokens(config).issue(subject, clock.now());
  return { token, expiresAt: expiresAt.toISOString(), sessionId: session._id };
}

/** Writes the sign-in to the client user, which activates an invited one. Null when the user may not sign in. */
async function noteSignIn(
  context: Context,
  { orgId, clientUserId: userId }: Whose,
  mayEnter: (user: ClientUser) => boolean,
) {
  const row = resourceOf('client-users');
  const place = { row, tenantId: orgId };
  const noted = await untilWon(async () => {
    const before = await findResource(context.store, place, userId);
    const user = before as ClientUser | null;
    if (!before || !user || user.status === 'suspended' || !mayEnter(user)) return { user: null };
    const now = context.clock.now().toISOString();
    const signedIn = { status: 'active', lastLoginAt: now, version: before.version + 1, updatedAt: now };
    const after: AnyRecord = { ...before, ...signedIn };
    const events = eventsOf(row, {
      kind: 'update',
      tenantId: orgId,
      before,
      after,
      actor: { type: 'client_user', id: userId },
      labels: {
        before: await labelsFor(context.store, place, before),
        after: await labelsFor(context.store, place, after),
      },
    });
    if ((await changeResource(context.store, place, { before, after }, events)) !== 'written') return null;
    if (events.length > 0) context.outbox.publishSoon(pendingOf(context.store, row, after.id, events));
    return { user };
  });
  if (noted) return noted.user;
  throw problem('conflict', { message: 'This client user is being changed by many requests at once; try again.' });
}

/** Opens a session and answers its first token. Null when the user is unknown or suspended. */
export async function enterPortal(
  context: Context,
  whose: Whose,
  { sessionId, via, by, isStillFor = () => true }: Entry,
): Promise<Answered | null> {
  const user = await noteSignIn(context, whose, isStillFor);
  if (!user) return null;
  // A repeat of a request whose answer was lost goes on with the session it had opened.
  const opened = await findPortalSession(context.store, whose.orgId, sessionId);
  if (opened) return answerToken(context, opened, user);
  const createdAt = context.clock.now();
  const session: PortalSessionRecord = {
    _id: sessionId,
    orgId: whose.orgId,
    clientUserId: user.id,
    companyId: user.companyId,
    via,
    createdAt,
    createdBy: by,
    expiresAt: new Date(createdAt.getTime() + PORTAL_SESSION_LIFETIME_MS),
    revokedAt: null,
    revokedBy: null,
  };
  await insertPortalSession(context.store, session);
  return answerToken(context, session, user);
}
