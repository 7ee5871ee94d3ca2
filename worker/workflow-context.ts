/** Where workflows run: in a context of their own within the worker's own thread, without the library's costs per call. */
import { SourceMap } from 'node:module';
import { runInContext, Script, type Context } from 'node:vm';
import { Worker, type CompiledWorkerOptions } from '@temporalio/worker';
import type { WorkflowCreator } from '@temporalio/worker/lib/workflow/interface';
import { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm';
import type { WorkflowBundleWithSourceMapAndFilename as Bundle } from '@temporalio/worker/lib/workflow/workflow-worker-thread/input';
import { startWatch, type Watch } from './watch';

interface Frame extends NodeJS.CallSite {
  toString(): string;
}

/** Writes down stacks as Node does, with the places in the bundle as those in the sources they come from. */
function stacksBySources({ filename, sourceMap }: Pick<Bundle, 'filename' | 'sourceMap'>) {
  let map: SourceMap | null = null;
  const shown = (frame: Frame): string => {
    const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
    if (frame.getFileName() !== filename || line === null || column === null) return frame.toString();
    // Read at the first error: most workers meet none.
    map ??= new SourceMap(sourceMap as unknown as ConstructorParameters<typeof SourceMap>[0]);
    const place = map.findEntry(line - 1, column - 1);
    if (!('originalSource' in place)) return frame.toString();
    const source = `${place.originalSource}:${place.originalLine + 1}:${place.originalColumn + 1}`;
    return frame.toString().replace(`${filename}:${line}:${column}`, () => source);
  };
  return (error: Error, frames: Frame[]): string =>
    [error.toString(), ...frames.map((frame) => `    at ${shown(frame)}`)].join('\n');
}

/**
 * The library's context, which it uses for debugging. What the library installs for it in the whole thread is left out: its
 * stacks of errors are of the context's errors alone, and nothing hooks every promise.
 */
class WorkflowContext extends ReusableVMWorkflowCreator {
  protected override injectGlobals(context: Context): void {
    super.injectGlobals(context);
    const errors = runInContext('Error', context) as ErrorConstructor;
    errors.prepareStackTrace = stacksBySources(this.workflowBundle);
  }
}

/** Has the watch know which workflow is called. */
export const watched = (creator: WorkflowCreator, watch: Watch): WorkflowCreator => ({
  async createWorkflow(options) {
    const { workflowId } = options.info;
    const workflow = await watch.during(workflowId, () => creator.createWorkflow(options));
    return {
      activate: (activation) => watch.during(workflowId, () => workflow.activate(activation)),
      getAndResetSinkCalls: () => workflow.getAndResetSinkCalls(),
      dispose: () => workflow.dispose(),
    };
  },
  async destroy() {
    await watch.stop();
    await creator.destroy();
  },
});

/** No option takes "no limit" for a call's time, and Node takes no other word for it. */
const NO_LIMIT = undefined as unknown as number;

/**
 * The library's worker, with workflows in its own thread (docs/decisions/0034-workflows-in-the-workers-thread.md). In a
 * thread of theirs each task is copied there and back. No call has a limit of its own, which costs it a thread
 * (docs/decisions/0032-workflows-without-watchdogs.md), and of no promise it is kept where it was made
 * (docs/decisions/0033-workflows-without-call-stacks.md).
 */
export const workerWith = (logLevel: string) =>
  class extends Worker {
    protected static override async createWorkflowCreator(
      bundle: Bundle,
      { activities }: CompiledWorkerOptions,
    ): Promise<WorkflowCreator> {
      const script = new Script(bundle.code, { filename: bundle.filename });
      const context = new WorkflowContext(script, bundle, NO_LIMIT, new Set(activities.keys()));
      return watched(context, startWatch(logLevel));
    }
  };
