/** Errors of the outside and of our own store → what Temporal should do about them. */
import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import type { Tried } from '../src/contracts/messages';
import { TextError } from '../src/domain/text';
import { ProviderError } from '../src/providers/error';
import { isBrokenSocket, isStoreRefusal } from '../src/store/outages';

/** A failure that another attempt cannot change. `type` becomes the step's error code. */
export const permanent = (type: string, message: string): ApplicationFailure =>
  ApplicationFailure.create({ type, message, nonRetryable: true });

/** A text that cannot be rendered fails for good: texts and data of an execution stay as they are. All else is left as it is. */
export const unrenderable = (error: unknown): unknown =>
  error instanceof TextError ? permanent(error.code, error.message) : error;

/** A failure worth another attempt, after `delayMs` when the other side asked for a pause. */
export const passing = (type: string, message: string, delayMs?: number): ApplicationFailure =>
  ApplicationFailure.create({
    type,
    message,
    nonRetryable: false,
    ...(delayMs === undefined ? {} : { nextRetryDelay: delayMs }),
  });

/** What the store will not take, because of what it is. */
export const unkeepable = (error: unknown): ApplicationFailure =>
  permanent('invalid_output', `What the step left behind cannot be stored (${String(error)}).`);

/** An attempt that only failed to reach our own store is made again as long as it takes, and not counted. */
const isOfStore = (error: unknown): boolean =>
  error instanceof Error && (error.name.startsWith('Mongo') || isBrokenSocket(error));

/** The failure with what the step's record is to show beside it. */
const withTried = (failure: ApplicationFailure, tried: Tried): ApplicationFailure =>
  Object.assign(failure, { details: [tried] });

/** What is thrown by nobody on purpose is a mistake of ours; the message names its kind and nothing it may hold. */
const unexpected = (error: unknown): ApplicationFailure =>
  ApplicationFailure.create({
    type: 'step_failed',
    message: `The step failed for a reason within Signalbox (${error instanceof Error ? error.name : typeof error})`,
    nonRetryable: false,
    cause: error as Error,
  });

/** A failure of the last allowed attempt is final. */
function counted(failure: ApplicationFailure, tried: Tried, attemptsMax: number): ApplicationFailure {
  if (failure.nonRetryable || tried.attempts < attemptsMax) return withTried(failure, tried);
  const times = tried.attempts === 1 ? '1 attempt' : `${tried.attempts} attempts`;
  const final = permanent(
    failure.type ?? 'step_failed',
    `${failure.message.replace(/\.$/, '')}. Gave up after ${times}.`,
  );
  return withTried(final, tried);
}

/**
 * Turns what a step's attempt threw into a failure; the last allowed attempt fails for good. What only waits for our own
 * records is answered as it came.
 */
export function effectFailure(thrown: unknown, tried: Tried, attemptsMax: number): unknown {
  if (isStoreRefusal(thrown)) return withTried(unkeepable(thrown), tried);
  if (thrown instanceof CancelledFailure || isOfStore(thrown)) return thrown;
  const error = unrenderable(thrown);
  // Ours say themselves whether they are final, and wait for records rather than for the outside.
  if (error instanceof ApplicationFailure) return withTried(error, tried);
  if (!(error instanceof ProviderError)) return counted(unexpected(error), tried, attemptsMax);
  const { kind, message, retryable, retryAfterMs, model } = error;
  const failure = retryable ? passing(kind, message, retryAfterMs) : permanent(kind, message);
  return counted(failure, { ...tried, ...(model ? { model: { ...model } } : {}) }, attemptsMax);
}
