/** The relay: it finishes what a crash or an outage left between the store and the engine, most of it once a second. */
import { setTimeout } from 'node:timers/promises';
import type { Context } from '../context';
import { signalDecision } from '../engine/executions';
import { findExecution, hasEnded, unstartedExecutions } from '../store/executions';
import { markConsumed, unconsumedDecisions } from '../store/approvals';
import { unopenedEvents } from '../store/events';
import { pendingOutbox } from '../store/resources';
import { publishPending } from './outbox';
import { resumeEvent, startStored } from './publish';

const TICK_MS = 1_000;
/** Every resource has its own outbox, so looking for what a crash left in one of them is done less often. */
const OUTBOX_PASSES = 5;
/** The request that wrote the work is given this long to hand it over itself. */
const GRACE_MS = 2_000;
const BATCH = 100;
const DECISIONS: readonly string[] = ['approved', 'denied'];

/** One pass; answers how much was handed over. */
export async function relayOnce(context: Context, looks: { outbox: boolean } = { outbox: true }): Promise<number> {
  const before = new Date(context.clock.now().getTime() - GRACE_MS);
  const [documents, opening, unstarted, decided] = await Promise.all([
    looks.outbox ? pendingOutbox(context.store, BATCH) : [],
    unopenedEvents(context.store, before, BATCH),
    unstartedExecutions(context.store, before, BATCH),
    unconsumedDecisions(context.store, before, BATCH),
  ]);
  for (const document of documents) await publishPending(context, document);
  for (const event of opening) await resumeEvent(context, event);
  const engineWork = unstarted.length + decided.length;
  if (engineWork > 0 && (await context.engine.isReachable())) {
    for (const execution of unstarted) await startStored(context, execution);
    for (const approval of decided) await nudge(context, approval);
  }
  return documents.length + opening.length + engineWork;
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
  const pass = async (): Promise<void> => {
    try {
      await relayOnce(context, { outbox: passes % OUTBOX_PASSES === 0 });
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
