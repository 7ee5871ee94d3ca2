/** The relay: it finishes what a crash or an outage left between the store and the engine, most of it once a second. */
import { setTimeout } from 'node:timers/promises';
import type { Context } from '../context';
import { signalDecision } from '../engine/executions';
import { ROWS } from '../resources/registry';
import type { Resource } from '../resources/resource';
import { findExecution, hasEnded, unstartedExecutions } from '../store/executions';
import { markConsumed, unconsumedDecisions } from '../store/approvals';
import { unopenedEvents } from '../store/events';
import { pendingOwed } from '../store/resource-follow-ups';
import { pendingOutbox } from '../store/resources';
import { settle } from './follow-ups';
import { publishPending } from './outbox';
import { publish, resumeEvent, startStored } from './publish';
import { relayWebhooks } from './webhooks/relay';

const TICK_MS = 1_000;
/** Every resource has its own outbox: each pass looks into a ninth of them, so that many quiet ones cost little. */
const OUTBOX_TURNS = 9;
/** The request that wrote the work is given this long to hand it over itself. */
const GRACE_MS = 2_000;
const BATCH = 100;
const DECISIONS: readonly string[] = ['approved', 'denied'];

/** One pass over the outboxes of these resources and all else; true when the outboxes held as much as a pass takes. */
async function relayOnce(context: Context, rows: readonly Resource[]): Promise<boolean> {
  const before = new Date(context.clock.now().getTime() - GRACE_MS);
  const [documents, owed, opening, unstarted, decided] = await Promise.all([
    pendingOutbox(context.store, rows, BATCH),
    pendingOwed(context.store, rows, BATCH),
    unopenedEvents(context.store, before, BATCH),
    unstartedExecutions(context.store, before, BATCH),
    unconsumedDecisions(context.store, before, BATCH),
  ]);
  for (const document of documents) await publishPending(context, document);
  for (const debt of owed) await settle(context, debt);
  for (const event of opening) await resumeEvent(context, event);
  const engineWork = unstarted.length + decided.length;
  if (engineWork > 0 && (await context.engine.isReachable())) {
    for (const execution of unstarted) await startStored(context, execution);
    for (const approval of decided) await nudge(context, approval);
  }
  await relayWebhooks(context, (event) => publish(context, event));
  return documents.length === BATCH || owed.length === BATCH;
}

async function nudge(
  context: Context,
  approval: Awaited<ReturnType<typeof unconsumedDecisions>>[number],
): Promise<void> {
  const execution = await findExecution(context.store, approval.org_id, approval.execution_id);
  if (!execution || hasEnded(execution.status)) return markConsumed(context.store, approval._id, context.clock.now());
  if (!DECISIONS.includes(approval.status)) return undefined;
  const decision = approval.status === 'approved' ? 'approved' : 'denied';
  return signalDecision(context.engine, approval.execution_id, { approval_id: approval._id, decision });
}

/** Runs passes until stopped; a pass that fails is logged once per outage and tried again. */
export function startRelay(context: Context): { stop(): Promise<void> } {
  const stopping = new AbortController();
  let failing = false;
  let passes = 0;
  // At first, what the process before this one left; with more than a pass takes, the oldest wherever it is.
  let looksEverywhere = true;
  const pass = async (): Promise<void> => {
    try {
      const turn = ROWS.filter((_row, index) => index % OUTBOX_TURNS === passes % OUTBOX_TURNS);
      looksEverywhere = await relayOnce(context, looksEverywhere ? ROWS : turn);
      passes += 1;
      failing = false;
    } catch (error) {
      if (!failing) context.log.warn('relay pass failed', { error });
      failing = true;
    }
  };
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await pass();
      // An abort ends the pause early; that is all it means here.
      await setTimeout(TICK_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const running = loop();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
