/** The log of events by pull: whatever a webhook lost can be read here, in order and without gaps. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { webhookOperations } from '../../contracts/operations/webhooks';
import { pageSize } from '../../contracts/page';
import { didYouMean, problem } from '../../contracts/problem';
import { webhookCatalog } from '../../catalog/agent-events';
import { checkWebhook } from '../../domain/webhooks/check';
import { contentOf } from '../../domain/webhooks/envelope';
import { FEED_HORIZON_MS, pageOfFeed, type EventRecord } from '../../store/events';

const KEPT_MS = 30 * 86_400_000;

const present = (record: EventRecord) => ({
  id: record.event_id,
  type: record.event_type,
  sourceProduct: record.source_product,
  timestamp: record.occurred_at,
  tenantId: record.org_id,
  sequence: record.sequence ?? null,
  ...contentOf({ ...record, sequence: record.sequence ?? null, subject: record.subject ?? null }),
});

function patternsOf(text: string | undefined): string[] | null {
  if (text === undefined) return null;
  const patterns = text.split(',').map((part) => part.trim());
  const findings = checkWebhook(
    { eventTypes: patterns, filters: [] },
    { catalog: webhookCatalog, allowLoopback: false },
  ).map((finding) => ({ ...finding, path: 'eventTypes' }));
  const [first] = findings;
  if (!first) return patterns;
  throw problem('validation_error', {
    message: `eventTypes: ${first.message}${didYouMean(first.suggestion)}`,
    findings,
  });
}

/** Handler of `/console/api/events`. */
export const feedHandlers: Pick<Handlers<typeof webhookOperations, Context>, 'readEventLog'> = {
  async readEventLog({ query, principal, context }) {
    const { after, eventTypes, resourceId, limit: asked } = query;
    const now = context.clock.now();
    const limit = pageSize(asked);
    const bound = ['events', principal.orgId, eventTypes, resourceId];
    const position = after === undefined ? undefined : context.sealer.open(after, bound, now, KEPT_MS);
    if (position === null) throw problem('invalid_cursor');
    const oldest = now.getTime() - KEPT_MS;
    const from = position
      ? { at: new Date(Math.max(Number(position.value), oldest)), id: position.id }
      : { at: new Date(oldest), id: '' };
    // Younger events may still get neighbours that become visible later; they are shown a moment from now.
    const until = new Date(now.getTime() - FEED_HORIZON_MS);
    const filter = { patterns: patternsOf(eventTypes), resourceId };
    const found = await pageOfFeed(context.store, principal.orgId, filter, { from, until, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    const next = last
      ? { value: last.received_at.getTime(), id: last._id }
      : { value: Math.max(until.getTime(), from.at.getTime()), id: '' };
    return {
      status: 200,
      body: {
        items: page.map(present),
        continuationToken: context.sealer.seal(next, bound, now),
        hasMore: last !== undefined,
        limit,
      },
    };
  },
};
