/** The relay's part of webhooks: deliveries nobody is at, and what agents and endpoints have to report. */
import type { Context } from '../../context';
import type { BusEvent } from '../../contracts/event';
import { approvalReports, disabledReport, executionReport } from '../../domain/webhooks/reports';
import { auditDisabled } from '../../store/audit-trail';
import { markApprovalReported, unreportedApprovals } from '../../store/approvals';
import { claimDelivery, deferDeliveries, dueDeliveries, type DeliveryRecord } from '../../store/deliveries';
import { markExecutionReported, unreportedExecutions } from '../../store/executions';
import { markAnnounced, unannouncedWebhooks } from '../../store/webhooks';
import { byId, type Apart } from '../apart';

const BATCH = 100;
/** How long deliveries stand aside whose endpoint has no room, so that others get their turn. */
const ASIDE_MS = 5_000;

type Publish = (event: BusEvent) => Promise<unknown>;

const ofOrg = ({ _id: id, orgId: org }: { _id: string; orgId: string }) => ({ org, id });

async function takeDue(context: Context, due: DeliveryRecord[], apart: Apart): Promise<void> {
  const aside: string[] = [];
  await apart({ what: 'delivery', items: due, idsOf: ofOrg }, async (delivery) => {
    if (context.dispatch.roomFor(delivery.webhookId) === 0) {
      aside.push(delivery._id);
      return;
    }
    const claimed = await claimDelivery(context.store, delivery, context.clock.now());
    if (claimed) context.dispatch.take(claimed);
  });
  if (aside.length > 0) await deferDeliveries(context.store, aside, new Date(context.clock.now().getTime() + ASIDE_MS));
}

/** Event first, mark second: what a crash leaves in between is reported again under the same id. */
async function publishReports(context: Context, publish: Publish, apart: Apart): Promise<number> {
  const { store } = context;
  const [ended, approvals, disabled] = await Promise.all([
    unreportedExecutions(store, BATCH),
    unreportedApprovals(store, BATCH),
    unannouncedWebhooks(store, BATCH),
  ]);
  await apart({ what: 'report of an execution', items: ended, idsOf: byId }, async (record) => {
    await publish(executionReport(record));
    await markExecutionReported(store, record._id);
  });
  await apart({ what: 'report of an approval', items: approvals, idsOf: byId }, async (approval) => {
    for (const event of approvalReports(approval)) await publish(event);
    await markApprovalReported(store, approval);
  });
  await apart({ what: 'report of an endpoint', items: disabled, idsOf: ofOrg }, async (webhook) => {
    await auditDisabled(context, webhook);
    await publish(disabledReport(webhook));
    await markAnnounced(store, webhook);
  });
  return ended.length + approvals.length + disabled.length;
}

/** One pass; answers how much was found. */
export async function relayWebhooks(context: Context, publish: Publish, apart: Apart): Promise<number> {
  const due = await dueDeliveries(context.store, context.clock.now(), BATCH);
  await takeDue(context, due, apart);
  return due.length + (await publishReports(context, publish, apart));
}
