/** Receivers and endpoints that the webhook suites share. */
import { Webhook } from 'standardwebhooks';
import { joinStack, list, text, waitFor, type Body, type Harness, type TestOrg } from '../../support/harness';
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

/** A receiver that answers as told; it is stopped with the suite of `eachInOwnOrg`. */
export async function receiver(answer: (request: ReceivedRequest, nth: number) => Answer): Promise<HttpStandIn> {
  let count = 0;
  const started = await startHttpServer((request) => answer(request, (count += 1)));
  receivers.push(started);
  return started;
}

/** Joins the running stack for a suite and gives each test an org of its own. */
export function eachInOwnOrg(joined: (harness: Harness) => void, given: (org: TestOrg) => void): void {
  let harness: Harness;
  beforeAll(() => {
    harness = joinStack();
    joined(harness);
  });
  beforeEach(async () => given(await harness.newOrg()));
  afterAll(async () => {
    await Promise.all(receivers.splice(0).map((started) => started.stop()));
    await harness.close();
  });
}

/** The ids under which events came to a receiver, in the order of their coming. */
export const idsAt = ({ requests }: Pick<HttpStandIn, 'requests'>): (string | undefined)[] =>
  requests.map(({ headers }) => headers['webhook-id']);

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
