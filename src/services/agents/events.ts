/** Event intake, and why each agent ran or did not. */
import type { Context } from '../../context';
import type { BusEvent, CloudEvent, NativeEvent } from '../../contracts/event';
import type { Handlers } from '../../contracts/operation';
import type { AgentOperations } from '../../contracts/operations/agents';
import { EVENT_TYPE_LENGTH_MAX, EVENT_TYPE_PATTERN, PRODUCT_PATTERN, wordsOf } from '../../contracts/patterns';
import { didYouMean, problem, refuseFindings, type Finding } from '../../contracts/problem';
import { eventCatalog } from '../../catalog/events';
import { nearest } from '../../domain/suggest';
import { publish } from '../../events/publish';
import { findEvent } from '../../store/events';

type Names = 'ingestEvent' | 'explainEvent';

const isCloudEvent = (body: NativeEvent | CloudEvent): body is CloudEvent => 'specversion' in body;

/** `psa.ticket.escalated`, or `ticket.escalated` with the product as last part of `source`. */
function namesOf(event: CloudEvent): { source_product: string; event_type: string } {
  const [first = '', ...rest] = event.type.split('.');
  const products = new Set(eventCatalog.all.map((entry) => entry.source_product));
  if (products.has(first) && rest.length > 0) return { source_product: first, event_type: rest.join('.') };
  return { source_product: event.source.split('/').filter(Boolean).at(-1) ?? first, event_type: event.type };
}

const nativeOf = (body: NativeEvent | CloudEvent): NativeEvent =>
  isCloudEvent(body)
    ? {
        id: body.id,
        ...namesOf(body),
        ...(body.time ? { occurred_at: body.time } : {}),
        client_id: body.clientid ?? null,
        payload: body.data,
      }
    : body;

function requireKnown({
  source_product: product,
  event_type: type,
}: {
  source_product: string;
  event_type: string;
}): void {
  if (type.startsWith('custom.') || eventCatalog.find(product, type)) return;
  const id = `${product}:${type}`;
  const suggestion = nearest(
    id,
    eventCatalog.all.map((entry) => entry.id),
  );
  throw problem('event_type_not_found', {
    message: `No event type ${id} in the catalog${didYouMean(suggestion) || '.'} Own types start with "custom.".`,
    facts: { event: id, ...(suggestion ? { suggestion } : {}) },
  });
}

/** What the schema of our own shape asks of names holds for those taken out of a CloudEvent, too. */
function requireNames(event: CloudEvent): void {
  const { source_product: product, event_type: type } = namesOf(event);
  const findings: Finding[] = [];
  const refuse = (path: string, message: string) => findings.push({ path, code: 'pattern', message });
  if (type.length > EVENT_TYPE_LENGTH_MAX)
    refuse('/type', `the event type may have at most ${EVENT_TYPE_LENGTH_MAX} characters`);
  else if (!new RegExp(EVENT_TYPE_PATTERN).test(type))
    refuse('/type', `names the event type "${type}", which ${wordsOf(EVENT_TYPE_PATTERN)}`);
  if (!new RegExp(PRODUCT_PATTERN).test(product))
    refuse('/source', `names the product "${product}", which ${wordsOf(PRODUCT_PATTERN)}`);
  refuseFindings(findings, 'body');
}

export const eventHandlers: Pick<Handlers<AgentOperations, Context>, Names> = {
  async ingestEvent({ context, principal, body, epoch, newId, isRepeat }) {
    const input = nativeOf(body);
    requireKnown(input);
    if (isCloudEvent(body)) requireNames(body);
    // Refused before anything is stored: what is answered 202 runs, however long the engine is away afterwards.
    if (!(await context.engine.isReachable())) throw problem('engine_unavailable');
    const now = context.clock.now();
    const event: BusEvent = {
      id: input.id ?? newId('evt'),
      org_id: principal.orgId,
      event_type: input.event_type,
      source_product: input.source_product,
      occurred_at: input.occurred_at ? new Date(input.occurred_at).toISOString() : now.toISOString(),
      client_id: input.client_id ?? null,
      payload: input.payload,
    };
    const isFresh = input.id === undefined && !isRepeat;
    const published = await publish(context, event, { epoch, isFresh });
    const { executions } = published;
    // An event that an earlier run of this very request has published is no duplicate to whoever sent it.
    const duplicate = published.duplicate && (input.id !== undefined || !isRepeat);
    const result = { event_id: event.id, duplicate, matched: executions.length, executions };
    return duplicate ? { status: 200, body: result } : { status: 202, body: result };
  },

  async explainEvent({ context, principal, params }) {
    const record = await findEvent(context.store, principal.orgId, params.id);
    if (!record) throw problem('event_not_found');
    return {
      status: 200,
      body: {
        id: record.event_id,
        event_type: record.event_type,
        source_product: record.source_product,
        occurred_at: record.occurred_at,
        received_at: record.received_at.toISOString(),
        client_id: record.client_id,
        payload: record.payload,
        outcomes: record.outcomes,
      },
    };
  },
};
