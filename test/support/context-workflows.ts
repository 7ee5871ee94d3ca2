/** Workflows that show what the context they run in does and does not do. */
import { ApplicationFailure, condition } from '@temporalio/workflow';

/** Never comes back. */
export async function endless(): Promise<never> {
  for (;;);
}

/** Comes back at once. */
export async function quick(): Promise<string> {
  return 'done';
}

/** Waits for ever. */
export const waiting = (): Promise<void> => condition(() => false);

/** Fails at once. */
export async function failing(): Promise<never> {
  throw ApplicationFailure.nonRetryable('on purpose');
}

/** Leaves a promise behind that nobody looks at when it fails; that is a bug, so its task is tried again and again. */
export async function careless(): Promise<void> {
  void Promise.reject(new Error('nobody looks'));
  await condition(() => false);
}
