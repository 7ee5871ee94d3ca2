/** The relay: it finishes what a crash or an outage left between the store and the engine, most of it once a second. */
import type { Context } from '../context';
import { startLoop, type Loop } from '../loop';
import { ROWS } from '../resources/registry';
import type { Resource } from '../resources/resource';
import { whatWaits } from '../store/backlogs';
import { markStarted, unstartedExecutions } from '../store/execution-backlog';
import type { ExecutionRecord } from '../store/executions';
import { expireOverdue, unconsumedDecisions } from '../store/approvals';
import { unopenedEvents } from '../store/events';
import { pendingOwed } from '../store/resource-follow-ups';
import { pendingOutbox } from '../store/resources';
import { byId, createApart, type Apart } from './apart';
import { wakeAgain } from './decisions';
import { settle } from './follow-ups';
import { publishPending } from './outbox';
import { publish, resumeEvent, startNow, wasJustStarted } from './publish';
import { relayWebhooks } from './webhooks/relay';

const TICK_MS = 1_000;
/** Every resource has its own outbox: each pass looks into a ninth of them, so that many quiet ones cost little. */
const OUTBOX_TURNS = 9;
/** The request that wrote the work is given this long to hand it over itself. */
const GRACE_MS = 2_000;
/** A gate's own workflow is given this long to close it when its time is over; without a worker nothing else would. */
const OVERDUE_MS = 5_000;
const BATCH = 100;

/** Starts what the engine has not got, once: what it has waits there for a worker, however long none runs. */
async function startAll(context: Context, unstarted: readonly ExecutionRecord[], apart: Apart): Promise<void> {
  const started: string[] = [];
  await apart({ what: 'start', items: unstarted, idsOf: byId }, async (execution) => {
    if (!wasJustStarted(context, execution)) await startNow(context, execution);
    started.push(execution._id);
  });
  await markStarted(context.store, started);
}

/** One pass over the outboxes of these resources and all else; true when the outboxes held as much as a pass takes. */
async function relayOnce(context: Context, rows: readonly Resource[], apart: Apart): Promise<boolean> {
  const waiting = await whatWaits(context.store, rows);
  const before = new Date(context.clock.now().getTime() - GRACE_MS);
  const [documents, owed, opening] = await Promise.all([
    pendingOutbox(context.store, waiting.outboxes, BATCH, apart.resting('outbox')),
    pendingOwed(context.store, waiting.debts, BATCH, apart.resting('follow-ups')),
    waiting.events ? unopenedEvents(context.store, before, BATCH, apart.resting('event')) : [],
  ]);
  const ofFirst = ({ id, events }: (typeof documents)[number]) => ({ org: events[0]?.org_id, id });
  await apart({ what: 'outbox', items: documents, idsOf: ofFirst }, (document) => publishPending(context, document));
  const ofDebt = ({ place, id }: (typeof owed)[number]) => ({ org: place.tenantId, id });
  await apart({ what: 'follow-ups', items: owed, idsOf: ofDebt }, (debt) => settle(context, debt));
  await apart({ what: 'event', items: opening, idsOf: byId }, (event) => resumeEvent(context, event));
  await relayWebhooks(context, { publish: (event) => publish(context, event), apart, waiting });
  return documents.length === BATCH || owed.length === BATCH;
}

/** One pass over what the engine is to be told. */
async function tellEngine(context: Context, apart: Apart): Promise<void> {
  const now = context.clock.now();
  const before = new Date(now.getTime() - GRACE_MS);
  const [unstarted, decided] = await Promise.all([
    unstartedExecutions(context.store, before, BATCH, apart.resting('start')),
    unconsumedDecisions(context.store, { before, now }, BATCH),
  ]);
  const engineWork = unstarted.length + decided.length;
  if (engineWork === 0 || !(await context.engine.isReachable())) return;
  await startAll(context, unstarted, apart);
  await apart({ what: 'decision', items: decided, idsOf: byId }, (approval) => wakeAgain(context, approval));
}

/** Runs passes until stopped; a pass that fails as a whole is logged once per outage and tried again. */
export function startRelay(context: Context): Loop {
  const apart = createApart(context.log);
  let passes = 0;
  // At first, what the process before this one left; with more than a pass takes, the oldest wherever it is.
  let looksEverywhere = true;
  const pass = async (): Promise<void> => {
    const turn = ROWS.filter((_row, index) => index % OUTBOX_TURNS === passes % OUTBOX_TURNS);
    if (passes % OUTBOX_TURNS === 0)
      await expireOverdue(context.store, new Date(context.clock.now().getTime() - OVERDUE_MS));
    looksEverywhere = await relayOnce(context, looksEverywhere ? ROWS : turn, apart);
    passes += 1;
  };
  const failed = (error: unknown): void => context.log.warn('relay pass failed', { error });
  // Beside each other: an engine that is away or slow takes seconds to say so, and the event log does not need it.
  const loops = [pass, () => tellEngine(context, apart)].map((work) => startLoop(work, { pauseMs: TICK_MS, failed }));
  return { stop: async () => void (await Promise.all(loops.map(({ stop }) => stop()))) };
}
