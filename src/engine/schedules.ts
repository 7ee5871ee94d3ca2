/** The engine's own schedules for repairs and timed events; no timer of ours has to survive a restart. */
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { SWEEP, TIMED_EVENTS } from '../contracts/messages';
import type { Log } from '../log';
import { startLoop, type Loop } from '../loop';
import type { Engine } from './connect';
import { faultOf } from './outages';

/** An engine that came back without its data is without repairs for no longer than this. */
const LOOK_MS = 30_000;

interface Plan {
  id: string;
  every: '30s' | '1m';
  workflow: string;
  args: string[];
}

/** Creates a schedule once; every worker asks, one of them wins. */
async function ensureSchedule(engine: Engine, { id, every, workflow, args }: Plan): Promise<void> {
  try {
    await engine.client.schedule.create({
      scheduleId: id,
      spec: { intervals: [{ every }] },
      // A long outage must not be followed by every pass that was missed: the next one finds what they would have.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
      action: { type: 'startWorkflow', workflowType: workflow, workflowId: id, taskQueue: engine.taskQueue, args },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}

/**
 * The repairs, once a minute, and per product what time alone makes happen, every 30 seconds. Named by their task queue:
 * installations that share a namespace have one each.
 */
async function ensureSchedules(engine: Engine, timedProducts: readonly string[]): Promise<void> {
  await ensureSchedule(engine, { id: `${engine.taskQueue}-sweep`, every: '1m', workflow: SWEEP, args: [] });
  for (const product of timedProducts)
    await ensureSchedule(engine, {
      id: `${engine.taskQueue}-timed-${product}`,
      every: '30s',
      workflow: TIMED_EVENTS,
      args: [product],
    });
}

/** Sees to it that the schedules are there, until stopped. An outage is logged once. */
export const keepSchedules = (
  engine: Engine,
  { timedProducts, log }: { timedProducts: readonly string[]; log: Log },
): Loop =>
  startLoop(() => ensureSchedules(engine, timedProducts), {
    pauseMs: LOOK_MS,
    failed: (error) => log.warn('schedules not ensured', faultOf(error)),
  });
