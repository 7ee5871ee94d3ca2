/** Ends the shared stack. */
import type { Stack } from './stack';

/** Jest's global teardown. */
export default async function stop(): Promise<void> {
  await (globalThis as { signalboxStack?: Stack }).signalboxStack?.stop();
}
