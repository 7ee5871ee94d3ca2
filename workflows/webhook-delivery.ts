/** The retries of one webhook delivery: wait, try, and wait again as long as the record says. */
import { continueAsNew, sleep } from '@temporalio/workflow';
import type { DeliveryInput } from '../src/contracts/messages';
import { webhookAttempts } from './policies';

/** Turns per run, so that a delivery that waits behind others does not grow a history without end. */
const TURNS_MAX = 200;

/** Its id is `wh-<endpoint>-<event>`. The record decides: a turn that comes too early, or too late, changes nothing. */
export async function webhookDelivery(input: DeliveryInput): Promise<void> {
  let waitMs: number | null = input.wait_ms;
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    await sleep(waitMs);
    ({ wait_ms: waitMs } = await webhookAttempts.attemptDelivery({ delivery_id: input.delivery_id }));
    if (waitMs === null) return;
  }
  await continueAsNew<typeof webhookDelivery>({ ...input, wait_ms: waitMs });
}
