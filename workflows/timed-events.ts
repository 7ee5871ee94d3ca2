/** One pass over what is due in a product, started by a schedule. */
import { timing } from './policies';

/** Answers how many records of each resource changed; a quiet product answers nothing. */
export async function timedEvents(product: string): Promise<Record<string, number>> {
  return timing.emitTimed(product);
}
