/** What a call throws while the engine is away, does not answer, or lacks what every execution needs. */
import { isGrpcServiceError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import type { Fields } from '../log';
import { UnpreparedError } from './prepared';

const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNAVAILABLE = 14;

/** The client wraps what it heard of the engine in an error of its own. */
const innermost = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? innermost(error.cause) : error;

const codeOf = (error: unknown): number | null => (isGrpcServiceError(error) ? error.code.valueOf() : null);

export const isUnanswered = (error: unknown): boolean => codeOf(error) === DEADLINE_EXCEEDED;

export const isDenied = (error: unknown): boolean => codeOf(error) === PERMISSION_DENIED;

const saidOf = (error: unknown): string => (error as { details?: string }).details ?? '';

/** Workflows that are not found are another matter; of what the server answers only the text tells the two apart. */
export function lacksNamespace(error: unknown): boolean {
  if (error instanceof NamespaceNotFoundError) return true;
  return codeOf(error) === NOT_FOUND && /^namespace .*not found/i.test(saidOf(error));
}

/** Nothing can be started in a namespace that does not know what executions are found by. */
export function lacksAttributes(error: unknown): boolean {
  if (error instanceof UnpreparedError) return true;
  return codeOf(error) === INVALID_ARGUMENT && /no mapping defined for search attribute/i.test(saidOf(error));
}

/** What was heard of the engine. */
export function heardOf(error: unknown): string {
  const cause = innermost(error);
  return cause instanceof Error ? cause.message : String(cause);
}

/** What was heard if the engine could not do what was asked because it is away; null when the fault is elsewhere. */
export function outageOf(error: unknown): string | null {
  const cause = innermost(error);
  const isAway = isUnanswered(cause) || codeOf(cause) === UNAVAILABLE;
  return isAway || lacksNamespace(cause) || lacksAttributes(cause) ? heardOf(cause) : null;
}

/** How a failed call is logged: an outage by what was heard, for it is no mistake of ours; anything else with its stack. */
export function faultOf(error: unknown): Fields {
  const why = outageOf(error);
  return why === null ? { error } : { why };
}
