/** What tests have the engine do that its schedules do by themselves. */
import { SWEEP } from '../../src/contracts/messages';
import { newId } from '../../src/domain/ids';
import type { Engine } from '../../src/engine/connect';

/** Runs a workflow of the product to its end. */
export const runOnce = (engine: Engine, workflow: string, ...args: string[]): Promise<unknown> =>
  engine.client.workflow.execute(workflow, { workflowId: newId('once'), taskQueue: engine.taskQueue, args });

/** One pass of the repairs, and what it did; the schedule's own may find the work first, which is just as good. */
export const sweep = async (engine: Engine): Promise<Record<string, number>> =>
  (await runOnce(engine, SWEEP)) as Record<string, number>;

/** The schedules the engine has. */
export async function scheduleIds(engine: Engine): Promise<string[]> {
  const found: string[] = [];
  for await (const { scheduleId } of engine.client.schedule.list()) found.push(scheduleId);
  return found.toSorted();
}
