/** The retry of a webhook delivery: the record says whether it is due, and what comes after. */
import type { DeliveryInput } from '../src/contracts/messages';
import { deliver } from '../src/events/webhooks/deliver';
import { claimDelivery, findDelivery, LEASE_MS, type DeliveryRecord } from '../src/store/deliveries';
import type { Deps } from './deps';

/** The turn of the workflow after this one is not sooner than this. */
const WAIT_MS_MIN = 10;

/** Attempts the delivery if it is due and nobody else is at it; answers when to come again, or null when it has ended. */
export async function attemptDelivery(
  deps: Deps,
  { delivery_id: id }: Pick<DeliveryInput, 'delivery_id'>,
): Promise<{ wait_ms: number | null }> {
  const held = await findDelivery(deps.store, id);
  if (held?.status !== 'pending') return { wait_ms: null };
  const early = waitOf(deps, held);
  if (early > WAIT_MS_MIN) return { wait_ms: early };
  const claimed = await claimDelivery(deps.store, held, deps.clock.now());
  if (!claimed) return { wait_ms: LEASE_MS };
  const settled = await deliver(deps, claimed);
  if (!settled) return { wait_ms: LEASE_MS };
  return { wait_ms: settled.status === 'pending' ? waitOf(deps, settled) : null };
}

const waitOf = (deps: Deps, { nextAttemptAt }: DeliveryRecord): number =>
  Math.max(WAIT_MS_MIN, (nextAttemptAt?.getTime() ?? 0) - deps.clock.now().getTime());
