/** When an agent's runs fail so often that it is stopped: it would spend credits and reach nobody. */
import type { ErrorInfo, ExecutionStatus, StatusReason } from '../contracts/execution';

interface Outcome {
  status: ExecutionStatus;
  status_reason: StatusReason | null;
  error: ErrorInfo | null;
}

/** A run that has completed or failed. */
export interface EndedRun extends Outcome {
  _id: string;
  created_at: Date;
}

export interface Fault {
  code: 'runs_failed_in_a_row' | 'runs_failed_often';
  message: string;
  /** When the first of the runs was opened. */
  since: Date;
  /** The newest of the failed runs, newest first. */
  executionIds: string[];
}

/**
 * What tells one stop of an agent from the next: the newest of the runs it was judged by. Its version does not, because
 * an agent can be changed while it is stopped.
 */
export const stopOf = ({ error_info: info }: { error_info?: { execution_ids: string[] } | null }): string =>
  info?.execution_ids[0] ?? '';

const IN_A_ROW = 5;
const OFTEN_OF_MIN = 20;
const OFTEN_SHARE = 0.5;
const OFTEN_WITHIN_MS = 60 * 60 * 1_000;
const SHOWN_MAX = 10;

/** What says nothing about the agent: nobody decided, credits ran out, an operator ended it. */
const NOT_ITS_FAULT: ReadonlySet<string | null> = new Set<StatusReason>([
  'approval_expired',
  'credit_insufficient',
  'terminated_by_operator',
]);
/** Nor do outages: the same run may succeed an hour later. */
const OUTAGES: ReadonlySet<string | undefined> = new Set(['rate_limited', 'server_error', 'network', 'timeout']);

/** True for a run that failed because of what the agent is. */
export const isAtFault = ({ status, status_reason: reason, error }: Outcome): boolean =>
  status === 'failed' && !NOT_ITS_FAULT.has(reason) && !OUTAGES.has(error?.code);

function faultIn(code: Fault['code'], failed: readonly EndedRun[], message: string): Fault {
  const [newest, oldest] = [failed[0], failed.at(-1)];
  return {
    code,
    message: `${message}; the newest with ${newest?.error?.code ?? 'step_failed'}.`,
    since: oldest?.created_at ?? new Date(0),
    executionIds: failed.slice(0, SHOWN_MAX).map(({ _id }) => _id),
  };
}

/** What is wrong with an agent, judged by its runs, newest first; null while it may go on. */
export function faultOf(runs: readonly EndedRun[], now: Date): Fault | null {
  const counted = runs.filter((run) => run.status === 'completed' || isAtFault(run));
  const last = counted.slice(0, IN_A_ROW);
  if (last.length === IN_A_ROW && last.every(isAtFault))
    return faultIn('runs_failed_in_a_row', last, `The last ${IN_A_ROW} runs failed`);
  const recent = counted.filter((run) => now.getTime() - run.created_at.getTime() <= OFTEN_WITHIN_MS);
  const failed = recent.filter(isAtFault);
  if (recent.length < OFTEN_OF_MIN || failed.length < recent.length * OFTEN_SHARE) return null;
  return faultIn('runs_failed_often', failed, `${failed.length} of ${recent.length} runs of the last hour failed`);
}
