/** One attempt at a delivery that the caller has claimed, and what is written about it. */
import type { Context } from '../../context';
import type { DeliveryAttempt } from '../../contracts/webhook';
import { randomFraction } from '../../domain/ids';
import { bodyOf, type LoggedEvent } from '../../domain/webhooks/envelope';
import { verdictOf, type Verdict } from '../../domain/webhooks/schedule';
import { boundTo, secretsInForce } from '../../domain/webhooks/secrets';
import { signatureHeaders } from '../../domain/webhooks/signature';
import { findEvent } from '../../store/events';
import {
  firstInLane,
  isLaneTaken,
  settleDelivery,
  takeLane,
  wakeDelivery,
  type DeliveryChange,
  type DeliveryRecord,
} from '../../store/deliveries';
import { findWebhook, reserveSlot, type WebhookRecord } from '../../store/webhooks';
import { noteFailed, noteGone, noteSucceeded } from './health';

const ATTEMPTS_KEPT = 20;
const MINUTE_MS = 60_000;
/** How long the relay leaves a retry to its workflow before it looks itself. */
export const GRACE_MS = 60_000;
/** A delivery that waits behind another is woken by it; this is for when nobody does. */
const BEHIND_MS = 5 * MINUTE_MS;
const BEHIND = 'an earlier delivery of this resource comes first';

/** What the caller knows already; the store is asked for the rest. */
export interface Known {
  webhook?: WebhookRecord;
  event?: LoggedEvent;
}

type Reply = Awaited<ReturnType<Context['sender']['send']>>;

/** Sends an event to an endpoint once. */
export async function sendTo(
  context: Context,
  webhook: WebhookRecord,
  event: LoggedEvent,
): Promise<{ attempt: DeliveryAttempt; reply: Reply }> {
  const now = context.clock.now();
  const secrets = secretsInForce(webhook.secrets, now).map(({ sealed }) =>
    context.secrets.open(sealed, boundTo(webhook)),
  );
  const { body, contentType } = bodyOf(event, webhook);
  const reply: Reply = secrets.includes(null)
    ? { statusCode: null, ms: 0, error: 'the secret cannot be read; rotate it', response: null, retryAfterMs: null }
    : await context.sender.send({
        url: webhook.url,
        body,
        headers: {
          'content-type': contentType,
          'user-agent': 'Signalbox-Webhooks',
          ...signatureHeaders(
            secrets.filter((secret) => secret !== null),
            {
              id: event.event_id,
              timestamp: Math.floor(now.getTime() / 1_000),
              body,
            },
          ),
        },
      });
  const { statusCode, ms, error, response } = reply;
  return { attempt: { at: now.toISOString(), statusCode, ms, error, response }, reply };
}

const over = (status: 'failed' | 'skipped', reason: string): DeliveryChange => ({
  status,
  reason,
  nextAttemptAt: null,
  dueAt: null,
  holdsLane: false,
});

const later = (at: Date, reason: string): DeliveryChange => ({ reason, nextAttemptAt: at, dueAt: at });

/** Why it is not sent now: the change that says so, or null when it may leave. */
async function obstacle(
  context: Context,
  delivery: DeliveryRecord,
  webhook: WebhookRecord,
): Promise<DeliveryChange | null> {
  const now = context.clock.now();
  if (webhook.status === 'disabled') return over('skipped', 'the endpoint is disabled');
  if (delivery.lane !== null && !delivery.holdsLane) {
    const first = await firstInLane(context.store, delivery.lane);
    const isFirst = first === null || first._id === delivery._id;
    if (!isFirst || !(await takeLane(context.store, delivery)))
      return later(new Date(now.getTime() + BEHIND_MS), BEHIND);
  }
  if (webhook.ratePerMinute !== null && delivery.slotAt === null) {
    const slotMs = await reserveSlot(context.store, webhook._id, MINUTE_MS / webhook.ratePerMinute, now.getTime());
    if (slotMs !== null && slotMs > now.getTime())
      return { ...later(new Date(slotMs), 'the endpoint has a rate'), slotAt: new Date(slotMs) };
  }
  return null;
}

