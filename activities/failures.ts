/** Errors of the outside and of our own store → what Temporal should do about them. */
import { activityInfo, ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { TextError } from '../src/domain/text';
import { ProviderError } from '../src/providers/error';

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

/** Turns what an outside effect threw into a failure; the last allowed attempt fails for good. */
export function effectFailure(error: unknown, attemptsMax: number): unknown {
  if (error instanceof CancelledFailure || error instanceof ApplicationFailure) return error;
  if (!(error instanceof ProviderError)) return unrenderable(error);
  const attempt = activityInfo().attempt;
  if (!error.retryable) return permanent(error.kind, error.message);
  if (attempt >= attemptsMax) return permanent(error.kind, `${error.message} Gave up after ${attempt} attempts.`);
  return passing(error.kind, error.message, error.retryAfterMs);
}
