/** Retries of webhook deliveries in the engine: one workflow per endpoint and event. */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { deliveryWorkflowIdOf, WEBHOOK_DELIVERY, type DeliveryInput } from '../contracts/messages';
import type { Engine } from './connect';

const PRIORITY_RETRY = 4;

interface Retry extends DeliveryInput {
  orgId: string;
  webhookId: string;
  eventId: string;
  eventType: string;
}

/** Starts the workflow that waits and tries again. While one runs, that one goes on: it reads the record anyway. */
export async function startDelivery(engine: Engine, retry: Retry): Promise<void> {
  const { delivery_id, wait_ms, orgId, webhookId, eventId, eventType } = retry;
  try {
    await engine.client.workflow.start(WEBHOOK_DELIVERY, {
      workflowId: deliveryWorkflowIdOf(webhookId, eventId),
      taskQueue: engine.taskQueue,
      args: [{ delivery_id, wait_ms } satisfies DeliveryInput],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      priority: { priorityKey: PRIORITY_RETRY, fairnessKey: orgId.slice(0, 64) },
      staticSummary: `Webhook · ${eventType}`.slice(0, 200),
      typedSearchAttributes: [{ key: defineSearchAttributeKey('OrgId', 'KEYWORD'), value: orgId }],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
