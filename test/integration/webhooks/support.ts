/** Receivers and endpoints that the webhook suites share. */
import { Webhook } from 'standardwebhooks';
import { list, text, waitFor, type Body, type TestOrg } from '../../support/harness';
import {
  startHttpServer,
  type Answer,
  type HttpStandIn,
  type ReceivedRequest,
} from '../../support/stand-ins/http-server';

export const API = '/console/api/webhooks';

export interface Endpoint {
  id: string;
  secret: string;
  path: string;
}

/** Registers an endpoint; all events of custom types unless the fields say otherwise. */
export async function register(org: TestOrg, url: string, fields: Record<string, unknown> = {}): Promise<Endpoint> {
  const created = await org.call('POST', API, { url, eventTypes: ['psa:custom.*'], ...fields });
  if (created.status !== 201) throw new Error(`not registered: ${created.text}`);
  const id = text(created.body['id']);
  return { id, secret: text(created.body['secret']), path: `${API}/${id}` };
}

const receivers: HttpStandIn[] = [];

/** A receiver that answers as told; stopped by `stopReceivers`. */
export async function receiver(answer: (request: ReceivedRequest, nth: number) => Answer): Promise<HttpStandIn> {
  let count = 0;
  const started = await startHttpServer((request) => answer(request, (count += 1)));
  receivers.push(started);
  return started;
}

export const stopReceivers = async (): Promise<void> => {
  await Promise.all(receivers.splice(0).map((started) => started.stop()));
};

/** The deliveries of an endpoint, newest first. */
export async function deliveriesOf(org: TestOrg, endpoint: Endpoint, query = ''): Promise<Body[]> {
  const { body } = await org.call('GET', `${endpoint.path}/deliveries${query}`);
  return list(body['items']);
}

/** Waits until the delivery of an event has a status. */
export const waitForDelivery = (
  org: TestOrg,
  endpoint: Endpoint,
  wanted: { status: string; eventId?: string },
  timeoutMs = 30_000,
): Promise<Body> =>
  waitFor(
    async () =>
      (await deliveriesOf(org, endpoint)).find(
        (delivery) =>
          text(delivery['status']) === wanted.status &&
          (!wanted.eventId || text(delivery['eventId']) === wanted.eventId),
      ),
    { timeoutMs, what: `delivery ${wanted.eventId ?? ''} ${wanted.status}` },
  );

/** What a receiver of the outside does: verifies with the library of Standard Webhooks and reads the body. */
export function verified(secret: string, request: ReceivedRequest): Record<string, unknown> {
  return new Webhook(secret).verify(JSON.stringify(request.body), request.headers) as Record<string, unknown>;
}
