/** What the relay and the sweep look for among all executions, and what they note when it is done. */
import { idsBut, type Store } from './collection';
import { ENDED_BEFORE_WORKFLOW, executions, OPEN_STATUSES, type ExecutionRecord } from './executions';

/** Executions whose start the engine has not accepted yet, oldest first. */
export const unstartedExecutions = (
  store: Store,
  before: Date,
  limit: number,
  except: readonly string[],
): Promise<ExecutionRecord[]> =>
  executions
    .in(store)
    .find({ start_pending: true, created_at: { $lt: before }, ...idsBut(except) })
    .sort({ created_at: 1 })
    .limit(limit)
    .lean<ExecutionRecord[]>()
    .exec();

/** Notes that the engine has these. Until then the relay comes back to them, and to as many as a pass takes. */
export async function markStarted(store: Store, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await executions
    .in(store)
    .updateMany({ _id: { $in: [...ids] }, start_pending: true }, { $set: { start_pending: false } });
}

/** Open executions nobody has written to since `before`: candidates for the sweep. */
export const quietExecutions = (store: Store, before: Date, limit: number): Promise<ExecutionRecord[]> =>
  executions
    .in(store)
    .find({ status: { $in: OPEN_STATUSES }, touched_at: { $lt: before } })
    .sort({ touched_at: 1 })
    .limit(limit)
    .lean<ExecutionRecord[]>()
    .exec();

/** Marks an execution as looked at, so that the sweep comes to the others first. */
export const touchExecution = async (store: Store, id: string, now: Date): Promise<void> => {
  await executions.in(store).updateOne({ _id: id }, { $set: { touched_at: now } });
};

const CANCELLED_FIELDS = { org_id: 1, agent_id: 1, completed_at: 1, cancelled_by: 1, workflow_told_at: 1 } as const;
type CancelledRow = Pick<ExecutionRecord, '_id' | keyof typeof CANCELLED_FIELDS>;

/**
 * Cancelled executions whose workflow nobody has seen closed, the only ones that may have been left running; however
 * long ago that was. Newest first, so that a backlog holds up nobody.
 */
export function cancelledUnclosed(store: Store, before: Date, limit: number): Promise<CancelledRow[]> {
  const filter = { status_reason: ENDED_BEFORE_WORKFLOW, workflow_closed: null, completed_at: { $lt: before } };
  const found = executions.in(store).find(filter as never, CANCELLED_FIELDS);
  return found.sort({ completed_at: -1 }).limit(limit).lean<ExecutionRecord[]>().exec();
}

/** Nobody needs to look at the workflows of these executions any more. */
export const markWorkflowsClosed = async (store: Store, ids: string[]): Promise<void> => {
  if (ids.length > 0) await executions.in(store).updateMany({ _id: { $in: ids } }, { $set: { workflow_closed: true } });
};

/** The workflow of a cancelled execution was told to stop once more. */
export const noteWorkflowTold = async (store: Store, id: string, now: Date): Promise<void> => {
  await executions.in(store).updateOne({ _id: id }, { $set: { workflow_told_at: now } });
};

/** Ended executions that somebody watches and nobody was told about. */
export const unreportedExecutions = (
  store: Store,
  limit: number,
  except: readonly string[],
): Promise<ExecutionRecord[]> =>
  executions
    .in(store)
    .find({ watched: true, unreported: true, ...idsBut(except) })
    .sort({ completed_at: 1 })
    .limit(limit)
    .lean<ExecutionRecord[]>()
    .exec();

export const markExecutionReported = async (store: Store, id: string): Promise<void> => {
  await executions.in(store).updateOne({ _id: id }, { $set: { unreported: false } });
};
