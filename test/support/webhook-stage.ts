/** A stack with processes to kill, and an endpoint's receiver that fails or dawdles when told to. */
import { joinStack, text, type Harness, type TestOrg } from './harness';
import { startStack, type Stack } from './stack';
import { startHttpServer, type ReceivedRequest } from './stand-ins/http-server';

export interface WebhookStage {
  stack: Stack;
  harness: Harness;
  /** How the receiver answers. */
  receiver: { isUp: boolean; delayMs: number };
  /** Registers an endpoint of the org's own; answers its id. */
  endpoint(org: TestOrg, eventTypes: string[]): Promise<string>;
  /** What this tenant's endpoint received: deliveries of earlier tests that were cut off come again a minute later. */
  receivedBy(org: TestOrg): ReceivedRequest[];
  idsReceivedBy(org: TestOrg): string[];
  stop(): Promise<void>;
}

/** Starts it. */
export async function startWebhookStage(): Promise<WebhookStage> {
  const receiver = { isUp: true, delayMs: 0 };
  const sink = await startHttpServer(() => ({ status: receiver.isUp ? 200 : 500, delayMs: receiver.delayMs }));
  const stack = await startStack();
  const harness = joinStack(stack);
  const receivedBy = (org: TestOrg) => sink.requests.filter(({ path }) => path === `/${org.id}`);
  return {
    stack,
    harness,
    receiver,
    async endpoint(org, eventTypes) {
      const created = await org.call('POST', '/console/api/webhooks', { url: `${sink.url}/${org.id}`, eventTypes });
      expect(created.status).toBe(201);
      return text(created.body['id']);
    },
    receivedBy,
    idsReceivedBy: (org) => receivedBy(org).map(({ headers }) => headers['webhook-id'] ?? ''),
    async stop() {
      await harness.close();
      await stack.stop();
      await sink.stop();
    },
  };
}
