/** Hands the events that a write left in its document to `publish`, soon after the answer. The relay does what is left. */
import type { Context } from '../context';
import { markOpened } from '../store/events';
import type { PendingEvents } from '../store/resources';
import { publish } from './publish';

export interface Outbox {
  /** Publishes in the background; failure is logged and left to the relay. `epoch` is the tenant's, if a request asks. */
  publishSoon(pending: PendingEvents, epoch?: number | null): void;
  /** Notes that every execution of an event is open. Written together with others: until then a repeat finds them open. */
  openedSoon(eventKey: string): void;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

const IN_FLIGHT_MAX = 32;
const OPENED_FLUSH_MS = 200;

/** Publishes every event of a document in order, then clears them. */
export async function publishPending(
  context: Context,
  pending: PendingEvents,
  epoch: number | null = null,
): Promise<void> {
  for (const event of pending.events) await publish(context, event, { epoch });
  await pending.clear();
}

/** Collects keys and marks them in one write per moment; what fails is left to the relay. */
function createOpened(context: () => Context) {
  let keys: string[] = [];
  let flushing: Promise<void> = Promise.resolve();
  const flush = async (): Promise<void> => {
    const batch = keys;
    keys = [];
    if (batch.length === 0) return;
    await markOpened(context().store, batch).catch((error: unknown) => {
      context().log.warn('opened events left to the relay', { error });
    });
  };
  return {
    add(key: string): void {
      keys.push(key);
      if (keys.length === 1) setTimeout(() => void (flushing = flush()), OPENED_FLUSH_MS);
    },
    async idle(): Promise<void> {
      await flush();
      await flushing;
    },
  };
}

/** Builds the outbox. More than 32 hand-overs at once wait for the relay, so a burst cannot exhaust the process. */
export function createOutbox(context: () => Context): Outbox {
  const underWay = new Set<Promise<void>>();
  const opened = createOpened(context);
  return {
    publishSoon(pending, epoch = null) {
      if (underWay.size >= IN_FLIGHT_MAX) return;
      const work = publishPending(context(), pending, epoch)
        .catch((error: unknown) => context().log.warn('publish deferred', { error }))
        .finally(() => underWay.delete(work));
      underWay.add(work);
    },
    openedSoon: (key) => opened.add(key),
    async idle() {
      await Promise.allSettled(underWay);
      await opened.idle();
    },
  };
}
