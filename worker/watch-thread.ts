/** The thread that watches a worker's own: it tells of a standstill and ends the process, so others get its work. */
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { createLog } from '../src/log';
import { watchOver } from './watch';

const { memory, logLevel } = workerData as { memory: SharedArrayBuffer; logLevel: string };

const STDOUT = 1;
// What goes through `process.stdout` here is written by the very thread that no longer does anything.
const log = createLog(logLevel, (line) => writeSync(STDOUT, line));

function tell(workflowId: string | null): void {
  if (workflowId === null)
    return log.error('nothing of this worker has moved for ten seconds, so it ends and leaves its work to the next');
  log.error('a workflow does not yield, so this worker ends and leaves the others to the next', {
    workflow_id: workflowId,
    fix: `If it holds up the next one, too: temporal workflow terminate --workflow-id ${workflowId}`,
  });
}

watchOver(memory, (workflowId) => {
  try {
    tell(workflowId);
  } finally {
    // No other thread than the one that stands still could end the process with a status of its own.
    process.kill(process.pid, 'SIGKILL');
  }
});
