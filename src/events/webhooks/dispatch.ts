/**
 * The dispatcher of a process: it opens the deliveries of an event and makes the first attempt at once, a few at a time
 * per endpoint. What does not fit, fails or is cut off stands in the store, for the relay and the retry workflows.
 */
import type { Context } from '../../context';
import { derivedId } from '../../domain/ids';
import { resourceIdOf } from '../../domain/webhooks/envelope';
import { startDelivery } from '../../engine/deliveries';
import { faultOf } from '../../engine/outages';
import { LEASE_MS, openDeliveries, renewClaim, setDue, type DeliveryRecord } from '../../store/deliveries';
import type { EventRecord } from '../../store/events';
import type { WebhookRecord } from '../../store/webhooks';
import { deliver, type Known } from './deliver';

export interface Dispatcher {
  /** Opens the deliveries of an event in the background and sends them; then the event counts as opened. */
  openSoon(event: EventRecord, webhooks: WebhookRecord[]): void;
  /** Attempts a delivery that was claimed for this process, when its endpoint has room. */
  take(delivery: DeliveryRecord, known?: Known): void;
  /** How many more deliveries the endpoint's queue takes. */
  roomFor(webhookId: string): number;
  /** The endpoints whose queues take none. */
  full(): string[];
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

/** Attempts at one endpoint at the same time, so that a slow receiver holds up nobody else. */
const IN_FLIGHT_MAX = 32;
const QUEUE_MAX = 500;
const OPENING_MAX = 256;
/** How long deliveries are kept, and with them the chance to send them again. */
export const KEPT_MS = 30 * 86_400_000;
/** An endpoint is used as the caller read it for no longer than this: then it counts as sent when it was read. */
const ENDPOINT_FRESH_MS = 500;
/** A claim that has waited this long is renewed before it is used. */
const CLAIM_FRESH_MS = LEASE_MS / 2;

interface Waiting {
  delivery: DeliveryRecord;
  known: Known;
  since: number;
}

interface Lane {
  inFlight: number;
  queue: Waiting[];
}

/** The delivery of an event to an endpoint, claimed by whoever opens it. */
function deliveryOf(event: EventRecord, webhook: WebhookRecord, now: Date): DeliveryRecord {
  const resourceId = resourceIdOf(event.subject);
  const isActive = webhook.status === 'active';
  const until = isActive ? new Date(now.getTime() + LEASE_MS) : null;
  return {
    _id: derivedId('dlv', webhook._id, event.event_id),
    orgId: event.org_id,
    webhookId: webhook._id,
    eventId: event.event_id,
    eventType: `${event.source_product}:${event.event_type}`,
    resourceId,
    sequence: event.sequence,
    status: isActive ? 'pending' : 'skipped',
    reason: isActive ? null : 'the endpoint is disabled',
    attempts: [],
    tries: 0,
    claims: 1,
    isClaimed: isActive,
    nextAttemptAt: until,
    dueAt: until,
    slotAt: null,
    lane: webhook.ordered && resourceId ? `${webhook._id}:${resourceId}` : null,
    holdsLane: false,
    attemptedAt: null,
    lastOk: false,
    lastMs: null,
    deliveredAt: null,
    replayId: null,
    createdAt: now,
    expiresAt: new Date(now.getTime() + KEPT_MS),
  };
}

/** Opens the deliveries of an event; answers those that are to be sent now. */
export async function openFor(
  context: Context,
  event: EventRecord,
  webhooks: WebhookRecord[],
): Promise<DeliveryRecord[]> {
  const now = context.clock.now();
  const opened = await openDeliveries(
    context.store,
    webhooks.map((webhook) => deliveryOf(event, webhook, now)),
  );
  return opened.filter(({ status }) => status === 'pending');
}

/** Leaves a failed delivery to a workflow of its own; without an engine the relay comes back to it. */
async function handToWorkflow(context: Context, delivery: DeliveryRecord): Promise<void> {
  const at = delivery.nextAttemptAt;
  if (delivery.status !== 'pending' || delivery.tries === 0 || !at) return;
  try {
    const waitMs = Math.max(0, at.getTime() - context.clock.now().getTime());
    await startDelivery(context.engine, { ...delivery, delivery_id: delivery._id, wait_ms: waitMs });
  } catch (error) {
    context.log.warn('webhook retry left to the relay', { delivery_id: delivery._id, ...faultOf(error) });
    await setDue(context.store, delivery, at);
  }
}

async function attempt(context: Context, { delivery, known, since }: Waiting): Promise<void> {
  const waited = performance.now() - since;
  if (waited > CLAIM_FRESH_MS && !(await renewClaim(context.store, delivery, context.clock.now()))) return;
  const settled = await deliver(context, delivery, waited > CLAIM_FRESH_MS ? {} : known);
  if (settled) await handToWorkflow(context, settled);
}

const eventOf = ({ event }: Known): Known => (event ? { event } : {});

/** Builds the dispatcher of a process. */
export function createDispatcher(context: () => Context): Dispatcher {
  const lanes = new Map<string, Lane>();
  const opening = new Set<Promise<void>>();
  const sending = new Set<Promise<void>>();
  let stopping = false;

  const run = (webhookId: string, lane: Lane, waiting: Waiting): void => {
    lane.inFlight += 1;
    const work = attempt(context(), waiting)
      .catch((error: unknown) => context().log.warn('webhook attempt not recorded', { error }))
      .finally(() => {
        sending.delete(work);
        lane.inFlight -= 1;
        const next = stopping ? undefined : lane.queue.shift();
        if (next) run(webhookId, lane, next);
        else if (lane.inFlight === 0) lanes.delete(webhookId);
      });
    sending.add(work);
  };
  const dispatcher: Dispatcher = {
    openSoon(event, webhooks) {
      // What is not begun here stays marked in the event's record, and the relay opens it.
      if (opening.size >= OPENING_MAX) return;
      const readAt = performance.now();
      const open = async (): Promise<void> => {
        const opened = await openFor(context(), event, webhooks);
        context().outbox.openedSoon(event._id);
        for (const delivery of opened) {
          const isFresh = performance.now() - readAt < ENDPOINT_FRESH_MS;
          const webhook = isFresh ? webhooks.find(({ _id }) => _id === delivery.webhookId) : undefined;
          dispatcher.take(delivery, { event, ...(webhook ? { webhook } : {}) });
        }
      };
      const work = open()
        .catch((error: unknown) => context().log.warn('webhook deliveries left to the relay', { error }))
        .finally(() => opening.delete(work));
      opening.add(work);
    },
    take(delivery, known = {}) {
      const lane = lanes.get(delivery.webhookId) ?? { inFlight: 0, queue: [] };
      lanes.set(delivery.webhookId, lane);
      const since = performance.now();
      if (lane.inFlight < IN_FLIGHT_MAX) run(delivery.webhookId, lane, { delivery, known, since });
      // What waits is sent to the endpoint as it is by then: a change or a deletion may be answered in between.
      // A claim nobody acts on runs out, and the relay finds the delivery again.
      else if (lane.queue.length < QUEUE_MAX) lane.queue.push({ delivery, known: eventOf(known), since });
    },
    roomFor(webhookId) {
      const lane = lanes.get(webhookId);
      return lane ? Math.max(0, IN_FLIGHT_MAX - lane.inFlight - lane.queue.length) : IN_FLIGHT_MAX;
    },
    full: () => [...lanes.keys()].filter((webhookId) => dispatcher.roomFor(webhookId) === 0),
    async idle() {
      stopping = true;
      await Promise.allSettled(opening);
      await Promise.allSettled(sending);
      stopping = false;
    },
  };
  return dispatcher;
}
