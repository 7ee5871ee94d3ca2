/** Every timeout and retry rule of the workflows, named, with its reason. */
import {
  ActivityCancellationType,
  proxyActivities,
  proxyLocalActivities,
  type ActivityOptions,
} from '@temporalio/workflow';
import type { Activities } from '../src/contracts/activities';
import { ORPHAN_WORKFLOW, type PlanStep, type StepInput, type StepResult } from '../src/contracts/messages';

/**
 * Records: local, because they are single store operations. They are tried for ever: while the store is away an
 * execution waits, it does not fail.
 */
export const records = proxyLocalActivities<
  Pick<
    Activities,
    | 'beginExecution'
    | 'setVariables'
    | 'recordProgress'
    | 'openApproval'
    | 'settleApproval'
    | 'recordFailure'
    | 'recordByHand'
    | 'finishExecution'
  >
>({
  startToCloseTimeout: '10s',
  retry: {
    initialInterval: '100ms',
    backoffCoefficient: 2,
    maximumInterval: '5s',
    nonRetryableErrorTypes: [ORPHAN_WORKFLOW],
  },
});

/** One pass of the repairs; the schedule comes back in a minute, so a failed pass is not repeated at once. */
export const sweeping = proxyActivities<Pick<Activities, 'sweepOnce'>>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: '30s',
  retry: { maximumAttempts: 1 },
});

/** One pass over what is due; the schedule comes back in 30 seconds, so a failed pass is not repeated at once. */
export const timing = proxyActivities<Pick<Activities, 'emitTimed'>>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: '30s',
  retry: { maximumAttempts: 1 },
});

/**
 * Attempts at a webhook delivery: whatever a receiver does is an answer, so only our own store can fail one, and then it
 * is tried for as long as it takes.
 */
export const webhookAttempts = proxyActivities<Pick<Activities, 'attemptDelivery'>>({
  startToCloseTimeout: '1m',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
});

type Outside = 'ai_reason' | 'notification' | 'http_request';

/** A killed worker is noticed after this long, so its step begins again elsewhere. */
const HEARTBEAT = '10s';

interface Policy {
  /** Longest an attempt takes whose step names no timeout; the providers keep to less. */
  attemptMs: number;
  /** Time in which the step must be done, beside what its own timeout and retries ask for. */
  totalMs: number;
  pause: { initialMs: number; maxMs: number };
  cancellationType: ActivityCancellationType;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/**
 * Outside effects: remote, so that they can be cancelled and seen. The activity itself ends its attempts in time and
 * counts them against the step's limit, because an attempt that only failed to reach our store must not use one up.
 */
const POLICIES: Record<Outside, Policy> = {
  ai_reason: {
    // The largest models answer within five minutes.
    attemptMs: 5 * MINUTE,
    totalMs: 30 * MINUTE,
    // The answer of a model is worth nothing to a cancelled execution: close at once.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    pause: { initialMs: SECOND, maxMs: 30 * SECOND },
  },
  notification: {
    attemptMs: MINUTE,
    totalMs: 24 * 60 * MINUTE,
    // A message may be on its way: wait, so that the trace says whether it left.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    pause: { initialMs: 2 * SECOND, maxMs: 15 * MINUTE },
  },
  http_request: {
    attemptMs: 30 * SECOND,
    totalMs: 10 * MINUTE,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    pause: { initialMs: SECOND, maxMs: MINUTE },
  },
};

/**
 * The engine's limit for an attempt is beyond the activity's own by what its record may take while the store is away:
 * an attempt that the engine ends is counted by nobody.
 */
const RECORD_MARGIN_MS = 30 * SECOND;
const BACKOFF = 2;
/** The most a step can ask for. */
const ATTEMPTS_MAX = 20;

const NAMES = { ai_reason: 'aiReason', notification: 'notification', http_request: 'httpRequest' } as const;

export const isOutside = (type: PlanStep['type']): type is Outside => type in NAMES;

/** What the attempts and pauses a step asks for can take at the most. */
function askedMs({ timeout_ms, retry }: PlanStep, attemptMs: number, { initialMs, maxMs }: Policy['pause']): number {
  if (timeout_ms === undefined && retry === undefined) return 0;
  const attempts = retry?.max_attempts ?? ATTEMPTS_MAX;
  let askedFor = attempts * attemptMs;
  for (let pause = 0; pause < attempts - 1; pause += 1) askedFor += Math.min(initialMs * BACKOFF ** pause, maxMs);
  return askedFor;
}

function optionsFor(step: PlanStep, type: Outside): ActivityOptions {
  const { attemptMs, totalMs, pause, cancellationType } = POLICIES[type];
  const limitMs = (step.timeout_ms ?? attemptMs) + RECORD_MARGIN_MS;
  const initialMs = step.retry?.initial_ms ?? pause.initialMs;
  const maxMs = Math.max(step.retry?.max_ms ?? pause.maxMs, initialMs);
  return {
    summary: step.label,
    startToCloseTimeout: limitMs,
    scheduleToCloseTimeout: totalMs + askedMs(step, limitMs, { initialMs, maxMs }),
    heartbeatTimeout: HEARTBEAT,
    cancellationType,
    retry: { initialInterval: initialMs, backoffCoefficient: BACKOFF, maximumInterval: maxMs },
  };
}

/** What our activities answer. An operator who completes one in the engine gives whatever they like as its result. */
export const isOurs = (result: unknown): result is StepResult =>
  typeof result === 'object' && result !== null && 'seq' in result && 'facts' in result && 'light' in result;

/** Runs the effect of an outside step under its policy; the Web UI shows it by the step's label. */
export const runOutside = (step: PlanStep, type: Outside, input: StepInput): Promise<unknown> =>
  proxyActivities<Pick<Activities, 'aiReason' | 'notification' | 'httpRequest'>>(optionsFor(step, type))[NAMES[type]](
    input,
  );
