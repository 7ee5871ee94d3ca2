/** A bound on every outside call: the caller's own abort, or a time limit, whichever comes first. */
import { ProviderError } from './error';

const secondsOf = (ms: number): string => (ms % 1_000 === 0 ? `${ms / 1_000} s` : `${ms} ms`);

interface Deadline {
  signal: AbortSignal;
  timeoutMs: number;
  /** Who is being waited for, for the message. */
  from: string;
}

/**
 * Runs `work` with a signal that fires at the caller's abort or at the time limit. The caller's abort is
 * rethrown as it is, so that a cancelled activity stays a cancelled activity; the limit becomes a `timeout`.
 */
export async function withDeadline<T>(deadline: Deadline, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { signal, timeoutMs, from } = deadline;
  signal.throwIfAborted();
  const controller = new AbortController();
  // Listens by hand: AbortSignal.any keeps every derived signal alive for as long as the caller's lives.
  let stop: (reason: unknown) => void = () => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = (reason) => {
      reject(reason instanceof Error ? reason : new Error(String(reason)));
      controller.abort(reason);
    };
  });
  const onAbort = () => stop(signal.reason);
  const timer = setTimeout(() => {
    stop(new ProviderError('timeout', `${from} did not answer within ${secondsOf(timeoutMs)}`));
  }, timeoutMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    // Raced, so that a library that ignores its signal cannot hold the caller.
    return await Promise.race([work(controller.signal), stopped]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
