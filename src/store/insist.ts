/** Writes that are due whatever becomes of the request that owes them. */
import { setTimeout } from 'node:timers/promises';

/** When a write that the store did not take is tried again. Behind the last, what it was for has run out by itself. */
const PAUSES_MS = [100, 400, 1_500, 6_000, 20_000];

/** Tries a write again, without keeping the process alive for it; false when it never succeeded. */
export async function insist(write: () => Promise<void>): Promise<boolean> {
  for (const pauseMs of PAUSES_MS) {
    await setTimeout(pauseMs, undefined, { ref: false });
    const isWritten = await write().then(
      () => true,
      () => false,
    );
    if (isWritten) return true;
  }
  return false;
}
