/** Mails to the owners of an endpoint that fails: half way, three quarters, and when it is switched off. */
import { markNoticed, noteTold, noticesDue, returnNotice, takeNotice, type WebhookRecord } from '../src/store/webhooks';
import type { Deps } from './deps';
import { mailOwners, tellInTurn } from './owner-mail';

const BATCH = 50;
/** Longer than it takes to send a notice to all owners; one that cannot leave rests as long. */
const TAKEN_MS = 120_000;

const hostOf = ({ url }: WebhookRecord): string => new URL(url).host;

function textOf(webhook: WebhookRecord, consoleUrl: string): { subject: string; text: string } {
  const host = hostOf(webhook);
  const since = webhook.failingSince?.toISOString() ?? 'today';
  const details = `${consoleUrl}/console/api/webhooks/${webhook._id}/deliveries shows every attempt.`;
  if (webhook.status === 'disabled') {
    const why =
      webhook.disabledReason === 'gone'
        ? 'it answered 410, which means that it wants no more'
        : `it took nothing since ${since}, in ${webhook.failures} attempts`;
    return {
      subject: `Webhook to ${host} was disabled`,
      text: `Signalbox has switched off the webhook endpoint at ${host}: ${why}.\n\nEvents for it are kept for 30 days. Enable it and replay what it missed.\n\n${details}\n`,
    };
  }
  return {
    subject: `Webhook to ${host} is failing (${webhook.noticeStage} % of the way to being disabled)`,
    text: `The webhook endpoint at ${host} took nothing since ${since}, in ${webhook.failures} attempts. After five days without one success it is switched off.\n\n${details}\n`,
  };
}

async function sendNotice(deps: Deps, webhook: WebhookRecord): Promise<void> {
  const since = (webhook.disabledAt ?? webhook.failingSince ?? webhook.updatedAt).getTime();
  const mail = {
    ...textOf(webhook, deps.config.publicUrl),
    orgId: webhook.orgId,
    userId: webhook.createdBy,
    cause: `${webhook._id}.${since}.${webhook.noticeStage}`,
    headers: { 'X-Signalbox-Webhook': webhook._id },
  };
  const note = (userId: string): Promise<void> => noteTold(deps.store, webhook, userId);
  await mailOwners(deps, mail, { ids: webhook.noticeTold ?? [], note });
}

/** Sends a notice that nobody else is sending; passes can meet. One that cannot leave stays taken, so that others come first. */
async function tellOnce(deps: Deps, due: WebhookRecord): Promise<void> {
  const now = deps.clock.now();
  const taken = await takeNotice(deps.store, due, { now, until: new Date(now.getTime() + TAKEN_MS) });
  if (!taken) return;
  await sendNotice(deps, taken);
  await markNoticed(deps.store, taken);
  await returnNotice(deps.store, taken);
}

/** Sends what is due; a mail that cannot leave is tried again with a later pass, under the same message id. */
export async function sendNotices(deps: Deps): Promise<void> {
  const due = await noticesDue(deps.store, deps.clock.now(), BATCH);
  await tellInTurn(
    due,
    (webhook) => tellOnce(deps, webhook),
    ({ _id: id }, error) => deps.log.warn('webhook notice deferred', { webhook_id: id, error }),
  );
}
