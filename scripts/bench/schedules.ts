/** Repairs and timed events, which are no part of an execution and come when they please: out of the way of a count. */
import { TIMED_PRODUCTS } from '../../src/events/timed';
import type { Engine } from '../../src/engine/connect';
import { waitFor } from '../services/processes';
import { pause } from './lanes';

const SCHEDULES = 1 + TIMED_PRODUCTS.length;
const FOUND_AFTER_MS = 2_000;
const WAIT = { timeoutMs: 10_000, intervalMs: 100 };

async function pauseThose({ client }: Engine, taskQueue: string): Promise<number> {
  let paused = 0;
  for await (const { scheduleId } of client.schedule.list()) {
    if (!scheduleId.startsWith(`${taskQueue}-`)) continue;
    await client.schedule.getHandle(scheduleId).pause('counting');
    paused += 1;
  }
  return paused;
}

/** Pauses all schedules of a task queue as soon as its worker has made them, and waits until none of their runs is under way. */
export async function pauseSchedules(engine: Engine, taskQueue: string): Promise<void> {
  const underWay = `TaskQueue = "${taskQueue}" AND ExecutionStatus = "Running" AND WorkflowType IN ("sweep", "timedEvents")`;
  const areThere = await waitFor(async () => (await pauseThose(engine, taskQueue)) === SCHEDULES, WAIT);
  // One that was started a moment before is found a moment later.
  await pause(FOUND_AFTER_MS);
  const areDone = await waitFor(async () => (await engine.client.workflow.count(underWay)).count === 0, WAIT);
  if (!areThere || !areDone) throw new Error(`the schedules of ${taskQueue} were not quiet in time`);
}
