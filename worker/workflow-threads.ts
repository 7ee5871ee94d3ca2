/**
 * The thread of the workflows and the way to it: no call stack is kept for each promise, one watch over all calls stands
 * for a watchdog each, and there is no second trip.
 */
import { Worker as Thread } from 'node:worker_threads';
import { Worker, type CompiledWorkerOptions, type Logger } from '@temporalio/worker';
import type { WorkflowCreator } from '@temporalio/worker/lib/workflow/interface';
import { ThreadedVMWorkflowCreator, WorkerThreadClient } from '@temporalio/worker/lib/workflow/threaded-vm';
import type { WorkflowBundleWithSourceMapAndFilename as Bundle } from '@temporalio/worker/lib/workflow/workflow-worker-thread/input';
import type { SinkCall } from '@temporalio/workflow';
import type { Log } from '../src/log';

const LOOK_MS = 1_000;
/** After ten seconds the engine gives a workflow's task to somebody else. Looks are counted: a machine may stand still. */
const LOOKS_MAX = 10;

/**
 * The library's thread, as it is but for the hook on every promise: what that writes down is read by nobody but the query
 * for call stacks, and was a fifth of a worker's CPU. Stacks of errors name our sources all the same.
 */
const THREAD = `
const { globalHandlers } = require(${JSON.stringify(require.resolve('@temporalio/worker/lib/workflow/vm-shared'))});
globalHandlers.setPromiseHook = () => undefined;
require(${JSON.stringify(require.resolve('@temporalio/worker/lib/workflow/workflow-worker-thread'))});
`;

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

async function createThread(
  bundle: Bundle,
  { activities }: CompiledWorkerOptions,
  logger: Logger,
): Promise<WorkflowCreator> {
  const client = new WorkerThreadClient(new Thread(THREAD, { eval: true }), logger);
  await client.send({
    type: 'init',
    workflowBundle: bundle,
    // No option takes "no limit", and Node takes no other word for it.
    isolateExecutionTimeoutMs: undefined as unknown as number,
    reuseV8Context: true,
    registeredActivityNames: new Set(activities.keys()),
    hasPatchActivationCallback: false,
  });
  return new ThreadedVMWorkflowCreator([client]);
}

/**
 * The library's worker. For each call into a workflow, fifteen for an execution of three steps, it has Node start and end
 * a thread that ends a call after five seconds; without a limit there are none
 * (docs/decisions/0032-workflows-without-watchdogs.md). Of each promise in a workflow it keeps where it was made; ours
 * does not (docs/decisions/0033-workflows-without-call-stacks.md).
 */
export const workerWith = (log: Log) =>
  class extends Worker {
    protected static override async createWorkflowCreator(
      bundle: Bundle,
      options: CompiledWorkerOptions,
      logger: Logger,
    ): Promise<WorkflowCreator> {
      const creator = await createThread(bundle, options, logger);
      return watched(creator, (workflowId) => stuck(log, workflowId));
    }
  };
