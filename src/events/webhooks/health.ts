/**
 * What attempts tell about an endpoint: when it began to fail, when its owners are told, when it is switched off. All of
 * it only while the address that was asked is the endpoint's: one that was given up says nothing about the new one.
 */
import type { Context } from '../../context';
import { stageOf } from '../../domain/webhooks/schedule';
import { hasSucceededSince } from '../../store/delivery-figures';
import { clearFailures, disableWebhook, noteFailure, raiseNotice, type WebhookRecord } from '../../store/webhooks';

/** Forgets the failures, if there are any to be forgotten: a healthy endpoint costs no write. */
export async function noteSucceeded(context: Context, webhook: WebhookRecord, tries: number): Promise<void> {
  if (webhook.failingSince !== null || tries > 1) await clearFailures(context.store, webhook);
}

/** Counts a failure; tells the owners half way, and disables the endpoint at the end of the way. */
export async function noteFailed(context: Context, webhook: WebhookRecord): Promise<void> {
  const now = context.clock.now();
  const record = await noteFailure(context.store, webhook, now);
  const stage = record ? stageOf(record, now) : 0;
  if (!record?.failingSince || stage <= record.noticeStage) return;
  // Processes remember endpoints for moments, so one may not have known that its success ended a row of failures.
  if (await hasSucceededSince(context.store, webhook._id, record.failingSince)) {
    await clearFailures(context.store, webhook);
  } else if (stage === 100) await disableWebhook(context.store, record, 'failing', now);
  else await raiseNotice(context.store, webhook, stage);
}

/** The receiver says that it is gone for good. */
export async function noteGone(context: Context, webhook: WebhookRecord): Promise<void> {
  const now = context.clock.now();
  await noteFailure(context.store, webhook, now);
  await disableWebhook(context.store, webhook, 'gone', now);
}
