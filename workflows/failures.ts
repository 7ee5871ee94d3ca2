/** What a thrown failure means for the record. */
import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  type TemporalFailure,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { ErrorInfo, StatusReason } from '../src/contracts/execution';
import type { Tried } from '../src/contracts/messages';

/** True for the failure of a step's effect: what a step's error policy is about. Local activities fail unwrapped. */
export const isStepFailure = (error: unknown): boolean =>
  (error instanceof ActivityFailure || error instanceof ApplicationFailure) && !isCancellation(error);

/** The failure as the trace shows it: the code the activity gave, or `timeout`. */
export function errorOf(error: unknown): ErrorInfo {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) return { code: cause.type ?? 'step_failed', message: cause.message };
  if (cause instanceof TimeoutFailure) {
    const last = cause.cause instanceof ApplicationFailure ? ` Last failure: ${cause.cause.message}` : '';
    return { code: 'timeout', message: `The step did not finish in time (${cause.timeoutType}).${last}` };
  }
  return { code: 'step_failed', message: error instanceof Error ? error.message : 'The step failed.' };
}

const triedIn = (details: unknown): Tried | undefined =>
  typeof details === 'object' && details !== null && 'attempts' in details ? (details as Tried) : undefined;

/** How often a failed step was tried, as its activity said; undefined when none of its attempts could. */
export function triedOf(error: unknown): Tried | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  // What an activity does not count it tries once.
  if (cause instanceof ApplicationFailure) return triedIn(cause.details?.[0]) ?? { attempts: 1 };
  if (!(cause instanceof TimeoutFailure)) return undefined;
  const last = cause.cause instanceof ApplicationFailure ? triedIn(cause.cause.details?.[0]) : undefined;
  return triedIn(cause.lastHeartbeatDetails) ?? last;
}

interface End {
  status: 'failed' | 'cancelled';
  reason: StatusReason;
  error: ErrorInfo | null;
}

/** How an execution ends that did not run through. */
export function endOf(error: unknown): End {
  if (isCancellation(error)) return { status: 'cancelled', reason: 'cancelled_by_user', error: null };
  const info = errorOf(error);
  if (info.code === 'approval_denied') return { status: 'cancelled', reason: 'approval_denied', error: null };
  if (info.code === 'approval_expired') return { status: 'failed', reason: 'approval_expired', error: info };
  if (info.code === 'credit_insufficient') return { status: 'failed', reason: 'credit_insufficient', error: info };
  return { status: 'failed', reason: 'step_failed', error: info };
}

/**
 * The failure a workflow ends with. The text of one that came sealed is open in here, and would stand open in the
 * history; what a remote activity failed with is inside its failure, and is passed on as it came.
 */
export function asSealed(error: TemporalFailure): TemporalFailure {
  if (!(error instanceof ApplicationFailure) || !error.failure?.encodedAttributes) return error;
  return ApplicationFailure.nonRetryable('What it failed with is in the record of the execution.', error.type);
}
