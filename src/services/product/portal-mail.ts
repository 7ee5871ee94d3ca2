/** Sign-in by mail: a code for whoever the address belongs to, and the same answer for everybody else. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { portalOperations } from '../../contracts/operations/portal';
import { problem } from '../../contracts/problem';
import { newId } from '../../domain/ids';
import { keyedHash, mintCode } from '../../domain/sign-in-code';
import { findClientUserByEmail } from '../../store/client-users';
import {
  countSignInCodes,
  forgetSignInCode,
  insertSignInCode,
  redeemSignInCode,
  type SignInCode,
} from '../../store/sign-in-codes';
import { readTenant, type TenantRecord } from '../../store/tenants';
import { checkMailSignIn } from './portal-settings';
import { enterPortal } from './portal-sign-in';

type Names = 'requestSignInCode' | 'redeemSignInCode';

const LIFETIME_MS = 15 * 60_000;
const WINDOW = '15m';
/** Codes that may be asked for in that time. */
const PER_ADDRESS_MAX = 5;
const PER_NETWORK_MAX = 30;
const SEND_TIMEOUT_MS = 30_000;

/** Refuses, whoever the address belongs to, what was asked for too often. */
async function throttle(context: Context, code: SignInCode): Promise<void> {
  const since = new Date(code.createdAt.getTime() - LIFETIME_MS);
  const asked = await countSignInCodes(context.store, code, { since, max: PER_NETWORK_MAX + 1 });
  const isAddress = asked.address > PER_ADDRESS_MAX;
  if (!isAddress && asked.network <= PER_NETWORK_MAX) return;
  // A refused request leaves nothing behind, so that waiting helps.
  await forgetSignInCode(context.store, code);
  const limit = isAddress ? PER_ADDRESS_MAX : PER_NETWORK_MAX;
  const retryAfter = LIFETIME_MS / 1_000;
  throw problem('rate_limited', {
    message: `Rate limit exceeded: ${limit} sign-in codes per ${WINDOW} for this ${isAddress ? 'address' : 'network'}. Retry in ${retryAfter} s.`,
    facts: { limit, window: WINDOW, retryAfter, policy: 'sign-in', violated: ['sign-in'] },
    headers: { 'Retry-After': String(retryAfter) },
  });
}

function mailText(config: Context['config'], tenant: TenantRecord, code: string): string {
  const link = config.portalSignInUrl ? new URL(config.portalSignInUrl) : null;
  link?.searchParams.set('code', code);
  const way = link
    ? `Open this address to sign in to the client portal of ${tenant.name}:\n\n${link.toString()}\n\nOr enter this code there:`
    : `Enter this code to sign in to the client portal of ${tenant.name}:`;
  return `${way}\n\n${code}\n\nIt works once, for 15 minutes. If you did not ask for it, ignore this mail.\n`;
}

/** Not waited for: the time an answer takes must not tell whether the address belongs to somebody. */
function sendCode(context: Context, tenant: TenantRecord, to: string, code: string): void {
  context.mail
    .send({
      to,
      subject: `Sign in to the client portal of ${tenant.name}`,
      text: mailText(context.config, tenant, code),
      messageId: `<${newId('psm')}@signalbox>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
    })
    .catch((error: unknown) => context.log.warn('sign-in mail not sent', { org: tenant._id, error }));
}

/** One answer for every code that does not open anything. */
const useless = () =>
  problem('unauthorized', {
    message: 'The code is wrong, was used, or is older than 15 minutes; ask for a new one.',
  });

/** Handlers of signing in by mail. */
export const portalMailHandlers: Pick<Handlers<typeof portalOperations, Context>, Names> = {
  async requestSignInCode({ context, principal, body }) {
    const { store, config, clock } = context;
    const { keyPepper } = config.secrets;
    await checkMailSignIn(store, body.tenant);
    const [tenant, user] = await Promise.all([
      readTenant(store, body.tenant),
      findClientUserByEmail(store, body.tenant, body.email),
    ]);
    const code = mintCode();
    const createdAt = clock.now();
    const record: SignInCode = {
      _id: keyedHash(keyPepper, 'code', code),
      orgId: body.tenant,
      address: keyedHash(keyPepper, 'address', `${body.tenant} ${body.email.toLowerCase()}`),
      // An anonymous principal is named after its network address.
      network: principal.id,
      clientUserId: user?.id ?? null,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + LIFETIME_MS),
      usedAt: null,
    };
    await insertSignInCode(store, record);
    await throttle(context, record);
    if (tenant && user) sendCode(context, tenant, user.email, code);
    const message = 'If the address belongs to a client user, a sign-in code is on its way.';
    return { status: 202, body: { message, codeLifetimeSeconds: LIFETIME_MS / 1_000 } };
  },

  async redeemSignInCode({ context, body, newId: idFor }) {
    const { store, config, clock } = context;
    const id = keyedHash(config.secrets.keyPepper, 'code', body.code.trim());
    const code = await redeemSignInCode(store, id, clock.now());
    if (!code?.clientUserId) throw useless();
    await checkMailSignIn(store, code.orgId);
    const entry = { sessionId: idFor('pse'), via: 'mail', by: code.clientUserId } as const;
    const entered = await enterPortal(context, { orgId: code.orgId, clientUserId: code.clientUserId }, entry);
    if (!entered) throw useless();
    return { status: 201, body: entered, headers: { Location: '/portal/api/sessions/current' } };
  },
};
