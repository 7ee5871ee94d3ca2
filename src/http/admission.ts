/** The guard: credentials, then limits, then scope or permission, with the rate headers on every answer. */
import type { Context } from '../context';
import type { Operation } from '../contracts/operation';
import type { AnonymousPrincipal, Principal } from '../contracts/principal';
import { problem, Problem } from '../contracts/problem';
import { isRead } from '../domain/methods';
import { MAIL_PER_MINUTE, rateHeaders, rateProblem, refusing, windowLimit } from '../domain/rate-limit';
import { sessionTokens, type SessionTokens } from '../services/console/session-token';
import type { Charge, Reading } from '../store/guards';
import { authorise, portalRefusal } from './auth-access';
import { createGuessLimiter, type GuessLimiter } from './auth-guesses';
import { createAddressLimiter, networkOf, type AddressLimiter, type AddressPolicy } from './auth-ip';
import { createMeter, policyStates, withoutCharge, type Meter } from './auth-meter';
import { createUsageCounter, type UsageCounter } from './auth-usage';
import * as authentication from './authenticate';
import { readCredential, refuseKeyInQuery, type Caller } from './credentials';
import type { Admission, Foresight, Guard } from './guard';
import { requireCsrfToken, requireOwnOrigin } from './session-cookie';

/** The guard with what the process around it needs. */
export interface CredentialGuard extends Guard {
  enter(request: Caller, operation: Operation, foresee?: Foresight): Promise<Admission>;
  /** Rate headers of a request that reaches no operation: unknown paths, other methods. */
  headersFor(request: Caller): Record<string, string>;
}

/** One guard's parts. */
interface Desk {
  context: Context;
  auth: authentication.Authenticator;
  meter: Meter;
  addresses: AddressLimiter;
  guesses: GuessLimiter;
  usage: UsageCounter;
  tokens: SessionTokens;
}

/** One request at the desk. */
interface Visit {
  request: Caller;
  operation: Operation;
  startedAtMs: number;
  foresee: Foresight | undefined;
}

interface Settled {
  held: authentication.Held;
  charge: Charge;
  reading: Reading;
  isForeseen: boolean;
}

const nowOf = (desk: Desk): Date => desk.context.clock.now();

function chargeAddress(desk: Desk, visit: Visit, policy: AddressPolicy) {
  return desk.addresses.charge(networkOf(visit.request), policy, nowOf(desk).getTime());
}

/** Refusals before anybody is known count against the address. */
function unknownCaller(desk: Desk, visit: Visit, refusal: Problem = problem('unauthorized')): Problem {
  return withHeaders(refusal, rateHeaders([chargeAddress(desk, visit, 'ip').state]));
}

function withHeaders(refusal: Problem, headers: Record<string, string>): Problem {
  Object.assign(refusal.headers, headers);
  return refusal;
}

function enterPublic(desk: Desk, visit: Visit): Admission {
  // Only the console sets cookies; what the portal's sign-in answers is in the body, which other origins cannot read.
  if (visit.operation.service === 'console') requireOwnOrigin(visit.request, desk.context.config);
  const { state, isAdmitted } = chargeAddress(desk, visit, 'public');
  if (!isAdmitted) throw rateProblem([refusing(state)]);
  const principal: AnonymousPrincipal = {
    kind: 'anonymous',
    orgId: '',
    tier: 'standard',
    id: `ip:${networkOf(visit.request)}`,
  };
  const headers = rateHeaders([state]);
  return { principal, epoch: null, headers, isForeseen: false, refund: () => headers };
}

/** The credential of the request as a subject the store can be asked about, or a refusal. */
async function subjectOf(desk: Desk, visit: Visit): Promise<authentication.Subject> {
  try {
    const credential = readCredential(visit.request, visit.operation.service, desk.tokens.cookieName);
    const isUsable = credential.kind !== 'none' && credential.kind !== 'malformed';
    const subject = isUsable ? await desk.auth.subjectOf(credential) : null;
    if (!subject) throw problem('unauthorized');
    return subject;
  } catch (error) {
    throw error instanceof Problem ? unknownCaller(desk, visit, error) : error;
  }
}

/** An address that has used up its refusals may send no more guesses; whoever has a key must not wait for others' faults. */
async function refuseGuess(desk: Desk, visit: Visit, subject: authentication.Subject): Promise<void> {
  if (!subject.keyHash || desk.auth.isKnown(subject)) return;
  const state = desk.addresses.read(networkOf(visit.request), 'ip', nowOf(desk).getTime());
  if (state.remaining > 0 || (await desk.guesses.isIssued(subject.keyHash()))) return;
  throw rateProblem([refusing(state)]);
}

