/** What was sent to an endpoint: listed, sent again, sent as a trial. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { webhookOperations } from '../../contracts/operations/webhooks';
import { didYouMean, problem } from '../../contracts/problem';
import type { WebhookDelivery } from '../../contracts/webhook';
import { webhookCatalog } from '../../catalog/agent-events';
import type { LoggedEvent } from '../../domain/webhooks/envelope';
import { openPage } from '../../domain/list-page';
import { nearest } from '../../domain/suggest';
import { patternsToRegex, matchesPattern } from '../../domain/webhooks/patterns';
import { sendTo } from '../../events/webhooks/deliver';
import { KEPT_MS } from '../../events/webhooks/dispatch';
import {
  claimDelivery,
  findDelivery,
  pageOfDeliveries,
  reopenDelivery,
  replayDeliveries,
  type DeliveryRecord,
} from '../../store/deliveries';
import type { WebhookRecord } from '../../store/webhooks';
import { ownWebhook } from './webhooks';

type Names = 'testWebhook' | 'listWebhookDeliveries' | 'retryWebhookDelivery' | 'replayWebhook';
type DeliveryHandlers = Pick<Handlers<typeof webhookOperations, Context>, Names>;

const isoOrNull = (moment: Date | null): string | null => moment?.toISOString() ?? null;

const present = (record: DeliveryRecord): WebhookDelivery => ({
  id: record._id,
  webhookId: record.webhookId,
  eventId: record.eventId,
  eventType: record.eventType,
  resourceId: record.resourceId,
  sequence: record.sequence,
  status: record.status,
  reason: record.reason,
  attempts: record.attempts,
  nextAttemptAt: isoOrNull(record.nextAttemptAt),
  createdAt: record.createdAt.toISOString(),
  deliveredAt: isoOrNull(record.deliveredAt),
});

function requireActive(webhook: WebhookRecord): void {
  if (webhook.status === 'active') return;
  throw problem('conflict', {
    message: 'The webhook is disabled; enable it first, then what it missed can be sent.',
    facts: { status: webhook.status, disabledReason: webhook.disabledReason },
  });
}

/** An event such as the endpoint could get, with the catalog's sample. */
function sampleEvent(webhook: WebhookRecord, asked: string | undefined, at: { id: string; now: Date }): LoggedEvent {
  const wanted = asked ?? webhook.eventTypes[0] ?? '*';
  const entry = webhookCatalog.find(({ id }) => matchesPattern(wanted, id));
  if (!entry) {
    const suggestion = nearest(
      wanted,
      webhookCatalog.map(({ id }) => id),
    );
    const message = `no event type of the catalog is called ${wanted}`;
    const finding = { path: '/eventType', code: 'unknown_event_type', message, ...(suggestion ? { suggestion } : {}) };
    throw problem('validation_error', {
      message: `/eventType: ${message}${didYouMean(suggestion)}`,
      findings: [finding],
    });
  }
  return {
    org_id: webhook.orgId,
    event_id: at.id,
    event_type: entry.event_type,
    source_product: entry.source_product,
    occurred_at: at.now.toISOString(),
    payload: { ...entry.sample_payload, test: true },
    sequence: 1,
    subject: `test/${at.id}`,
  };
}

async function ownDelivery(context: Context, orgId: string, id: string): Promise<DeliveryRecord> {
  const delivery = await findDelivery(context.store, id);
  if (delivery?.orgId !== orgId) throw problem('not_found', { message: 'No such delivery in this org.' });
  return delivery;
}

const keptUntil = (now: Date): Date => new Date(now.getTime() + KEPT_MS);

/** Handlers of what lies below an endpoint. */
export const deliveryHandlers: DeliveryHandlers = {
  async testWebhook({ params, body, principal, context, newId }) {
    const webhook = await ownWebhook(context, principal, params.id);
    const event = sampleEvent(webhook, body.eventType, { id: newId('evt'), now: context.clock.now() });
    const { attempt } = await sendTo(context, webhook, event);
    const eventType = `${event.source_product}:${event.event_type}`;
    return { status: 200, body: { eventId: event.event_id, eventType, delivered: attempt.error === null, attempt } };
  },

  async listWebhookDeliveries({ params, query, principal, context }) {
    const webhook = await ownWebhook(context, principal, params.id);
    const { from, to, status, eventType } = query;
    const page = openPage(context, query, ['deliveries', webhook._id, status, eventType, from, to]);
    const filter = { status, eventType, from: from ? new Date(from) : undefined, to: to ? new Date(to) : undefined };
    const after = page.after ? { at: new Date(Number(page.after.value)), id: page.after.id } : null;
    const place = { orgId: principal.orgId, webhookId: webhook._id };
    const found = await pageOfDeliveries(context.store, place, filter, { limit: page.readMax, after });
    const { rows, ...envelope } = page.cut(found, ({ createdAt, _id: id }) => ({ value: createdAt.getTime(), id }));
    return { status: 200, body: { items: rows.map(present), ...envelope } };
  },

  async retryWebhookDelivery({ params, principal, context }) {
    const held = await ownDelivery(context, principal.orgId, params.id);
    requireActive(await ownWebhook(context, principal, held.webhookId));
    const now = context.clock.now();
    const reopened = await reopenDelivery(context.store, held, now, keptUntil(now));
    // Sent from here at once; what this process cannot take, the relay does.
    const claimed = reopened && !reopened.isClaimed ? await claimDelivery(context.store, reopened, now) : null;
    if (claimed) context.dispatch.take(claimed);
    return { status: 202, body: present(reopened ?? held) };
  },

  async replayWebhook({ params, body, principal, context, newId }) {
    const webhook = await ownWebhook(context, principal, params.id);
    requireActive(webhook);
    const from = new Date(body.from);
    const to = new Date(body.to);
    if (from > to) {
      const message = 'must not be after to';
      const findings = [{ path: '/from', code: 'range', message }];
      throw problem('validation_error', { message: `/from: ${message}`, findings });
    }
    const replayId = newId('rpl');
    const now = context.clock.now();
    const span = {
      orgId: principal.orgId,
      webhookId: webhook._id,
      status: body.status ?? ['failed' as const, 'skipped' as const],
      eventTypes: body.eventTypes ? patternsToRegex(body.eventTypes) : null,
      from,
      to,
      replayId,
    };
    const matched = await replayDeliveries(context.store, span, now, keptUntil(now));
    return { status: 202, body: { replayId, matched } };
  },
};