function changeFor(
  context: Context,
  delivery: DeliveryRecord,
  verdict: Verdict,
  attempt: DeliveryAttempt,
): DeliveryChange {
  const now = context.clock.now();
  const tried: DeliveryChange = {
    tries: delivery.tries + 1,
    slotAt: null,
    attemptedAt: now,
    lastOk: attempt.error === null,
    lastMs: attempt.ms,
  };
  if (verdict.kind === 'delivered') {
    return {
      ...tried,
      status: 'delivered',
      reason: null,
      deliveredAt: now,
      nextAttemptAt: null,
      dueAt: null,
      holdsLane: false,
    };
  }
  if (verdict.kind === 'retry') {
    const at = now.getTime() + verdict.waitMs;
    return { ...tried, reason: attempt.error, nextAttemptAt: new Date(at), dueAt: new Date(at + GRACE_MS) };
  }
  const reason =
    verdict.kind === 'gone'
      ? 'the receiver answered 410: it wants no more'
      : (attempt.error ?? 'it could not be delivered');
  return { ...tried, ...over('failed', reason) };
}

async function noteVerdict(context: Context, webhook: WebhookRecord, verdict: Verdict, tries: number): Promise<void> {
  if (verdict.kind === 'delivered') await noteSucceeded(context, webhook, tries);
  else if (verdict.kind === 'gone') await noteGone(context, webhook);
  else await noteFailed(context, webhook);
}

/** Lets the next delivery of the lane go when this one has ended. */
async function passLane(context: Context, { lane }: DeliveryRecord): Promise<void> {
  if (lane === null) return;
  const next = await firstInLane(context.store, lane);
  if (next) await wakeDelivery(context.store, next._id, context.clock.now());
}

/** The one that came first may have ended while this one was still at work, and could not be woken. */
async function lookAgain({ store, clock }: Context, { _id: id, lane, reason }: DeliveryRecord): Promise<void> {
  if (lane === null || reason !== BEHIND) return;
  const first = await firstInLane(store, lane);
  if (first?._id === id && !(await isLaneTaken(store, lane))) await wakeDelivery(store, id, clock.now());
}

async function attemptOnce(
  context: Context,
  delivery: DeliveryRecord,
  webhook: WebhookRecord,
  event: LoggedEvent,
): Promise<DeliveryRecord | null> {
  const { attempt, reply } = await sendTo(context, webhook, event);
  const outcome = { ...reply, ok: reply.error === null };
  const odds = { random: randomFraction(), scale: context.config.webhooks.retryScale };
  const verdict = verdictOf(outcome, delivery.tries + 1, odds);
  const change = changeFor(context, delivery, verdict, attempt);
  const settled = await settleDelivery(context.store, delivery, change, { entry: attempt, keep: ATTEMPTS_KEPT });
  await noteVerdict(context, webhook, verdict, delivery.tries + 1);
  return settled;
}

/**
 * Attempts a claimed delivery and answers it as it is afterwards, or null when the claim was lost meanwhile: then the
 * receiver may have got it twice, with the same id.
 */
export async function deliver(
  context: Context,
  delivery: DeliveryRecord,
  known: Known = {},
): Promise<DeliveryRecord | null> {
  const webhook = known.webhook ?? (await findWebhook(context.store, delivery.orgId, delivery.webhookId));
  const event = known.event ?? (await findEvent(context.store, delivery.orgId, delivery.eventId));
  let settled: DeliveryRecord | null;
  if (!webhook) settled = await settleDelivery(context.store, delivery, over('failed', 'the endpoint was deleted'));
  else if (!event)
    settled = await settleDelivery(context.store, delivery, over('failed', 'the event is no longer kept'));
  else {
    const held = await obstacle(context, delivery, webhook);
    settled = held
      ? await settleDelivery(context.store, delivery, held)
      : await attemptOnce(context, delivery, webhook, event);
  }
  if (settled?.status === 'pending') await lookAgain(context, settled);
  else if (settled) await passLane(context, settled);
  return settled;
}
