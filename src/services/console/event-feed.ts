/** The log of events by pull: whatever a webhook lost can be read here, in order and without gaps. */
import type { Context } from '../../context';
import type { Handlers } from '../../contracts/operation';
import type { webhookOperations } from '../../contracts/operations/webhooks';
import { didYouMean, problem, refuseFindings } from '../../contracts/problem';
import { webhookCatalog } from '../../catalog/agent-events';
import { openPage } from '../../domain/list-page';
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

/** Where to go on: one token, by either of its names. */
function tokenOf({ continuationToken, after }: { continuationToken?: string; after?: string }): string | undefined {
  const message = 'is another name of continuationToken; send one of them';
  if (continuationToken !== undefined && after !== undefined && continuationToken !== after)
    refuseFindings([{ path: 'after', code: 'rule', message }], 'query');
  return continuationToken ?? after;
}

/** Handler of `/console/api/events`. */
export const feedHandlers: Pick<Handlers<typeof webhookOperations, Context>, 'readEventLog'> = {
  async readEventLog({ query, principal, context }) {
    const { eventTypes, resourceId, limit } = query;
    const wanted = { limit, continuationToken: tokenOf(query), lifetimeMs: KEPT_MS };
    const page = openPage(context, wanted, ['events', principal.orgId, eventTypes, resourceId]);
    const { now, after } = page;
    const oldest = now.getTime() - KEPT_MS;
    const from = after
      ? { at: new Date(Math.max(Number(after.value), oldest)), id: after.id }
      : { at: new Date(oldest), id: '' };
    // Younger events may still get neighbours that become visible later; they are shown a moment from now.
    const until = new Date(now.getTime() - FEED_HORIZON_MS);
    const filter = { patterns: patternsOf(eventTypes), resourceId };
    const found = await pageOfFeed(context.store, principal.orgId, filter, { from, until, limit: page.readMax });
    const { rows, ...envelope } = page.cut(found, (event) => ({ value: event.received_at.getTime(), id: event._id }));
    // Where the log ends for now, its reader goes on later.
    const next =
      envelope.continuationToken ?? page.seal({ value: Math.max(until.getTime(), from.at.getTime()), id: '' });
    return { status: 200, body: { items: rows.map(present), ...envelope, continuationToken: next } };
  },
};
