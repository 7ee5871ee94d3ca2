/** The way to the thread of the workflows: one watch over all calls instead of a watchdog for each, and no second trip. */
import { Worker, type CompiledWorkerOptions, type Logger } from '@temporalio/worker';
import type { WorkflowCreator } from '@temporalio/worker/lib/workflow/interface';
import type { WorkflowBundleWithSourceMapAndFilename as Bundle } from '@temporalio/worker/lib/workflow/workflow-worker-thread/input';
import type { SinkCall } from '@temporalio/workflow';
import type { Log } from '../src/log';

const LOOK_MS = 1_000;
/** After ten seconds the engine gives a workflow's task to somebody else. Looks are counted: a machine may stand still. */
const LOOKS_MAX = 10;

/**
 * Tells of a workflow that does not come back, by its id. The library has one thread for all of them, which goes through
 * what it is asked in that order: whoever has waited longest is the one that holds up the others.
 */
export function watched(creator: WorkflowCreator, onStuck: (workflowId: string) => void): WorkflowCreator {
  const underWay = new Set<{ workflowId: string }>();
  let seen: { workflowId: string } | undefined;
  let looks = 0;
  const timer = setInterval(() => {
    const [oldest] = underWay;
    looks = oldest && oldest === seen ? looks + 1 : 0;
    seen = oldest;
    if (seen && looks === LOOKS_MAX) onStuck(seen.workflowId);
  }, LOOK_MS).unref();
  return {
    async createWorkflow(options) {
      const workflow = await creator.createWorkflow(options);
      const { workflowId } = options.info;
      let logged: Promise<SinkCall[]> | null = null;
      return {
        async activate(activation) {
          const call = { workflowId };
          underWay.add(call);
          try {
            const answer = workflow.activate(activation);
            // What it logged is asked for next, before it is answered: asked now, both come in one go.
            logged = workflow.getAndResetSinkCalls();
            logged.catch(() => undefined);
            return await answer;
          } finally {
            underWay.delete(call);
          }
        },
        getAndResetSinkCalls() {
          const calls = logged ?? workflow.getAndResetSinkCalls();
          logged = null;
          return calls;
        },
        dispose: () => workflow.dispose(),
      };
    },
    destroy() {
      clearInterval(timer);
      return creator.destroy();
    },
  };
}

function stuck(log: Log, workflowId: string): never {
  log.error('a workflow does not yield, so this worker ends and leaves the others to the next', {
    workflow_id: workflowId,
    fix: `If it holds up the next one, too: temporal workflow terminate --workflow-id ${workflowId}`,
  });
  process.exit(1);
}

/**
 * The library's worker. It has Node start and end a thread for each call into a workflow, fifteen for an execution of
 * three steps, to end a call that takes five seconds; without a limit there are none
 * (docs/decisions/0032-workflows-without-watchdogs.md).
 */
export const workerWith = (log: Log) =>
  class extends Worker {
    protected static override async createWorkflowCreator(
      bundle: Bundle,
      options: CompiledWorkerOptions,
      logger: Logger,
    ): Promise<WorkflowCreator> {
      // No option takes "no limit", and Node takes no other word for it.
      const unlimited = { ...options, isolateExecutionTimeoutMs: undefined as unknown as number };
      const creator = await super.createWorkflowCreator(bundle, unlimited, logger);
      return watched(creator, (workflowId) => stuck(log, workflowId));
    }
  };
