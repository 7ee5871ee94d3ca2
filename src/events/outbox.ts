/** Hands the events that a write left in its document to `publish`, soon after the answer. The relay does what is left. */
import type { Context } from '../context';
import type { BusEvent } from '../contracts/event';
import { publish } from './publish';

/** The events of one document write, and how to mark them handed over. */
export interface PendingEvents {
  events: BusEvent[];
  clear(): Promise<void>;
}

export interface Outbox {
  /** Publishes in the background; failure is logged and left to the relay. */
  publishSoon(pending: PendingEvents): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

const IN_FLIGHT_MAX = 32;

/** Publishes every event of a document in order, then clears them. */
export async function publishPending(context: Context, pending: PendingEvents): Promise<void> {
  for (const event of pending.events) await publish(context, event);
  await pending.clear();
}

/** Builds the outbox. More than 32 hand-overs at once wait for the relay, so a burst cannot exhaust the process. */
export function createOutbox(context: () => Context): Outbox {
  const underWay = new Set<Promise<void>>();
  return {
    publishSoon(pending) {
      if (underWay.size >= IN_FLIGHT_MAX) return;
      const work = publishPending(context(), pending)
        .catch((error: unknown) => context().log.warn('publish deferred', { error }))
        .finally(() => underWay.delete(work));
      underWay.add(work);
    },
    async idle() {
      await Promise.allSettled(underWay);
    },
  };
}
