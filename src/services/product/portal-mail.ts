/** Sign-in by mail: a code for whoever the address belongs to, and the same answer for everybody else. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { portalOperations } from '../../contracts/operations/portal';
import { Problem, problem } from '../../contracts/problem';
import { newId } from '../../domain/ids';
import { keyedHash, mintCode } from '../../domain/sign-in-code';
import { findClientUsersByEmail, nameOfCompany, type ClientUser } from '../../store/client-users';
import {
  countSignInCodes,
  forgetSignInCodes,
  insertSignInCodes,
  redeemSignInCode,
  returnSignInCode,
  type SignInCode,
} from '../../store/sign-in-codes';
import { insist } from '../../store/insist';
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

type Asker = Pick<SignInCode, 'address' | 'network' | 'createdAt'>;

/** Refuses, whoever the address belongs to, what was asked for too often. */
async function throttle(context: Context, asker: Asker, codes: readonly SignInCode[]): Promise<void> {
  const since = new Date(asker.createdAt.getTime() - LIFETIME_MS);
  const asked = await countSignInCodes(context.store, asker, { since, max: PER_NETWORK_MAX + 1 });
  const isAddress = asked.address > PER_ADDRESS_MAX;
  if (!isAddress && asked.network <= PER_NETWORK_MAX) return;
  // A refused request leaves nothing behind, so that waiting helps.
  await forgetSignInCodes(context.store, codes);
  const limit = isAddress ? PER_ADDRESS_MAX : PER_NETWORK_MAX;
  const retryAfter = LIFETIME_MS / 1_000;
  throw problem('rate_limited', {
    message: `Rate limit exceeded: ${limit} sign-in codes per ${WINDOW} for this ${isAddress ? 'address' : 'network'}. Retry in ${retryAfter} s.`,
    facts: { limit, window: WINDOW, retryAfter, policy: 'sign-in', violated: ['sign-in'] },
    headers: { 'Retry-After': String(retryAfter) },
  });
}

/** A code and whom it lets in. */
interface Door {
  code: string;
  user: ClientUser;
}

function linkOf({ portalSignInUrl }: Context['config'], code: string): string | null {
  const link = portalSignInUrl ? new URL(portalSignInUrl) : null;
  link?.searchParams.set('code', code);
  return link?.toString() ?? null;
}

const WITH_LINK = 'Open this address, or enter the code below it there';
const WITHOUT_LINK = 'Enter this code';

/** The mail's text. Somebody who is known at several companies chooses which one to enter. */
async function mailText({ store, config }: Context, { _id: orgId, name }: TenantRecord, doors: readonly Door[]) {
  const paragraphs = doors.map(async ({ code, user }) => {
    const company =
      doors.length > 1 ? `For ${(await nameOfCompany(store, orgId, user.companyId)) ?? 'a company'}:` : null;
    return [company, linkOf(config, code), code].filter((line) => line !== null).join('\n\n');
  });
  const way = `${config.portalSignInUrl ? WITH_LINK : WITHOUT_LINK}, to sign in to the client portal of ${name}:`;
  const end = 'It works once, for 15 minutes. If you did not ask for it, ignore this mail.';
  return `${[way, ...(await Promise.all(paragraphs)), end].join('\n\n')}\n`;
}

async function sendCodes(context: Context, tenant: TenantRecord, doors: readonly Door[]): Promise<void> {
  const [first] = doors;
  if (!first) return;
  await context.mail.send({
    to: first.user.email,
    subject: `Sign in to the client portal of ${tenant.name}`,
    text: await mailText(context, tenant, doors),
    messageId: `<${newId('psm')}@signalbox>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
  });
}

/** Whom a code is for: it opens nothing once the address or the company of its client user is another one. */
const recipientOf = ({ config }: Context, { companyId, email }: ClientUser): string =>
  keyedHash(config.secrets.keyPepper, 'recipient', `${companyId} ${email.toLowerCase()}`);

/** One answer for every code that does not open anything. */
const useless = () =>
  problem('unauthorized', {
    message: 'The code is wrong, was used, or is older than 15 minutes; ask for a new one.',
  });

/** Uses a code up for a session. */
async function enterByCode(context: Context, id: string, sessionId: string) {
  const { store, clock } = context;
  const code = await redeemSignInCode(store, id, { usedBy: sessionId, now: clock.now() });
  if (!code?.clientUserId) throw useless();
  await checkMailSignIn(store, code.orgId);
  const { orgId, clientUserId, mailedFor } = code;
  const isStillFor = (user: ClientUser): boolean => recipientOf(context, user) === mailedFor;
  const entry = { sessionId, via: 'mail', by: clientUserId, isStillFor } as const;
  const entered = await enterPortal(context, { orgId, clientUserId }, entry);
  if (!entered) throw useless();
  return entered;
}

/** True of a refusal that the same code would get again; after anything else its holder is told to try again. */
const isVerdict = (error: unknown): boolean =>
  error instanceof Problem && error.status < 500 && error.code !== 'conflict';

/** Nobody was let in by this use, and only it is undone: the code goes on to open one session. */
const giveBack = (context: Context, id: string, usedBy: string): Promise<void> => {
  const write = () => returnSignInCode(context.store, id, usedBy);
  return write().catch(() => void insist(write));
};

/** Handlers of signing in by mail. */
export const portalMailHandlers: Pick<Handlers<typeof portalOperations, Context>, Names> = {
  async requestSignInCode({ context, principal, body }) {
    const { store, config, clock } = context;
    const { keyPepper } = config.secrets;
    await checkMailSignIn(store, body.tenant);
    const [tenant, users] = await Promise.all([
      readTenant(store, body.tenant),
      findClientUsersByEmail(store, body.tenant, body.email),
    ]);
    const createdAt = clock.now();
    const asker = {
      address: keyedHash(keyPepper, 'address', `${body.tenant} ${body.email.toLowerCase()}`),
      // An anonymous principal is named after its network address.
      network: principal.id,
    };
    const doors = users.map((user): Door => ({ code: mintCode(), user }));
    // An address that nobody has leaves a record just the same.
    const asked = doors.length > 0 ? doors : [{ code: mintCode(), user: null }];
    const records = asked.map(({ code, user }, place): SignInCode => ({
      _id: keyedHash(keyPepper, 'code', code),
      orgId: body.tenant,
      ...(place === 0 ? asker : { address: null, network: null }),
      clientUserId: user?.id ?? null,
      mailedFor: user ? recipientOf(context, user) : null,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + LIFETIME_MS),
      usedAt: null,
    }));
    await insertSignInCodes(store, records);
    await throttle(context, { ...asker, createdAt }, records);
    // Not waited for: the time an answer takes must not tell whether the address belongs to somebody.
    if (tenant)
      sendCodes(context, tenant, doors).catch((error: unknown) =>
        context.log.warn('sign-in mail not sent', { org: tenant._id, error }),
      );
    const message = 'If the address belongs to a client user, a sign-in code is on its way.';
    return { status: 202, body: { message, codeLifetimeSeconds: LIFETIME_MS / 1_000 } };
  },

  async redeemSignInCode({ context, body, newId: idFor }) {
    const id = keyedHash(context.config.secrets.keyPepper, 'code', body.code.trim());
    const sessionId = idFor('pse');
    const entered = await enterByCode(context, id, sessionId).catch(async (error: unknown) => {
      if (!isVerdict(error)) await giveBack(context, id, sessionId);
      throw error;
    });
    return { status: 201, body: entered, headers: { Location: '/portal/api/sessions/current' } };
  },
};
