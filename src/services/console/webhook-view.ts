/** How webhook endpoints are shown: without secrets, with the figures of a day. */
import type { Context } from '../../context';
import type { Webhook } from '../../contracts/webhook';
import { webhookCatalog } from '../../catalog/agent-events';
import { eventCatalog } from '../../catalog/events';
import { secretsInForce } from '../../domain/webhooks/secrets';
import { deliveryStats, type DeliveryStats } from '../../store/delivery-figures';
import type { WebhookRecord } from '../../store/webhooks';

const DAY_MS = 86_400_000;

const isoOrNull = (moment: Date | null): string | null => moment?.toISOString() ?? null;

function present(record: WebhookRecord, stats24h: DeliveryStats, now: Date): Webhook {
  const { url, description, eventTypes, filters, payload, format, ordered, ratePerMinute, apiVersion } = record;
  return {
    id: record._id,
    url,
    description,
    eventTypes,
    filters,
    payload,
    format,
    ordered,
    ratePerMinute,
    apiVersion,
    status: record.status,
    disabledReason: record.disabledReason,
    disabledAt: isoOrNull(record.disabledAt),
    failingSince: isoOrNull(record.failingSince),
    secrets: secretsInForce(record.secrets, now).map(({ createdAt, endsAt }) => ({
      createdAt: createdAt.toISOString(),
      endsAt: isoOrNull(endsAt),
    })),
    stats24h,
    createdAt: record.createdAt.toISOString(),
    createdBy: record.createdBy,
    updatedAt: record.updatedAt.toISOString(),
    version: record.version,
  };
}

/** The endpoint as clients see it, figures included. */
export async function presented(context: Context, record: WebhookRecord): Promise<Webhook> {
  const now = context.clock.now();
  const stats = await deliveryStats(context.store, record._id, new Date(now.getTime() - DAY_MS));
  return present(record, stats, now);
}

/** Every event type that an endpoint can ask for. */
export const eventTypeEntries = webhookCatalog.map((entry) => ({
  id: entry.id,
  sourceProduct: entry.source_product,
  type: entry.event_type,
  displayName: entry.display_name,
  description: entry.description,
  filterableFields: entry.filterable_fields.map(({ enum_values: enumValues, ...field }) => ({
    ...field,
    ...(enumValues ? { enumValues } : {}),
  })),
  startsAgents: eventCatalog.find(entry.source_product, entry.event_type) !== undefined,
}));
