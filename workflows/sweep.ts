/** One pass of the repairs, started by a schedule. */
import { sweeping } from './policies';

/** Answers how many repairs of each kind were needed; a healthy system answers zeros. */
export async function sweep(): Promise<Record<string, number>> {
  return sweeping.sweepOnce();
}