/** What the store says about the subject. */
async function hold(desk: Desk, visit: Visit, subject: authentication.Subject): Promise<authentication.Held> {
  await refuseGuess(desk, visit, subject);
  const held = await desk.auth.hold(subject);
  if (!held) throw unknownCaller(desk, visit);
  if (!authentication.refusalOf(held.loaded, nowOf(desk))) return held;
  // What is remembered may be out of date in the caller's favour too: an expiry can be moved.
  const sure = authentication.isFinal(held.loaded) ? held : await desk.auth.reload(subject);
  return standing(desk, visit, sure);
}

/** A refusal at the desk is in the key's figures like every other answer. */
function countRefusal(desk: Desk, visit: Visit, principal: Principal, { status }: Problem): void {
  const ms = performance.now() - visit.startedAtMs;
  desk.usage.record(principal, { operation: visit.operation, status, ms });
}

function standing(desk: Desk, visit: Visit, held: authentication.Held | null): authentication.Held {
  if (!held) throw unknownCaller(desk, visit);
  const { loaded } = held;
  const reason = authentication.refusalOf(loaded, nowOf(desk));
  if (!reason) return held;
  // Its owner must see that somebody still uses it.
  const refusal = authentication.refusedCredential(loaded.kind, reason);
  countRefusal(desk, visit, held.principal, refusal);
  throw unknownCaller(desk, visit, refusal);
}

function chargeOf(desk: Desk, visit: Visit, loaded: authentication.Loaded): Charge {
  const { request, operation } = visit;
  const isMail = operation.service === 'mail';
  const { tenant } = loaded;
  return {
    orgId: tenant._id,
    window: isMail ? 'mail' : 'tenant',
    limit: isMail ? MAIL_PER_MINUTE : windowLimit(tenant, desk.context.config.rateTenantFlat),
    key: loaded.kind === 'key' && !isMail ? { id: loaded.key._id, tier: loaded.key.tier ?? tenant.tier } : null,
    conditional: isRead(request.method) && request.headers['if-none-match'] !== undefined,
  };
}

const isSameCharge = (a: Charge, b: Charge): boolean => a.limit === b.limit && a.key?.tier === b.key?.tier;

/** The console's own endpoints are outside the tenant's window; a key that knocks there is charged all the same. */
const isMetered = (operation: Operation, loaded: authentication.Loaded): boolean =>
  !operation.unmetered && !(operation.access.kind === 'session' && loaded.kind === 'session');

const scopeRefusal = (principal: Principal, operation: Operation): Problem | null =>
  principal.kind === 'portal' ? portalRefusal(principal, operation) : authorise(principal, operation.access);

/** Lets a read begin beside its charge, unless it is sure to be refused. Answers whether it was told. */
function foretell(desk: Desk, visit: Visit, { principal, epoch }: authentication.Held, charge: Charge): boolean {
  if (!visit.foresee || desk.meter.isRefusing(charge)) return false;
  if (scopeRefusal(principal, visit.operation)) return false;
  visit.foresee({ principal, epoch });
  return true;
}

/**
 * Charges the request, or only reads the guard, and makes sure that what we hold about the caller is of the epoch the
 * guard was in: a change that has been answered is never overlooked.
 */
async function settle(
  desk: Desk,
  visit: Visit,
  subject: authentication.Subject,
  held: authentication.Held,
): Promise<Settled> {
  const charge = chargeOf(desk, visit, held.loaded);
  const isCharged = isMetered(visit.operation, held.loaded);
  const isForeseen = isCharged && foretell(desk, visit, held, charge);
  const { reading, isRemembered } = isCharged
    ? await desk.meter.take(charge)
    : { reading: await desk.meter.read(charge), isRemembered: false };
  if (isRemembered || reading.epoch === held.epoch) return { held, charge, reading, isForeseen };

  const giveBack = () => isCharged && desk.meter.giveBack(charge, reading);
  const fresh = await desk.auth.refresh(subject, reading.epoch);
  let current: authentication.Held;
  try {
    current = standing(desk, visit, fresh);
  } catch (error) {
    giveBack();
    throw error;
  }
  const corrected = chargeOf(desk, visit, current.loaded);
  if (isSameCharge(charge, corrected)) return { held: current, charge, reading, isForeseen: false };
  giveBack();
  const again = isCharged ? (await desk.meter.take(corrected, { anew: true })).reading : reading;
  return { held: current, charge: corrected, reading: again, isForeseen: false };
}

