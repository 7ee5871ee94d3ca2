/** The operations on webhook endpoints that leave an entry in the audit trail before they are answered. */
import type { Context } from '../../context';
import type { AuditEntry } from '../../contracts/audit';
import type { Handlers } from '../../contracts/operation';
import type { webhookOperations } from '../../contracts/operations/webhooks';
import type { Webhook } from '../../contracts/webhook';
import { audit, isAudited, isUntold, type Asked } from '../../store/audit-trail';
import { pageOfAudit } from '../../store/audit';
import { findWebhook, type WebhookRecord } from '../../store/webhooks';
import { mayFollow, type Headers } from './record-tags';
import { isAsAsked, noSuchWebhook, webhookHandlers } from './webhooks';

type AuditedWebhooks = Pick<
  Handlers<typeof webhookOperations, Context>,
  'createWebhook' | 'updateWebhook' | 'deleteWebhook' | 'rotateWebhookSecret' | 'enableWebhook' | 'disableWebhook'
>;

/** The host names the endpoint to people; the rest of its address may hold a secret of the receiver's. */
const targetOf = ({ id, url }: Pick<Webhook, 'id' | 'url'>): AuditEntry['target'] => ({
  kind: 'webhook',
  id,
  name: new URL(url).host,
});

const factsOf = ({ eventTypes, payload, format, ordered }: Webhook) => ({ eventTypes, payload, format, ordered });

type ById = Asked & { params: { id: string } };
type Change = ById & { headers: Headers; isRepeat: boolean };

/** What an entry about a version can be called. */
const CHANGES = ['webhook.updated', 'webhook.rotated', 'webhook.enabled', 'webhook.disabled'] as const;

/** The call, as a repeat when a run of the same change, which nobody answered, has made the endpoint what it is. */
async function following<Call extends Change>(asked: Call, isMade: (held: WebhookRecord) => boolean): Promise<Call> {
  const { context, principal, params, headers } = asked;
  const held = await findWebhook(context.store, principal.orgId, params.id);
  if (!held || !isMade(held) || !mayFollow(headers, held)) return asked;
  // What its failures did is told by its time, not by its version.
  if (held.disabledReason !== null && held.disabledReason !== 'by_user') return asked;
  const told = { target: targetOf({ id: held._id, url: held.url }), version: held.version };
  return { ...asked, isRepeat: asked.isRepeat || (await isUntold(asked, told, CHANGES)) };
}

const deletionOf = (target: AuditEntry['target']) => ({ action: 'webhook.deleted' as const, target, cause: [] });

/** The endpoint that is gone although no entry says so: whoever deleted it got no answer, and asks again. */
async function goneUntold(asked: ById): Promise<AuditEntry['target']> {
  const { context, principal, params } = asked;
  const about = { target: params.id };
  const [last] = await pageOfAudit(context.store, principal.orgId, about, { limit: 1, before: null });
  if (last?.target.kind !== 'webhook' || (await isAudited(asked, deletionOf(last.target)))) throw noSuchWebhook();
  return last.target;
}

/** The handlers of the same names, each followed by its entry. */
export const auditedWebhooks: AuditedWebhooks = {
  async createWebhook(call) {
    const reply = await webhookHandlers.createWebhook(call);
    await audit(call, {
      action: 'webhook.created',
      target: targetOf(reply.body),
      details: factsOf(reply.body),
      cause: [],
    });
    return reply;
  },

  async updateWebhook(asked) {
    const call = await following(asked, (held) => isAsAsked(held, asked.body));
    const reply = await webhookHandlers.updateWebhook(call);
    const { version } = reply.body;
    const details = { fields: Object.keys(call.body), version, ...factsOf(reply.body) };
    await audit(call, { action: 'webhook.updated', target: targetOf(reply.body), details, cause: [version] });
    return reply;
  },

  async deleteWebhook(call) {
    const held = await findWebhook(call.context.store, call.principal.orgId, call.params.id);
    const target = held ? targetOf({ id: held._id, url: held.url }) : await goneUntold(call);
    if (held) await webhookHandlers.deleteWebhook(call);
    await audit(call, deletionOf(target));
    return { status: 204 };
  },

  async rotateWebhookSecret(call) {
    const reply = await webhookHandlers.rotateWebhookSecret(call);
    const [, old] = reply.body.secrets;
    const details = { oldEndsAt: old?.endsAt ?? null, version: reply.body.version };
    await audit(call, {
      action: 'webhook.rotated',
      target: targetOf(reply.body),
      details,
      cause: [reply.body.version],
    });
    return reply;
  },

  async enableWebhook(asked) {
    const call = await following(asked, ({ status }) => status === 'active');
    const reply = await webhookHandlers.enableWebhook(call);
    const { version } = reply.body;
    await audit(call, { action: 'webhook.enabled', target: targetOf(reply.body), cause: [version] });
    return reply;
  },

  async disableWebhook(asked) {
    const call = await following(asked, ({ status }) => status === 'disabled');
    const reply = await webhookHandlers.disableWebhook(call);
    const { version, disabledReason: reason } = reply.body;
    // One that was off already was switched off by its failures, which the trail says.
    if (reason === 'by_user')
      await audit(call, {
        action: 'webhook.disabled',
        target: targetOf(reply.body),
        details: { reason },
        cause: [version],
      });
    return reply;
  },
};
