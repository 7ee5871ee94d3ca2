/** The webhook endpoints of a tenant, remembered by each process for as long as the tenant's epoch stands. */
import type { Context } from '../../context';
import type { BusEvent } from '../../contracts/event';
import { asksFor, mayConcern } from '../../domain/webhooks/patterns';
import { AGENTS_PRODUCT } from '../../catalog/agent-events';
import { listWebhooks, type WebhookRecord } from '../../store/webhooks';
import { createFencedMemory, UNFENCED_MS_MAX } from '../memory';
import { mapInSlices } from '../slices';

/** More than an org may have. */
const WEBHOOKS_MAX = 100;

/** Shorter than the epoch would let it: how an endpoint fares is written without a raise. */
const remembered = createFencedMemory<WebhookRecord[]>(UNFENCED_MS_MAX);

/** Every endpoint of the tenant. `epoch` is that of the guard as the request found it; without one the store is asked. */
export async function webhooksOf(context: Context, orgId: string, epoch: number | null): Promise<WebhookRecord[]> {
  const known = epoch === null ? null : remembered.find(context, orgId, epoch);
  if (known) return known;
  const webhooks = await listWebhooks(context.store, orgId, { limit: WEBHOOKS_MAX });
  if (epoch !== null) remembered.keep(context, orgId, { epoch, value: webhooks });
  return webhooks;
}

/** Those that ask for the event; disabled ones too, because what they miss is kept for them. */
export async function asking(webhooks: readonly WebhookRecord[], event: BusEvent, now: Date): Promise<WebhookRecord[]> {
  const asks = await mapInSlices(webhooks, (webhook) => asksFor(webhook, event, now));
  return webhooks.filter((_webhook, index) => asks[index]);
}

/** Whether any endpoint listens for what agents report. */
export const areAgentsWatched = (webhooks: readonly WebhookRecord[]): boolean =>
  webhooks.some(({ eventTypes }) => eventTypes.some((pattern) => mayConcern(pattern, AGENTS_PRODUCT)));