/** A cookie proves who the browser belongs to, not that the console sent the request. */
async function refuseForgery(desk: Desk, visit: Visit, loaded: authentication.LoadedSession): Promise<void> {
  try {
    requireOwnOrigin(visit.request, desk.context.config);
    requireCsrfToken(visit.request, (given) => desk.tokens.isCsrfToken(loaded.session._id, given));
  } catch (error) {
    const charge = chargeOf(desk, visit, loaded);
    const states = policyStates(charge, await desk.meter.read(charge));
    throw error instanceof Problem ? withHeaders(error, rateHeaders(states)) : error;
  }
}

async function renewedCookie(
  desk: Desk,
  subject: authentication.Subject,
  loaded: authentication.Loaded,
): Promise<Record<string, string>> {
  const now = nowOf(desk);
  if (loaded.kind !== 'session' || !subject.claims || !desk.tokens.isDueForRenewal(subject.claims, now)) return {};
  const { session, user, tenant } = loaded;
  const owner = { userId: user._id, orgId: tenant._id, sessionId: session._id, endsAt: session.expiresAt };
  return { 'Set-Cookie': await desk.tokens.cookieFor(owner, now) };
}

/** The answer at the desk, once the request has been charged. */
async function admit(
  desk: Desk,
  visit: Visit,
  subject: authentication.Subject,
  { held, charge, reading, isForeseen }: Settled,
): Promise<Admission> {
  const { principal } = held;
  const states = policyStates(charge, reading);
  const refuse = (refusal: Problem): never => {
    countRefusal(desk, visit, principal, refusal);
    throw refusal;
  };
  const exhausted = reading.outcome === 'charged' ? null : rateProblem(states);
  if (exhausted && reading.outcome === 'refused') refuse(exhausted);
  const refusal = scopeRefusal(principal, visit.operation);
  if (refusal) refuse(exhausted ?? withHeaders(refusal, rateHeaders(states)));

  const isCharged = isMetered(visit.operation, held.loaded) && reading.outcome === 'charged';
  let isRefunded = false;
  return {
    principal,
    epoch: reading.epoch,
    isForeseen,
    headers: { ...rateHeaders(states), ...(subject.claims ? await renewedCookie(desk, subject, held.loaded) : {}) },
    ...(exhausted ? { exhausted } : {}),
    refund() {
      if (!isCharged) return rateHeaders(states);
      if (!isRefunded) desk.meter.giveBack(charge, reading);
      isRefunded = true;
      return rateHeaders(policyStates(charge, withoutCharge(charge, reading)));
    },
  };
}

async function enter(desk: Desk, asked: Pick<Visit, 'request' | 'operation' | 'foresee'>): Promise<Admission> {
  const { request, operation } = asked;
  const visit: Visit = { ...asked, startedAtMs: performance.now() };
  try {
    refuseKeyInQuery(request);
  } catch (error) {
    throw error instanceof Problem ? unknownCaller(desk, visit, error) : error;
  }
  if (operation.access.kind === 'public') return enterPublic(desk, visit);
  const subject = await subjectOf(desk, visit);
  const held = await hold(desk, visit, subject);
  const { loaded } = held;
  if (loaded.kind === 'session') await refuseForgery(desk, visit, loaded);
  return admit(desk, visit, subject, await settle(desk, visit, subject, held));
}

/** Builds the guard of a process. All guards of a deployment agree, because what they agree on is in the store. */
export function createGuard(context: Context, meter: Meter = createMeter(context)): CredentialGuard {
  const desk: Desk = {
    context,
    auth: authentication.createAuthenticator(context),
    meter,
    addresses: createAddressLimiter(),
    guesses: createGuessLimiter(context),
    usage: createUsageCounter(context),
    tokens: sessionTokens(context.config),
  };
  return {
    enter: (request, operation, foresee) => enter(desk, { request, operation, foresee }),
    record: (principal: Principal, answered) => desk.usage.record(principal, answered),
    headersFor: (request) => rateHeaders([desk.addresses.read(networkOf(request), 'ip', nowOf(desk).getTime())]),
    async close() {
      await Promise.all([desk.meter.flush(), desk.usage.flush()]);
    },
  };
}
