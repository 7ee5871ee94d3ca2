/** The relay's part of webhooks: deliveries nobody is at, and what agents and endpoints have to report. */
import type { Context } from '../../context';
import type { BusEvent } from '../../contracts/event';
import { approvalReports, disabledReport, executionReport } from '../../domain/webhooks/reports';
import { auditDisabled } from '../../store/audit-trail';
import { markApprovalReported, unreportedApprovals } from '../../store/approvals';
import type { Waiting } from '../../store/backlogs';
import { claimDelivery, dueDeliveries } from '../../store/deliveries';
import { markExecutionReported, unreportedExecutions } from '../../store/execution-backlog';
import { markAnnounced, unannouncedWebhooks } from '../../store/webhooks';
import { byId, type Apart } from '../apart';

const BATCH = 100;
/** Of deliveries, in one pass. */
const BATCHES_MAX = 10;

const OF_EXECUTION = 'report of an execution';
const OF_APPROVAL = 'report of an approval';
const OF_ENDPOINT = 'report of an endpoint';

type Publish = (event: BusEvent) => Promise<unknown>;

const ofOrg = ({ _id: id, orgId: org }: { _id: string; orgId: string }) => ({ org, id });

/**
 * Takes what is due, a batch at a time. Endpoints without room are left out of the next batch, so that thousands that
 * wait for one of them, as after a replay, hold up nobody else's.
 */
async function takeDue(context: Context, apart: Apart): Promise<void> {
  const { dispatch, store, clock } = context;
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const due = await dueDeliveries(store, clock.now(), { limit: BATCH, except: dispatch.full() });
    await apart({ what: 'delivery', items: due, idsOf: ofOrg }, async (delivery) => {
      if (dispatch.roomFor(delivery.webhookId) === 0) return;
      const claimed = await claimDelivery(store, delivery, clock.now());
      if (claimed) dispatch.take(claimed);
    });
    if (due.length < BATCH) break;
  }
}

/** Event first, mark second: what a crash leaves in between is reported again under the same id. */
async function publishReports(context: Context, publish: Publish, apart: Apart): Promise<void> {
  const { store } = context;
  const [ended, approvals, disabled] = await Promise.all([
    unreportedExecutions(store, BATCH, apart.resting(OF_EXECUTION)),
    unreportedApprovals(store, BATCH, apart.resting(OF_APPROVAL)),
    unannouncedWebhooks(store, BATCH, apart.resting(OF_ENDPOINT)),
  ]);
  await apart({ what: OF_EXECUTION, items: ended, idsOf: byId }, async (record) => {
    await publish(executionReport(record));
    await markExecutionReported(store, record._id);
  });
  await apart({ what: OF_APPROVAL, items: approvals, idsOf: byId }, async (approval) => {
    for (const event of approvalReports(approval)) await publish(event);
    await markApprovalReported(store, approval);
  });
  await apart({ what: OF_ENDPOINT, items: disabled, idsOf: ofOrg }, async (webhook) => {
    await auditDisabled(context, webhook);
    await publish(disabledReport(webhook));
    await markAnnounced(store, webhook);
  });
}

interface Pass {
  publish: Publish;
  apart: Apart;
  waiting: Pick<Waiting, 'deliveries' | 'reports'>;
}

/** One pass over what waits. */
export async function relayWebhooks(context: Context, { publish, apart, waiting }: Pass): Promise<void> {
  if (waiting.deliveries) await takeDue(context, apart);
  if (waiting.reports) await publishReports(context, publish, apart);
}
