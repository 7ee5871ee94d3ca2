/** Signing in, reading the own session and signing out. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { consoleOperations } from '../../contracts/operations/console';
import type { Principal } from '../../contracts/principal';
import { problem } from '../../contracts/problem';
import type { Session } from '../../contracts/session';
import { newId } from '../../domain/ids';
import { madePer } from '../../domain/memoised';
import { verifyPassword } from '../../domain/password';
import { permissionsOf } from '../../domain/permissions';
import { audit, auditSignIn, type Asked } from '../../store/audit-trail';
import type { Store } from '../../store/collection';
import { insist } from '../../store/insist';
import { findSession, insertSession, revokeSession, type SessionRecord } from '../../store/sessions';
import { readTenant, type TenantRecord } from '../../store/tenants';
import { findUser, findUserByEmail, normalEmail, type UserRecord } from '../../store/users';
import { SESSION_LIFETIME_MS, sessionTokens } from './session-token';
import { createSignInThrottle, SIGN_IN_FAILURES_MAX, type SignInThrottle } from './sign-in-throttle';

type SessionHandlers = Pick<Handlers<typeof consoleOperations, Context>, 'signIn' | 'getSession' | 'signOut'>;

/** One throttle per store, which is one per process outside tests. */
const throttleOf = madePer((_store: Store): SignInThrottle => createSignInThrottle());

interface Facts {
  session: SessionRecord;
  user: UserRecord;
  tenant: TenantRecord;
}

function present(context: Context, { session, user, tenant }: Facts): Session {
  return {
    user: {
      id: user._id,
      email: user.email,
      displayName: user.displayName,
      role: user.role,
      permissions: [...permissionsOf(user.role)],
    },
    org: { id: tenant._id, name: tenant.name, tier: tenant.tier, timezone: tenant.timezone },
    csrfToken: sessionTokens(context.config).csrfTokenFor(session._id),
    expiresAt: session.expiresAt.toISOString(),
  };
}

function refuseGuessing(seconds: number): void {
  if (seconds === 0) return;
  throw problem('rate_limited', {
    message: `Rate limit exceeded: ${SIGN_IN_FAILURES_MAX} wrong passwords per 15m for this e-mail from this address. Retry in ${seconds} s.`,
    facts: {
      limit: SIGN_IN_FAILURES_MAX,
      window: '15m',
      retryAfter: seconds,
      policy: 'sign-in',
      violated: ['sign-in'],
    },
    headers: { 'Retry-After': String(seconds) },
  });
}

/** Whom the address names, and their tenant when the password is right. Unknown addresses cost as much time. */
async function authenticate(
  context: Context,
  credentials: { email: string; password: string },
): Promise<{ user: UserRecord | null; tenant: TenantRecord | null }> {
  const user = await findUserByEmail(context.store, credentials.email);
  const isRight = await verifyPassword(credentials.password, user?.passwordHash ?? null);
  const tenant = isRight && user && !user.disabledAt ? await readTenant(context.store, user.orgId) : null;
  return { user, tenant };
}

/** Not waited for: the time an answer takes must not tell whether the address belongs to somebody. */
function noteFailure(call: Asked, user: UserRecord): void {
  const reason = user.disabledAt ? 'disabled' : 'password';
  // What could not be written is in the log.
  auditSignIn(call, user, { reason }).catch(() => undefined);
}

async function openSession(context: Context, user: UserRecord): Promise<SessionRecord> {
  const createdAt = context.clock.now();
  const session: SessionRecord = {
    _id: newId('ses', createdAt),
    orgId: user.orgId,
    userId: user._id,
    createdAt,
    expiresAt: new Date(createdAt.getTime() + SESSION_LIFETIME_MS),
    revokedAt: null,
  };
  await insertSession(context.store, session);
  return session;
}

async function ownFacts(context: Context, principal: Principal): Promise<Facts> {
  if (principal.kind !== 'session') throw problem('forbidden');
  const [session, user, tenant] = await Promise.all([
    findSession(context.store, principal.orgId, principal.sessionId),
    findUser(context.store, principal.orgId, principal.id),
    readTenant(context.store, principal.orgId),
  ]);
  if (!session || !user || !tenant) throw problem('unauthorized');
  return { session, user, tenant };
}

/** Handlers of `/console/api/session`. */
export const sessionHandlers: SessionHandlers = {
  async signIn(call) {
    const { body, context, principal } = call;
    if (context.config.mode !== 'development') {
      throw problem('not_found', {
        message: 'Signing in by password exists in development mode only; use an API key.',
      });
    }
    const throttle = throttleOf(context.store);
    // An anonymous principal is named after its network address.
    const attempt = `${principal.id} ${normalEmail(body.email)}`;
    const now = context.clock.now();
    refuseGuessing(throttle.waitSeconds(attempt, now));
    const { user, tenant } = await authenticate(context, body);
    if (!user || !tenant) {
      throttle.failed(attempt, now);
      if (user) noteFailure(call, user);
      throw problem('unauthorized', { message: 'E-mail or password is wrong.' });
    }
    throttle.succeeded(attempt);
    const session = await openSession(context, user);
    await auditSignIn(call, user, { sessionId: session._id });
    const owner = {
      userId: user._id,
      orgId: user.orgId,
      sessionId: session._id,
      endsAt: session.expiresAt,
    };
    return {
      status: 200,
      body: present(context, { user, tenant, session }),
      headers: { 'Set-Cookie': await sessionTokens(context.config).cookieFor(owner, now) },
    };
  },

  async getSession({ context, principal }) {
    return { status: 200, body: present(context, await ownFacts(context, principal)) };
  },

  async signOut(call) {
    const { context, principal } = call;
    const { session } = await ownFacts(context, principal);
    const { _id: id, orgId } = session;
    const tell = () =>
      audit(call, { action: 'session.signed_out', target: { kind: 'session', id, name: null }, cause: [] });
    await revokeSession(context.store, orgId, id, context.clock.now()).catch((error: unknown) => {
      // It may have ended all the same: then nobody can repeat this, and nobody else would tell of it.
      void insist(async () => {
        const left = await findSession(context.store, orgId, id);
        if (left?.revokedAt) await tell();
      });
      throw error;
    });
    await tell();
    return { status: 204, headers: { 'Set-Cookie': sessionTokens(context.config).endedCookie() } };
  },
};
