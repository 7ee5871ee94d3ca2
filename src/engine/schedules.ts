/** The engine's own schedule for the repairs; no timer of ours has to survive a restart. */
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { SWEEP } from '../contracts/messages';
import type { Engine } from './connect';

const SWEEP_SCHEDULE = 'signalbox-sweep';

/** Creates the sweep's schedule once; every worker asks, one of them wins. */
export async function ensureSweepSchedule(engine: Engine): Promise<void> {
  try {
    await engine.client.schedule.create({
      scheduleId: SWEEP_SCHEDULE,
      spec: { intervals: [{ every: '1m' }] },
      // A long outage must not be followed by every pass that was missed.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
      action: {
        type: 'startWorkflow',
        workflowType: SWEEP,
        workflowId: SWEEP_SCHEDULE,
        taskQueue: engine.taskQueue,
        args: [],
      },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}
