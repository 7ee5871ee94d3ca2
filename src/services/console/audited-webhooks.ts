/** The operations on webhook endpoints that leave an entry in the audit trail before they are answered. */
import type { Context } from '../../context';
import type { AuditEntry } from '../../contracts/audit';
import type { Handlers } from '../../contracts/operation';
import type { webhookOperations } from '../../contracts/operations/webhooks';
import type { Webhook } from '../../contracts/webhook';
import { audit } from '../../store/audit-trail';
import { ownWebhook, webhookHandlers } from './webhooks';

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

  async updateWebhook(call) {
    const reply = await webhookHandlers.updateWebhook(call);
    const { version } = reply.body;
    const details = { fields: Object.keys(call.body), version, ...factsOf(reply.body) };
    await audit(call, { action: 'webhook.updated', target: targetOf(reply.body), details, cause: [version] });
    return reply;
  },

  async deleteWebhook(call) {
    const held = await ownWebhook(call.context, call.principal, call.params.id);
    const reply = await webhookHandlers.deleteWebhook(call);
    await audit(call, { action: 'webhook.deleted', target: targetOf({ id: held._id, url: held.url }), cause: [] });
    return reply;
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

  async enableWebhook(call) {
    const reply = await webhookHandlers.enableWebhook(call);
    const { version } = reply.body;
    await audit(call, { action: 'webhook.enabled', target: targetOf(reply.body), cause: [version] });
    return reply;
  },

  async disableWebhook(call) {
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
