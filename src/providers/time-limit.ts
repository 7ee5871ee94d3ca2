/** An end for work of ours that others decide the length of: the thread it runs on is everybody's. */
import { createContext, Script } from 'node:vm';

/** The work did not end in time. */
export class TookTooLong extends Error {}

const call = new Script('work()');
const sandbox: { work?: () => unknown } = {};
const context = createContext(sandbox);

/** Does the work, or ends it wherever it is: what it has changed by then stays changed. */
export function withinMs<Done>(timeout: number, work: () => Done): Done {
  const outer = sandbox.work;
  sandbox.work = work;
  try {
    return call.runInContext(context, { timeout }) as Done;
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new TookTooLong(`The work took more than ${timeout} ms`, { cause: error });
  } finally {
    if (outer) sandbox.work = outer;
    else delete sandbox.work;
  }
}
