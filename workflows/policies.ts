/** Every timeout and retry rule of the workflows, named, with its reason. */
import {
  ActivityCancellationType,
  proxyActivities,
  proxyLocalActivities,
  type ActivityOptions,
} from '@temporalio/workflow';
import type { Activities } from '../src/contracts/activities';
import type { PlanStep, StepInput, StepResult } from '../src/contracts/messages';

/**
 * Records: local, because they are single store operations. They are tried for ever: while the store is away an
 * execution waits, it does not fail.
 */
export const records = proxyLocalActivities<
  Pick<
    Activities,
    'beginExecution' | 'setVariables' | 'openApproval' | 'settleApproval' | 'recordFailure' | 'finishExecution'
  >
>({
  startToCloseTimeout: '10s',
  retry: {
    initialInterval: '100ms',
    backoffCoefficient: 2,
    maximumInterval: '5s',
    nonRetryableErrorTypes: ['OrphanWorkflow'],
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

/**
 * Outside effects: remote, so that they can be cancelled and seen. The activity itself counts its attempts against the
 * step's limit, because an attempt that only failed to reach our store must not use one up.
 */
const POLICIES: Record<Outside, ActivityOptions> = {
  ai_reason: {
    // The largest models answer within five minutes; the provider has the tighter limits per tier.
    startToCloseTimeout: '5m',
    scheduleToCloseTimeout: '30m',
    heartbeatTimeout: HEARTBEAT,
    // The answer of a model is worth nothing to a cancelled execution: close at once.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
  },
  notification: {
    startToCloseTimeout: '1m',
    scheduleToCloseTimeout: '24h',
    heartbeatTimeout: HEARTBEAT,
    // A message may be on its way: wait, so that the trace says whether it left.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '2s', backoffCoefficient: 2, maximumInterval: '15m' },
  },
  http_request: {
    startToCloseTimeout: '30s',
    scheduleToCloseTimeout: '10m',
    heartbeatTimeout: HEARTBEAT,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
  },
};

const NAMES = { ai_reason: 'aiReason', notification: 'notification', http_request: 'httpRequest' } as const;

export const isOutside = (type: PlanStep['type']): type is Outside => type in NAMES;

function optionsFor(step: PlanStep, type: Outside): ActivityOptions {
  const policy = POLICIES[type];
  const { retry } = step;
  return {
    ...policy,
    summary: step.label,
    ...(step.timeout_ms === undefined ? {} : { startToCloseTimeout: step.timeout_ms }),
    retry: {
      ...policy.retry,
      ...(retry?.initial_ms === undefined ? {} : { initialInterval: retry.initial_ms }),
      ...(retry?.max_ms === undefined ? {} : { maximumInterval: Math.max(retry.max_ms, retry.initial_ms ?? 0) }),
    },
  };
}

/** Runs the effect of an outside step under its policy; the Web UI shows it by the step's label. */
export const runOutside = (step: PlanStep, type: Outside, input: StepInput): Promise<StepResult> =>
  proxyActivities<Pick<Activities, 'aiReason' | 'notification' | 'httpRequest'>>(optionsFor(step, type))[NAMES[type]](
    input,
  );
