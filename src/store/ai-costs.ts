/** What AI calls cost that brought no answer: noted by attempt, and charged to the step when no other attempt follows. */
import type { TokenUsage } from '../domain/credits';
import type { Store } from './collection';
import { executions } from './executions';

interface SlotOf {
  id: string;
  slot: number;
}

/** Notes what an attempt, named by when it was due, has spent: once, however often it is told. */
export async function noteSpent(
  store: Store,
  { id, slot, attempt }: SlotOf & { attempt: number },
  usage: TokenUsage,
): Promise<void> {
  await executions
    .in(store)
    .collection.updateOne({ _id: id } as never, { $set: { [`steps.${slot}.spent.${attempt}`]: usage } });
}

/** Charges a step that has no answer with what its attempts have spent; nothing is changed once that is done. */
export async function chargeSpent(
  store: Store,
  { id, slot }: SlotOf,
  { credits, usage, model }: { credits: number; usage: Record<string, unknown>; model?: Record<string, unknown> },
): Promise<void> {
  const at = `steps.${slot}`;
  await executions
    .in(store)
    .collection.updateOne({ _id: id, [`${at}.credits_used`]: 0, [`${at}.status`]: { $ne: 'completed' } } as never, {
      $set: { [`${at}.credits_used`]: credits, [`${at}.usage`]: usage, ...(model ? { [`${at}.model`]: model } : {}) },
      $inc: { credits_used: credits, seq: 1 },
    });
}
